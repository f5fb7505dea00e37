// SPDX-License-Identifier: GPL-2.0-or-later
//
// Selection: what the user of stag slice asks for, and how it is written on the command line. What is given of one kind
// is united, different kinds intersect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine/finding.h"
#include "protocol/base/frame.h"
#include "session/rpcrdma/transaction.h"

namespace stag::cli {

struct FrameRange {  // both included
  uint64_t first = 1, last = UINT64_MAX;
};

// A time of day (UTC), or, `relative`, nanoseconds since the first frame of the capture.
struct Moment {
  bool relative = false;
  int64_t ns = 0;
  int64_t At(int64_t first_ns) const;
};
struct TimeRange {  // both included; nullopt: from the beginning, to the end
  std::optional<Moment> from, to;
};

struct WantedRule {
  const conformance::RuleInfo* rule = nullptr;
  uint64_t number = 0;  // its so-manyth finding, in the order of stag check; 0: all
};

// "17", "17-40", "17-"; nullopt: it is none of these.
std::optional<FrameRange> ParseFrameRange(std::string_view text);
// "A..B", "A..", "..B". A and B: a time (2024-01-31T12:00:00.5, with or without Z; a number of seconds since 1970), or,
// as a number below a hundred million or with a unit, the time since the first frame.
std::optional<TimeRange> ParseTimeRange(std::string_view text);
// "0x1a2b3c4d" or a decimal number.
std::optional<uint32_t> ParseXid(std::string_view text);
// "RDLIST-003", "rdlist-003#2".
std::optional<WantedRule> ParseWantedRule(std::string_view text);

struct Selection {
  std::vector<uint32_t> connections;
  std::vector<uint32_t> xids;
  std::vector<FrameRange> frames;
  std::vector<TimeRange> times;
  std::vector<WantedRule> findings;
  std::vector<std::string> procedures;  // in lower case
  uint64_t slowest = 0;                 // how many; 0: not asked for
  uint64_t around = 0;                  // a frame; 0: not asked for

  bool ranged() const { return !frames.empty() || !times.empty(); }
  // RPCs are asked for, by what they are.
  bool rpcs() const { return !xids.empty() || !procedures.empty() || slowest != 0 || around != 0; }
  bool empty() const { return connections.empty() && !ranged() && findings.empty() && !rpcs(); }
  // All frames of a range are asked for, whatever they carry.
  bool frames_alone() const { return ranged() && findings.empty() && !rpcs(); }
  bool connections_alone() const { return !connections.empty() && !ranged() && findings.empty() && !rpcs(); }

  bool HasConnection(uint32_t connection) const;
  bool HasXid(uint32_t xid) const;
  // Something of [first, last] is in the ranges. `first_ns`: the time of the first frame of the capture.
  bool InRanges(const FrameRef& first, const FrameRef& last, int64_t first_ns) const;
  // The RPC's procedure, by its name (READ), its name with the program's (NFSv3 READ), its number, or, for a COMPOUND,
  // by one of its operations.
  bool HasProcedure(const session::Transaction& t) const;
};

}  // namespace stag::cli
