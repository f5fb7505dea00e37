// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is wrong with a capture, in sentences with frames to look at: the source of text, JSON and HTML.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/blame.h"
#include "analysis/nfs_errors.h"
#include "conformance/engine/finding.h"
#include "session/limits/connection_limits.h"
#include "session/nfs4/promises.h"
#include "session/nfs4/status_flags.h"
#include "session/rpcrdma/credit_history.h"
#include "session/transport/transport.h"

namespace stag::cli {

// All findings of a rule by one side, of deviations that are known to do no harm apart. The first is that of the
// highest severity.
struct BrokenRule {
  const conformance::RuleInfo* rule = nullptr;
  conformance::Severity severity = conformance::Severity::kNote;
  bool by_client = false, known = false;
  fabric::ConnectionId connection = 0;  // of the first
  std::array<uint64_t, 3> counts{};     // by severity
  uint64_t first_frame = 0;
  std::string message;  // of the first
  uint64_t count() const { return counts[0] + counts[1] + counts[2]; }
};

// A connection as it was when it closed.
struct SummarizedConnection {
  session::Connection connection;
  std::optional<session::CreditSummary> credits;  // of the client's Calls
  std::optional<session::ConnectionLimits> limits;
  std::unique_ptr<transport::Health> health;  // null: there are too many connections
  std::vector<session::FlagSpan> status_flags;
  // Calls that the capture has no answer to, by what is known of it; those of the client, and of the server.
  struct Unanswered {
    uint64_t count = 0;
    uint64_t first_frame = 0;   // of the first Call ...
    std::string first_subject;  // ... and what it is about
    int64_t longest_ns = 0;     // that one has waited
  };
  using ByAnswer = std::array<Unanswered, 4>;  // by session::Answer
  std::array<ByAnswer, 2> unanswered;          // forward, backward
  const Unanswered& UnansweredOf(session::Answer answer, bool backward = false) const {
    return unanswered[backward][static_cast<size_t>(answer)];
  }
};

// The harm that a trouble does, the worst first: the order of troubles.
enum class Harm : uint8_t {
  kData,         // bytes are wrong, or what the server kept for the client is gone
  kConnection,   // a connection was lost or not had, and RPCs with it
  kTime,         // RPCs waited
  kRefused,      // RPCs were refused, or put off
  kConformance,  // the specification is broken: an error or a warning
  kCapture,      // the capture lacks something
  kNote,
  kKnown,  // a deviation that is known to do no harm
};

// A sentence, how bad it is (findings: their severity; trouble of connections in between), whose doing it is, and a
// frame to look at. Kinds are words of docs/records.md.
struct Wrong {
  enum class Rank : uint8_t { kError, kTrouble, kWarning, kNote } rank = Rank::kTrouble;
  std::string kind;  // empty: of a finding
  std::optional<analysis::Blame> blames = {};
  fabric::ConnectionId connection = 0;
  std::string text;
  uint64_t frame = 0;                           // 0: none
  const conformance::RuleInfo* rule = nullptr;  // of findings: the text begins with its id
  bool known = false;                           // Finding::known
  int64_t lost_ns = 0;                          // that RPCs waited for it, as far as is known
  uint64_t count = 0;                           // of what is counted; 0: it is not
  // The same trouble on several connections: how many they are, and the worst three, of which the first is
  // `connection`.
  uint64_t connection_count = 0;
  std::vector<fabric::ConnectionId> worst = {};
  std::string status = {};  // of NFS, that the RPCs ended with
};
Harm HarmOf(const Wrong& wrong);
// The worst first. The same trouble on several connections becomes one.
void PutInOrder(std::vector<Wrong>& all);
// A command to look closer, for a shell. `file`: the capture's name.
std::string NextStep(const Wrong& wrong, std::string_view file);
std::string_view RankName(Wrong::Rank rank);  // "error", "trouble", "warning", "note"
// The word that people see beside the sentence: "known", or the name of its rank.
std::string_view BadgeOf(const Wrong& wrong);

Wrong WhatBroke(const BrokenRule& broken);
// Packets that came again: captured twice, or sent again.
Wrong WhatIsUnclear(uint64_t copies, uint64_t first_frame);
std::vector<Wrong> WhatIsWrongWith(const SummarizedConnection& connection);
// Nullopt: it is part of normal life.
std::optional<Wrong> WhatFailed(const analysis::NfsErrors::Kind& kind);
// What was never returned, or never ended, until the capture ended at `end`. `broken`: the server said meanwhile that
// callbacks do not work.
Wrong WhatIsOpen(const session::Promises::Open& open, const FrameRef& end, bool broken);
// A TCP connection that came to nothing.
Wrong WhatWasRefused(const fabric::Aside& aside);

}  // namespace stag::cli

namespace stag {

template <>
struct EnumNames<cli::Harm> {
  static constexpr std::array<std::string_view, 8> kNames{"data",        "connection", "time", "refused",
                                                          "conformance", "capture",    "note", "known"};
};

}  // namespace stag
