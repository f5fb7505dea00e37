// SPDX-License-Identifier: GPL-2.0-or-later
//
// RowHead: what every row of a connection begins with: which connection, and since when.
#pragma once

#include <optional>

#include "results/record.h"
#include "session/rpcrdma/connection.h"

namespace stag::analysis {

// The time of a frame, and the time since the first frame of the capture, of which `origin_ns` is the time; nullopt:
// the frame is not there, or nobody knows its time.
inline std::optional<results::Time> TimeOf(const FrameRef& frame) {
  return frame.number != 0 && frame.timed ? std::optional(results::Time{frame.time_ns}) : std::nullopt;
}
inline std::optional<results::Elapsed> SinceStart(const FrameRef& frame, int64_t origin_ns) {
  return frame.number != 0 && frame.timed ? std::optional(results::Elapsed{frame.time_ns - origin_ns}) : std::nullopt;
}
// "c2s", from the client to the server, or "s2c".
inline std::string_view DirectionOf(bool from_client) { return from_client ? "c2s" : "s2c"; }

struct RowHead {
  RowHead() = default;
  RowHead(const session::Connection& c, int64_t origin_ns)
      : connection(c.info.id), time(TimeOf(c.first_frame)), time_s(SinceStart(c.first_frame, origin_ns)) {}

  uint32_t connection = 0;
  std::optional<results::Time> time;
  std::optional<results::Elapsed> time_s;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::RowHead> : Part<analysis::RowHead> {
  static constexpr std::array kMembers = {
      Member<&Row::connection>("connection", "Number of the connection in its capture, from 1.").Column("conn"),
      Member<&Row::time>("time", "Time of the first frame of the connection, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture."),
  };
};

}  // namespace stag::results
