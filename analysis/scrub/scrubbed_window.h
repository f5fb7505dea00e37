// SPDX-License-Identifier: GPL-2.0-or-later
//
// ScrubbedWindow: the scrubbed frames of a live capture. A frame waits in memory for what becomes known of its payload,
// then it goes out for good; for a while longer its bytes are there for who sends them again. What becomes known too
// late stays zero.
#pragma once

#include <deque>

#include "analysis/scrub/checksums.h"
#include "analysis/scrub/scrubbed_frames.h"

namespace stag::scrub {

struct WindowSize {
  int64_t ns = 5'000'000'000;     // for which a frame waits,
  uint64_t bytes = 128ull << 20;  // unless so many do; and so many of frames that went out are remembered
};

class ScrubbedWindow final : public ScrubbedFrames {
 public:
  explicit ScrubbedWindow(const link::TunnelPorts& ports, const WindowSize& size = {})
      : checksums_(ports), size_(size) {}

  // The next frame that goes out; nothing: it waits. It is valid until Pop or Append.
  std::optional<Frame> Front();
  void Pop();
  // Those that wait wait no longer.
  void Release() { released_ = frames(); }
  bool waits() const { return given_ < frames(); }

  Result<void> Append(const Frame& frame, const FramePayload& payload, uint32_t states) override;
  Result<void> AppendEmpty(const FrameRef& ref) override { return Append({ref, LinkType::kUnsupported, {}, 0}, {}, 0); }
  uint64_t frames() const override { return before_ + entries_.size(); }
  void Write(const Place& place, Bytes bytes) override;
  void CopyLater(const Place& from, const Place& to) override;
  void ChangeLater(const Place& place, bool fpdu) override;
  void SealLater(const std::vector<Place>& fpdu, bool right) override;
  std::optional<uint32_t> Psn(uint64_t frame) override;

 private:
  struct Copy {
    Place from, to;
  };
  struct Change {
    Place place;
    bool fpdu = false;
  };
  struct Seal {
    std::vector<Place> fpdu;
    bool right = false;
  };
  struct Entry {
    FrameRef ref;
    LinkType link = LinkType::kUnsupported;
    uint32_t wire_length = 0, states = 0;
    FramePayload payload;
    std::vector<std::byte> bytes;
    std::vector<Copy> copies;     // into it
    std::vector<Change> changes;  // of it
    std::vector<Seal> seals;      // whose CRC begins in it
    bool final = false;           // its payload does not change any more
  };
  Entry* Find(uint64_t frame) {
    return frame > before_ && frame <= frames() ? &entries_[static_cast<size_t>(frame - before_ - 1)] : nullptr;
  }
  static MutableBytes At(Entry& entry, const Place& place);
  void Settle(Entry& entry);
  void Finish(Entry& entry);

  Checksums checksums_;
  const WindowSize size_;
  std::deque<Entry> entries_;
  uint64_t before_ = 0;                    // frames before entries_
  uint64_t given_ = 0, released_ = 0;      // frames that went out, and that may
  uint64_t waiting_ = 0, remembered_ = 0;  // bytes of frames that have not, and that have
  bool finished_ = false;                  // the next one to go out
  int64_t newest_ns_ = 0;
};

}  // namespace stag::scrub
