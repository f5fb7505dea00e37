// SPDX-License-Identifier: GPL-2.0-or-later
//
// Marker: which frames have the packets that a slice needs: those at the places that are wanted, copies and
// retransmissions among them, what acknowledges or refuses them, and TCP handshakes. Of a packet that was put together
// from fragments, the frames of all.
#pragma once

#include "cli/slice/gatherer.h"

namespace stag::cli {

class Marker final : public fabric::PacketObserver {
 public:
  // The references must outlive this. `frames` gets what is found.
  Marker(const Selection& selection, const Choice& choice, const TrackSlices& tracks, FrameSet& frames)
      : selection_(selection), choice_(choice), tracks_(tracks), frames_(frames) {}
  // After the pass.
  void Finish() { MarkFragments(); }

  void OnFragments(std::span<const uint64_t> frames, const FrameRef& last) override;
  void OnForgotten(Track track) override;
  void OnPacket(Track track, const fabric::RcPacket& packet) override;
  void OnCongestionNotification(Track track, fabric::Side from, const FrameRef& frame) override;
  void OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) override;

 private:
  struct Progress {
    std::array<uint64_t, 2> await{};  // by space: what was marked up to there has no acknowledgment yet; 0: it has
    bool handshake = false;           // TCP: a SYN came, its acknowledgment has not
    uint64_t behind = 0;              // packets behind the stretch that is wanted
  };
  // A frame with a fragment of the packet that is known by the number `last`.
  struct Fragment {
    uint64_t last = 0, frame = 0;
  };
  static constexpr size_t kMostFragments = 1 << 16;
  bool IsInExtent(const TrackSlice& slice, Progress& progress, const FrameRef& frame) const;
  void MarkFragments();

  const Selection& selection_;
  const Choice& choice_;
  const TrackSlices& tracks_;
  FrameSet& frames_;
  PacketPositions places_;
  std::unordered_map<Track, Progress> progress_;
  std::vector<Fragment> fragments_;  // of the last packets
};

}  // namespace stag::cli
