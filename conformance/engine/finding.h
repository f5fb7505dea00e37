// SPDX-License-Identifier: GPL-2.0-or-later
//
// Finding: one violation of one rule by one event, with its evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/catalogue/rule.h"
#include "protocol/base/address.h"
#include "protocol/base/frame.h"
#include "session/fabric/fabric_event.h"

namespace stag::conformance {

// Whether a finding is proven, or nothing more came that could prove or refute it.
enum class Certainty : uint8_t { kProven, kPresumed };
std::string_view CertaintyName(Certainty certainty);  // "proven", "presumed"

struct Procedure {
  uint32_t program = 0, version = 0, procedure = 0;
  friend bool operator==(const Procedure&, const Procedure&) = default;
};

struct Finding {
  const RuleInfo* rule = nullptr;
  Profile profile = Profile::kRfc8166;  // that the connection was judged by; never kAuto
  Severity severity = Severity::kError;
  Certainty certainty = Certainty::kProven;
  FrameRef frame;                       // of the message or packet that breaks the rule; of several packets the last
  FrameRef proven;                      // where that became provable, or was given up; often the same
  fabric::ConnectionId connection = 0;  // 0: of none, a packet beside the connections
  bool client_to_server = true;         // direction of the offending message
  std::optional<uint32_t> xid;
  uint64_t call_number = 0;                // of the RPC: Transaction::number; 0: none, or not known
  int64_t start_ns = 0;                    // time of the first frame of the capture
  std::optional<Procedure> procedure;      // of the RPC, when its Call's header was seen
  std::string message;                     // one sentence
  std::string expected, actual;            // may be empty
  std::string unseen;                      // kPresumed: what would have proven it, a clause
  std::vector<uint64_t> related_frames;    // ascending, without `frame` and `proven`
  std::vector<std::string_view> see_also;  // ids of other rules that the same event breaks
  // The rule is found once for this host, whichever connections show it. One engine keeps that; who merges what several
  // found goes by it.
  std::optional<Address> once_for;
  bool known = false;  // it is the deviation that RuleInfo::known tells of
};

// What a finding says to people: its message and, where it is presumed, what could not be seen.
std::string MessageText(const Finding& finding);

}  // namespace stag::conformance
