// SPDX-License-Identifier: GPL-2.0-or-later
//
// Link: a connection of a probe. Sends whatever it is given, hands out what comes, and keeps the memory that Calls
// name. Whatever makes going on useless ends the probe: methods throw Ended.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "replay/probe/call.h"
#include "replay/probe/probe.h"

namespace stag::probe {

// How a probe ends early.
struct Ended {
  Outcome outcome;
};
[[noreturn]] void Failed(std::string expected, std::string came);
[[noreturn]] void Inconclusive(std::string why);
[[noreturn]] void Skipped(std::string why);

struct Patience {
  std::chrono::milliseconds answer{5000};  // for what must come
  std::chrono::milliseconds quiet{50};     // for what must not
  std::function<bool()> stopped;           // ends all waiting; empty: nothing does
  int cancel = -1;                         // EndpointOptions::cancel, for the same
};

class Link {
 public:
  Link(std::unique_ptr<endpoint::Endpoint> endpoint, const Patience& patience, Bytes private_data);
  ~Link();
  endpoint::Endpoint& endpoint() { return *endpoint_; }
  bool open() const { return endpoint_->state() == endpoint::State::kOpen; }
  // Why the connection ended.
  std::string trouble() const;
  // The largest Send of each direction, by the private data of both sides.
  uint32_t call_threshold() const { return call_threshold_; }
  uint32_t reply_threshold() const { return reply_threshold_; }

  // Memory with segments of these lengths. kRemoteRead: `content` is in it.
  Offered& Offer(std::span<const uint32_t> lengths, endpoint::Access access, Bytes content = {});
  Offered& Offer(std::initializer_list<uint32_t> lengths, endpoint::Access access, Bytes content = {}) {
    return Offer(std::span(lengths.begin(), lengths.size()), access, content);
  }
  // The memory that is offered next has this handle, and its region this offset. Offer skips the probe where the fabric
  // chooses them.
  void NameNext(uint32_t handle, uint64_t offset) { name_ = {handle, offset}; }
  // Its handle becomes invalid.
  void Fence(Offered& memory);
  // Makes a Long Call of it (RFC 8166 section 3.5.3), with a Position Zero Read chunk of segments of these lengths; one
  // segment when there are none.
  Offered& MakeLong(Call& call, std::span<const uint32_t> lengths = {});
  Offered& MakeLong(Call& call, std::initializer_list<uint32_t> lengths) {
    return MakeLong(call, std::span(lengths.begin(), lengths.size()));
  }

  // False: the connection has ended.
  bool TrySend(Bytes message);
  // Ends the probe then.
  void Send(Bytes message) {
    if (!TrySend(message)) Failed("a connection that stays", trouble());
  }
  void Send(const Call& call) { Send(call.Encoded()); }
  // The next message; nullopt: none in that time, or none any more.
  std::optional<Message> Next(std::chrono::milliseconds wait);
  // Calls of the server (RFC 8167) do not come with Next any more, but here.
  void TakeBackwardCalls() { takes_backward_ = true; }
  std::optional<Message> NextBackward(std::chrono::milliseconds wait);
  // The message that answers `call`, which was sent and is the only one under way. `expected`: in words, for when
  // nothing comes.
  Message Answer(const Call& call, std::string_view expected = "an RPC Reply");
  Message Ask(const Call& call, std::string_view expected = "an RPC Reply") {
    Send(call);
    return Answer(call, expected);
  }
  // Ends the probe when a message comes, or the connection ends.
  void ExpectQuiet(std::string_view why);

  // The RPC Reply in `answer`, inline or from the Reply chunk. Ends the probe when there is none with the Call's xid,
  // or what the answer says of the chunks is not what the Call offered.
  std::vector<std::byte> RpcReply(const Call& call, const Message& answer);
  // What Write chunk `i`, counted from 0, brought with an answer that RpcReply took.
  std::vector<std::byte> Collect(const Call& call, const Message& answer, size_t i) {
    return Collect(call, call.header.write_chunks[i], answer, answer.header.write_chunks[i]);
  }

  // The end of a probe: fences all memory, and ends the probe when the server touched any that it was not, or no more,
  // offered. Then disconnects.
  void Settle();
  void Disconnect();
  // The server is given memory that it cannot have: a refusal is no fault of its.
  void AllowRefusal() { refusal_allowed_ = true; }

 private:
  // What a chunk brought. `offered`, `returned`: of the Call and of the answer.
  std::vector<std::byte> Collect(const Call& call, const rpcrdma::Chunk& offered, const Message& answer,
                                 const rpcrdma::Chunk& returned);
  size_t Poll(std::chrono::milliseconds wait);
  std::optional<Message> Take(std::deque<Message>& from, std::chrono::milliseconds wait);

  std::unique_ptr<endpoint::Endpoint> endpoint_;
  const Patience& patience_;
  uint32_t call_threshold_, reply_threshold_;
  std::deque<Offered> offered_;
  std::deque<std::vector<std::byte>> sent_;  // registered, until the endpoint goes
  std::deque<Message> received_, backward_;
  bool takes_backward_ = false;
  std::optional<std::pair<uint32_t, uint64_t>> name_;
  bool refusal_allowed_ = false;
};

}  // namespace stag::probe
