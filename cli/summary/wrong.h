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

// All findings of a rule by one side. The first is that of the highest severity.
struct BrokenRule {
  const conformance::RuleInfo* rule = nullptr;
  conformance::Severity severity = conformance::Severity::kNote;
  bool by_client = false;
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
};
std::string_view RankName(Wrong::Rank rank);  // "error", "trouble", "warning", "note"

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
