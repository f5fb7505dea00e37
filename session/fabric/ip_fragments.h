// SPDX-License-Identifier: GPL-2.0-or-later
//
// IpFragments: puts IP packets together from their fragments, within bounds: so many packets at a time, so many bytes,
// so long. A packet whose fragments overlap is given up (RFC 5722); a fragment that came twice counts once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "protocol/base/budget.h"
#include "protocol/base/frame.h"
#include "protocol/link/packet.h"
#include "session/fabric/stop_counts.h"

namespace stag::fabric {

class IpFragments {
 public:
  static constexpr size_t kMost = 256;                       // packets at a time
  static constexpr size_t kMostPieces = 1024;                // of a packet
  static constexpr int64_t kLongest = 30'000'000'000;        // ns from the first fragment on
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;  // or an eighth of the budget

  // Frames of packets that are given up are counted in `stopped`. The references must outlive this.
  IpFragments(Budget& budget, StopCounts& stopped)
      : budget_(budget), stopped_(stopped), most_bytes_(std::min(kMostBytes, budget.limit() / 8)) {}

  // A packet put together.
  struct Whole {
    Frame frame;                   // it begins with its IP header; number and time are those of the last fragment
    uint64_t way = 0;              // of the first fragment: link::Packet::way
    uint32_t tunnels = 0;          // that the fragments were in
    std::vector<uint64_t> frames;  // numbers of the fragments' frames, in the order of the packet
  };
  // Takes a fragment. Not null: it was the last one that was missing; valid until the next Take.
  const Whole* Take(const link::Packet& packet, const FrameRef& frame);
  // There is no more to come.
  void Finish();

 private:
  struct Piece {
    uint32_t begin = 0, end = 0, captured = 0;
    uint64_t frame = 0;  // number
  };
  struct Storage {
    std::vector<std::byte> bytes;
    std::vector<Piece> pieces;  // in the order of the packet
  };
  struct Part {
    explicit Part(Budget& budget) : charge(budget) {}
    Address source, destination;
    link::IpFragment fragment;  // of any of them
    int64_t begun_ns = 0;
    uint64_t frames = 0, way = 0;
    uint32_t tunnels = 0, total = 0, have = 0;  // total: bytes; 0: the last fragment was not seen
    std::array<std::byte, 60> header{};         // of the first fragment
    size_t header_length = 0;
    Storage storage;
    Charge charge;
  };

  size_t Find(const link::Packet& packet) const;
  bool MakeRoom(size_t& at, size_t bytes);
  bool Put(Part& part, const link::Packet& packet, const FrameRef& frame) const;
  void Assemble(const Part& part, const FrameRef& frame);
  void Drop(size_t at);
  void GiveUp(size_t at, link::FragmentStop why);
  static link::FragmentStop WhyOf(const Part& part);

  Budget& budget_;
  StopCounts& stopped_;
  const uint64_t most_bytes_;
  uint64_t bytes_ = 0;       // of all
  std::vector<Part> parts_;  // the oldest first
  std::vector<Storage> spare_;
  std::vector<std::byte> assembled_;
  Whole whole_;
};

}  // namespace stag::fabric
