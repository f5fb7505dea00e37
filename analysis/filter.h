// SPDX-License-Identifier: GPL-2.0-or-later
//
// Filter: the part of a capture that is asked for. Values of one kind are united, different kinds intersect; no value
// of a kind asks for all. A filter chooses what is shown: whatever is shown is followed over the whole capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/frame.h"
#include "session/rpcrdma/connection.h"
#include "session/rpcrdma/transaction.h"

namespace stag::analysis {

struct NumberRange {  // both included
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

struct AddressRange {
  Address address;
  unsigned bits = 128;  // so many of the address count
};

// "17", "17-40", "17-"; nullopt: it is none of these, or begins at 0.
std::optional<NumberRange> ParseNumberRange(std::string_view text);
// "A..B", "A..", "..B". A and B: a time (2024-01-31T12:00:00.5, with or without Z; a number of seconds since 1970), or,
// as a number below a hundred million or with a unit, the time since the first frame.
std::optional<TimeRange> ParseTimeRange(std::string_view text);
// "0x1a2b3c4d" or a decimal number.
std::optional<uint32_t> ParseXid(std::string_view text);
// "10.0.0.1", "fe80::1", "10.0.0.0/8", "LID 7".
std::optional<AddressRange> ParseAddress(std::string_view text);

struct Filter {
  std::vector<NumberRange> connections;
  std::vector<AddressRange> clients, servers;
  std::vector<uint32_t> xids;
  std::vector<NumberRange> frames;
  std::vector<TimeRange> times;
  std::vector<std::string> procedures;  // in lower case
  std::vector<std::string> statuses;    // in lower case
  std::optional<int64_t> slower_than_ns;

  bool ranged() const { return !frames.empty() || !times.empty(); }
  // RPCs are asked for, by what they are.
  bool of_rpcs() const { return !xids.empty() || !procedures.empty() || !statuses.empty() || slower_than_ns; }
  bool of_connections() const { return !connections.empty() || !clients.empty() || !servers.empty(); }
  bool empty() const { return !ranged() && !of_rpcs() && !of_connections(); }

  bool HasConnection(uint64_t connection) const;
  // The number of the connection, where one alone is asked for; else 0.
  uint32_t OneConnection() const {
    const bool one = connections.size() == 1 && connections[0].first == connections[0].last;
    return one ? static_cast<uint32_t>(std::min<uint64_t>(connections[0].first, UINT32_MAX)) : 0;
  }
  // By its number and its ends.
  bool HasConnection(const session::Connection& connection) const {
    return !of_connections() || HasNumberAndEnds(connection);
  }
  bool HasXid(uint32_t xid) const;
  // Something of [first, last] is in the ranges. `first_ns`: the time of the first frame of the capture.
  bool InRanges(const FrameRef& first, const FrameRef& last, int64_t first_ns) const;
  // The RPC's procedure, by its name (READ), its name with the program's (NFSv3 READ), its number, or, for a COMPOUND,
  // by one of its operations.
  bool HasProcedure(const session::Transaction& t) const;
  // How the RPC ended: the NFS status by its number or its name (NFS4ERR_DELAY), the error of RPC (PROG_UNAVAIL,
  // DENIED) or of RPC-over-RDMA (ERR_CHUNK), "ok", "error" or "none", which is no answer.
  bool HasStatus(const session::Transaction& t) const;
  // All that says what an RPC is: its xid, procedure, status and round-trip time.
  bool HasKind(const session::Transaction& t) const { return !of_rpcs() || IsOfKind(t); }
  // That, and where it is: something from its Call to its Reply. Its connection is asked for itself.
  bool HasRpc(const session::Transaction& t, int64_t first_ns) const {
    if (!HasKind(t)) return false;
    const FrameRef& last = t.reply.frame.number != 0 ? t.reply.frame : t.call.frame;
    return !ranged() || InRanges(t.call.first_frame, last, first_ns);
  }

 private:
  bool HasNumberAndEnds(const session::Connection& connection) const;
  bool IsOfKind(const session::Transaction& t) const;
};

}  // namespace stag::analysis
