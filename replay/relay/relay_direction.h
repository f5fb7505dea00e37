// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayDirection: the Calls that one side of a relay makes, and the answers of the other: RPC-over-RDMA messages (RFC
// 8166) that keep their xid, payload and chunk lists, with handles of the relay's own in place of the caller's. Read
// chunks are pulled into memory that is offered on; Write and Reply chunks are provided from memory whose content, once
// the answerer wrote it, is pushed on. Knows nothing of the RPC programs.
//
// A message that is longer than the inline threshold of the side it goes to becomes Long there: a Call by a
// Position-zero Read chunk, a Reply by the Reply chunk; and when the answerer could send less inline than the caller
// takes, the relay offers a Reply chunk of its own. Credits (section 3.3): no more Calls are outstanding than the
// answerer granted; the caller is granted no more than that, and than the relay can hold. Threads: as its endpoints.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "protocol/rpcrdma/header.h"
#include "replay/endpoint/endpoint.h"
#include "replay/relay/faults.h"
#include "replay/relay/report.h"
#include "replay/relay/shared_memory.h"
#include "replay/rpcrdma/chunk_memory.h"
#include "replay/rpcrdma/settings.h"

namespace stag::relay {

inline constexpr uint32_t kOtherBits = 0x5a5a5a5a;  // what a fault changes a handle or an xid by

// One side of a relayed connection.
struct RelaySide {
  std::unique_ptr<endpoint::Endpoint> endpoint;
  rpcrdma::Settings settings;      // from the private data of the relay and of the peer
  uint32_t posted = 0, limit = 0;  // work requests: not completed, and how many may be
  bool Takes(size_t works) const { return posted + works <= limit; }
};

struct RelayDirectionOptions {
  uint32_t number = 0;              // the lowest bit of the ids of its work
  uint32_t credits = 128;           // the most that are granted, and asked for
  uint32_t jobs = 128;              // Calls that can be under way; more wait in their receive buffers
  bool may_be_long = true;          // false (RFC 8167 section 5.2): what is too long gets ERR_CHUNK
  uint32_t max_message = 16 << 20;  // bytes of the chunks of one Call; more gets ERR_CHUNK
};

class RelayDirection {
 public:
  using Clock = std::chrono::steady_clock;

  // All must outlive the RelayDirection, but its memory must outlive the endpoints: destroy them before it.
  RelayDirection(RelaySide& caller, RelaySide& answerer, const RelayDirectionOptions& options, Faults faults,
                 rpcrdma::ChunkShare& memory, RelayDirectionReport& report);

  // A message of the caller that is no answer, as decoded, good or bad. False: there is no room for it now; keep it and
  // try again after the next Run.
  bool TakeCall(const rpcrdma::Header& header, Bytes payload, Clock::time_point now);
  // A message of the answerer that answers the Call with its xid, if there is one; false: there is none.
  bool TakeAnswer(const rpcrdma::Header& header, Bytes payload, std::optional<uint32_t> invalidated,
                  Clock::time_point now);
  // Of work whose id has this direction's number.
  void OnCompletion(const endpoint::Completion& completion);
  // Sends what waited for credits, for its time, or for room to post it.
  void Run();
  // When there is something to Run that no completion shows: an answer is delayed until then.
  std::optional<Clock::time_point> due() const;
  // A fault wants both connections ended.
  bool wants_end() const { return wants_end_; }
  // Calls that were not answered.
  uint64_t unanswered() const;
  bool idle() const { return free_.size() == jobs_.size(); }
  // Gives back the memory that no Call uses.
  void GiveUpKept();

 private:
  enum class State : uint8_t { kFree, kPulling, kQueued, kSent, kAnswering, kDone };
  struct Push {
    Bytes from;
    uint32_t handle = 0;
    uint64_t offset = 0;
  };
  struct Job {
    explicit Job(rpcrdma::ChunkShare& memory) : charge(memory) {}
    rpcrdma::ChunkCharge charge;  // of readable and writable
    State state = State::kFree;
    bool failed = false;
    uint32_t works = 0;                // posted and not completed
    rpcrdma::Header call, onward;      // as it came, and as it goes on: with the relay's handles
    uint32_t own_reply = 0;            // bytes of the Reply chunk that the relay offers by itself
    uint64_t bytes = 0;                // of the Call, chunks included
    uint64_t answer_bytes = 0;         // likewise
    SharedMemory readable, writable;   // for Read chunks; for Write and Reply chunks
    endpoint::Region message, answer;  // what is sent: to the answerer, and to the caller
    size_t header_size = 0, message_size = 0, answer_size = 0;
    bool error = false;  // the answer is an RDMA_ERROR
    std::vector<Push> pushes;
    std::optional<uint32_t> invalidate;  // of the caller's
    std::vector<uint32_t> faults;        // rules that hit it
    Clock::time_point received;
  };

  uint64_t IdOf(const Job& job) const { return static_cast<uint64_t>(&job - jobs_.data()) << 1 | options_.number; }
  uint32_t OwnReply(const rpcrdma::Header& call) const;
  bool Afford(Job& job, uint64_t readable, uint64_t writable);
  void GiveUp(Job& job);
  bool Room(endpoint::Region& region, size_t size, endpoint::Endpoint& endpoint);
  bool Prepare(Job& job, uint64_t readable, uint64_t writable, size_t message);
  void Translate(Job& job, uint32_t position_zero);
  void Pull(Job& job);
  void Ready(Job& job);
  Bytes Stream(const Job& job) const;
  bool Disturb(Job& job);
  void SendQueued();
  void NoteInvalidated(Job& job, std::optional<uint32_t> invalidated);
  std::string_view Convert(Job& job, const rpcrdma::Header& reply, Bytes payload);
  rpcrdma::Chunk Return(Job& job, const rpcrdma::Chunk& offered, std::span<const rpcrdma::Segment> returned);
  bool MakeLong(Job& job, rpcrdma::Header& to, uint64_t payload);
  void Refuse(Job& job, uint32_t err);
  void SendError(Job& job, uint32_t err);
  void SendError(Job& job, const rpcrdma::Header& error);
  void SendAnswer(Job& job, bool error);
  void Finish(Job& job);
  void SendAnswers();
  static bool Count(RelaySide& side, Job& job, const Result<void>& posted);
  void Recycle(Job& job);

  RelaySide &caller_, &answerer_;
  const RelayDirectionOptions options_;
  RelayDirectionReport& report_;
  std::vector<Job> jobs_;
  std::vector<size_t> free_;
  std::deque<size_t> queue_;                          // Calls that are whole and wait for a credit
  std::vector<size_t> sent_;                          // in the order in which they were sent
  std::deque<size_t> answers_;                        // wait for room to post them
  uint32_t grant_ = 1;                                // RFC 8166 section 3.3.1: until the first answer
  uint32_t told_ = 1;                                 // what the caller was granted last
  std::multimap<Clock::time_point, size_t> delayed_;  // answers that wait for their time
  Faults faults_;
  bool wants_end_ = false;
  rpcrdma::Header scratch_;
  std::vector<std::byte> bytes_;
};

}  // namespace stag::relay
