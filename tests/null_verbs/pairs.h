// SPDX-License-Identifier: GPL-2.0-or-later
//
// Queue pairs: what their works do, to both ends, and how they break. Works are done when they are posted, one after
// the other; those that wait, for a receive or for the peer, stay in the ring until what they wait for comes.
#pragma once

#include "tests/null_verbs/memory.h"

namespace stag::null_verbs {

// What is to go wrong, on demand.
enum class Fault : uint8_t {
  kNone,
  kRnr,         // the peer has no receive
  kProtection,  // the peer refuses access to its memory
  kSilence,     // the peer does not answer
};

// A work request, as it is kept in the ring of sends.
struct Request {
  uint64_t id = 0, address = 0, number = 0;
  uint32_t handle = 0, opcode = 0, flags = 0;
  uint32_t word = 0;  // immediate data, or the handle to invalidate
  uint32_t pieces = 0, inline_size = 0;
  struct {
    uint32_t window = 0, handle = 0, region = 0, access = 0;
    uint64_t address = 0, length = 0;
  } bind;
  Fault fault = Fault::kNone;
  const ibv_sge* sge = nullptr;      // of who posted it
  const std::byte* bytes = nullptr;  // inline_size of them, in the memory of who does the work
};

struct Receive {
  uint64_t id;
  uint32_t pieces, unused;
  ibv_sge sge[1];  // as many as the queue pair has
};

// Posts works of this process's pair: those that can be done are. Takes `pair.sending`.
class Posting {
 public:
  explicit Posting(Pair& pair);
  Posting(const Posting&) = delete;
  Posting& operator=(const Posting&) = delete;
  ~Posting();
  bool full() const { return pair_.posted - pair_.retired.load(std::memory_order_relaxed) >= pair_.max_sends; }
  void Add(Request& request);

 private:
  friend void Advance(Pair& pair, bool looked);
  void Continue(bool looked);
  bool Do(const Request& request);
  void Keep(const Request& request);
  Request Kept(uint64_t at);
  void Finish(const Request& request, ibv_wc_status status);
  bool MeetPeer();
  void LeavePeer();
  void Wait(Waiting what);
  int Execute(const Request& request);
  int Send(const Request& request);
  int MoveSend(const Request& request, const Receive& receive);
  int Read(const Request& request);
  int Write(const Request& request);
  int Bind(const Request& request);
  void BreakPeer(ibv_event_type event);

  Pair& pair_;
  Pair* peer_ = nullptr;    // locked
  Pair* broken_ = nullptr;  // the peer, to be flushed
  bool own_broken_ = false;
};

// Goes on with what waits. `looked`: its owner looked at its completion queue, which counts as a retry.
void Advance(Pair& pair, bool looked);

// From any state: what was posted comes back.
void BreakPair(Pair& pair);

// Posts receives. Takes `pair.giving`; they count when it goes.
class Giving {
 public:
  explicit Giving(Pair& pair) : pair_(pair), lock_(pair.giving), given_(pair.given_receives.load()) {}
  ~Giving();
  bool full();
  void Add(const ibv_recv_wr& wr);

 private:
  Pair& pair_;
  std::unique_lock<Lock> lock_;
  uint64_t given_;
};

// Puts a completion into a queue; wakes who waits.
void Complete(uint32_t queue, const Done& done, bool solicited);

}  // namespace stag::null_verbs
