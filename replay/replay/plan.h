// SPDX-License-Identifier: GPL-2.0-or-later
//
// Plan: what of a recording is played, in which order, and which values of the Calls have to be exchanged for those of
// the live server. A plan is never there as a whole: it is a stream of PlannedCalls in the order of the Calls, made by
// a PlanBuilder as the capture is read, each freed once it was played.
//
// Order: a Call is sent after the Calls before it on its connection, and once all those are answered whose answers the
// recorded client had when it sent this one. So there is never more under way than was recorded, and every value that a
// Call uses was given before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/serialize.h"
#include "replay/recording/recorded_rpc.h"
#include "replay/replay/selection.h"
#include "replay/replay/values.h"

namespace stag::replay {

inline constexpr uint64_t kUnanswered = UINT64_MAX;

// What a client makes beside the values that nfs::ValueKind names.
enum class Made : uint8_t {
  kNo,
  kCallbackNetid,  // SETCLIENTID's r_netid and r_addr (RFC 7530 section 2.2.9): where the server is to call back
  kCallbackAddress,
  kNoDelegation  // OPEN's share_access (RFC 8881 section 18.16): no delegation is wanted, as none was given
};

// A place in a Call that is exchanged before it is sent.
struct Use {
  uint64_t offset = 0;   // in the recorded Call
  std::string_view key;  // of the value (ForEachKey); empty: made (kSlot, kClientVerifier, kClientOwner, `made`)
  uint32_t length = 0;
  nfs::ValueKind kind = nfs::ValueKind::kHandle;  // where it is not `made`
  Made made = Made::kNo;
  // Goes along with another value; without a live one the recorded one is as good.
  bool secondary() const {
    return kind == nfs::ValueKind::kClientSequence || (kind == nfs::ValueKind::kStateid && length == 4);
  }
};

// What is counted as one: a procedure, or the COMPOUNDs with one main operation.
struct PlannedProcedure {
  uint32_t program = 0, version = 0, procedure = 0;
  uint32_t op = 0;  // of a COMPOUND; 0: none is known
  friend auto operator<=>(const PlannedProcedure&, const PlannedProcedure&) = default;
  std::string Name() const;  // "NFSv3 READ"
};
STAG_MEMBERS(PlannedProcedure, program, version, procedure, op)

struct PlannedCall {
  enum class What : uint8_t {
    kCall,         // is sent
    kRefused,      // cannot be: `reason`
    kNotSelected,  // by the Selection
    kBackward,     // the server called (RFC 8167)
    kClosed        // no Call: the recorded connection ended here, before the capture did
  };
  What what = What::kCall;
  recording::RecordedRpc rpc;
  std::shared_ptr<const recording::RecordedConnection> connection;
  PlannedProcedure procedure;
  std::string_view reason;        // static
  uint64_t after = 0;             // how many answers, of those that are played and in recorded order, must have come
  uint64_t answer = kUnanswered;  // its place in that order
  std::span<const Use> uses;      // by offset
  const recording::RecordedItem* item = nullptr;  // the argument that goes by a Read chunk: the largest that did
  std::string_view session;                       // NFSv4.1 and later: the key of that whose slot it takes; empty: none
  // The key of the file handle that a live root replaces; empty but in the first Call that uses it. It is the handle
  // first used in a Call of NFSv3 or v2, or the one of PlanOptions::root.
  std::string_view root;
  bool gives = false;       // its recorded reply gives values
  bool calls_back = false;  // it says where the server is to call back

  recording::PayloadStore store{UINT64_MAX, 512};  // what the views above show
  // What it takes in memory.
  uint64_t bytes() const { return sizeof *this + store.in_memory(); }
};
using PlannedCallPtr = std::shared_ptr<const PlannedCall>;

// Takes a plan, Call by Call.
class PlanSink {
 public:
  virtual ~PlanSink() = default;
  virtual void OnPlanned(PlannedCallPtr planned) = 0;
};

struct PlanOptions {
  Selection selection;
  std::vector<std::byte> root;    // the recorded handle of the root, if it is not the one first used
  uint64_t window = 32u << 20;    // bytes that Calls may take which wait for their answers or those before them
  uint64_t largest = 256u << 20;  // bytes that a Call may have, or offer in its chunks
  // How far the capture is looked at beyond a Call before the Call's turn comes: frames that are held back for
  // reordering have come by then.
  uint64_t slack = 4096;
};

// Forward Calls of the recording, each in one of the first four.
struct PlanTotals {
  uint64_t calls = 0;  // to be sent
  uint64_t refused = 0, not_selected = 0;
  uint64_t cut = 0;         // cut so short by the capture that nothing of them is known
  uint64_t unanswered = 0;  // of `calls`: without a recorded answer
  uint64_t late = 0;        // of `unanswered` and `refused`: the answer came when the window had been full
};

}  // namespace stag::replay
