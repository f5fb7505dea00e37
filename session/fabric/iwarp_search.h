// SPDX-License-Identifier: GPL-2.0-or-later
//
// BoundarySearch: finds where FPDUs begin in a stream whose start was not seen, or behind lost bytes. It looks at what
// a TcpStream holds, follows chains of FPDUs from every offset that could begin one, and accepts the first chain that
// is proven: by a right, non-zero CRC32C, or by enough headers that make sense where the lengths before them say they
// are.
#pragma once

#include <optional>
#include <vector>

#include "session/fabric/iwarp_tcp.h"

namespace stag::fabric {

enum class CrcUse : uint8_t { kUnknown, kOff, kOn };

class BoundarySearch {
 public:
  // What is known of the stream that is searched.
  struct Context {
    bool likely = false;   // the connection is iWARP, or its port says so: a TCP segment's start is good evidence
    bool markers = false;  // with the first marker at position `base`
    bool markers_known = false;
    uint64_t base = 0;
    CrcUse crc = CrcUse::kUnknown;
  };
  struct Found {
    uint64_t begin;
    CrcUse crc;
    bool no_markers;  // proven: the chain is longer than what lies between two of them
  };

  // Starts again at `from`. `expected`: an FPDU is expected to begin there, as at a segment's start.
  void Reset(uint64_t from, bool expected);
  // Looks at what `stream` holds now. `final`: nothing more will come.
  std::optional<Found> Advance(const TcpStream& stream, const Context& context, bool final);

  // Working storage shared by all searches of a tracker.
  struct Scratch {
    std::vector<std::byte> fpdu, plain;
  };
  explicit BoundarySearch(Scratch& scratch) : scratch_(&scratch) {}

 private:
  struct Candidate {
    uint64_t begin, next;
    uint32_t weight;    // evidence so far
    bool next_counted;  // the header at `next` is in `weight`
    bool at_segment;
    bool crc_right, crc_zero;
  };
  enum class Verdict : uint8_t { kUndecided, kRejected, kProven };
  // `end`: that of what `stream` holds without a hole.
  Verdict Follow(Candidate& candidate, const TcpStream& stream, uint64_t end, const Context& context) const;
  void Scan(const TcpStream& stream, const Context& context);
  void Consider(uint64_t position, bool at_segment);

  Scratch* scratch_;
  std::vector<Candidate> candidates_;
  uint64_t scanned_ = 0;  // offsets before this one have been considered
  bool expected_ = false;
};

}  // namespace stag::fabric
