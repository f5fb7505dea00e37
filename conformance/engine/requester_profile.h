// SPDX-License-Identifier: GPL-2.0-or-later
//
// RequesterProfile: what one side does over many of its Calls on a connection: how it names memory, which programs use
// chunks, how many chunks its server takes. A part of RuleState, bounded.
#pragma once

#include <cstdint>

#include "conformance/engine/recent.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

// How a requester chooses the handles of its segments (MEM-008).
enum class Handles : uint8_t {
  kUnremarkable,
  kShared,     // over nine tenths of the segments have one handle
  kCountedUp,  // each handle is the one before plus one, beyond the eight bits that a registration may change
};

class RequesterProfile {
 public:
  // Calls with segments after which handles are judged.
  static constexpr uint32_t kManyCalls = 100;

  // Before the checks of a Call: learns from it what is judged with it.
  void Before(const session::Transaction& call);
  // After the checks of a Call, and of the Reply that ends a transaction.
  void AfterCall(const session::Transaction& call);
  void AfterReply(const session::Transaction& transaction);

  // What became provable with the Call that is being judged; kUnremarkable with every other.
  Handles proven() const { return proven_; }
  uint32_t shared_handle() const { return shared_; }
  // Whether an earlier Call of this program had chunks; only of the last few programs.
  bool HasUsedChunks(uint32_t program, uint32_t version) const;

  bool takes_many_chunks = false;  // the server answered with success a Call with several Read or Write chunks

 private:
  struct Program {
    uint32_t program = 0, version = 0;
  };

  Handles proven_ = Handles::kUnremarkable;
  uint64_t calls_ = 0, segments_ = 0;
  // The handle that most segments have, if there is one (Boyer and Moore's majority vote), and how many had it since
  // it was chosen: no more than have it in all.
  uint32_t shared_ = 0;
  uint64_t votes_ = 0, shared_segments_ = 0;
  uint32_t last_ = 0;      // handle of the last segment
  uint64_t sequence_ = 0;  // segments in a row whose handle was the last plus one ...
  bool carried_ = false;   // ... and whether the low eight bits ran over meanwhile
  bool told_sequence_ = false;
  Recent<Program, 8> programs_;
};

}  // namespace stag::conformance
