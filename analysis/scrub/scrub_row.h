// SPDX-License-Identifier: GPL-2.0-or-later
//
// ScrubRow: what `stag scrub` did; ReplacedRow: the part of it that `stag capture --scrub` tells, too.
#pragma once

#include <string>
#include <utility>

#include "analysis/scrub/replaced.h"
#include "results/record.h"

namespace stag::scrub {

struct ReplacedRow {
  explicit ReplacedRow(Replaced counts)
      : replaced(counts),
        blocks(counts.blocks),
        blocks_left_out(counts.left_out),
        unknown_links(counts.unknown_links),
        forgotten_packets(counts.forgotten) {}
  Replaced replaced;
  uint64_t blocks = 0, blocks_left_out = 0, unknown_links = 0, forgotten_packets = 0;
};

struct ScrubRow {
  ScrubRow(std::string to, bool whole, const Replaced& counts)
      : out(std::move(to)),
        complete(whole),
        frames(counts.frames),
        other_frames(counts.other_frames),
        replaced(counts) {}
  std::string out;
  bool complete = false;
  uint64_t frames = 0, other_frames = 0;
  ReplacedRow replaced;
};

}  // namespace stag::scrub

namespace stag::results {

template <>
struct Record<scrub::Replaced> : Part<scrub::Replaced> {
  static constexpr std::array kMembers = {
      Member<&Row::addresses>("addresses", "IP, GID, LID, MAC, GUID and universal addresses."),
      Member<&Row::names>("names", "Names of files, hosts, owners, links, attributes."),
      Member<&Row::identifiers>("identifiers", "Handles, stateids, sessions, clients, cookies, verifiers, tokens."),
      Member<&Row::numbers>("numbers", "Users, groups, files, sizes, times of files."),
      Member<&Row::data_bytes>("data_bytes", "Data of files.").In("bytes"),
  };
};
template <>
struct Record<scrub::ReplacedRow> : Part<scrub::ReplacedRow> {
  static constexpr std::array kMembers = {
      Member<&Row::replaced>("replaced", "Values that were replaced, by kind."),
      Member<&Row::blocks>("blocks", "Custom and journal blocks that were emptied."),
      Member<&Row::blocks_left_out>("blocks_left_out",
                                    "Other blocks, left out: names, secrets, statistics, unknown ones."),
      Member<&Row::unknown_links>("unknown_links", "Frames of link types that are not known, emptied."),
      Member<&Row::forgotten_packets>("forgotten_packets", "Packets that became zeros for lack of memory."),
  };
};
template <>
struct Record<scrub::ScrubRow> : Of<scrub::ScrubRow> {
  static constexpr std::string_view kType = "scrub", kDoc = "The capture that was made.";
  static constexpr std::array kMembers = {
      Member<&Row::out>("out", "Its name."),
      Member<&Row::complete>("complete", "Every capture was read to its end."),
      Member<&Row::frames>("frames", "Frames that were read."),
      Member<&Row::other_frames>("other_frames", "Frames of other protocols, emptied behind their headers."),
      Inline<&Row::replaced>(),
  };
};

}  // namespace stag::results
