// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/capture.h"

#include <algorithm>
#include <utility>

#include "capture/file/writer.h"
#include "pcaps/generator/require.h"

namespace stag::evidence {

// Nanoseconds. Who sends again does so when its timer has run out: sooner, the same packet is a copy of the capture.
constexpr int64_t kFrameTime = 10'000, kTimer = 20'000'000;

void Capture::Add(Buffer bytes) {
  time_ns_ += kFrameTime;
  if (!listening_) return;
  const auto wire_length = static_cast<uint32_t>(bytes.size());
  if (bytes.size() > snap_length_) bytes.resize(snap_length_);
  frames_.push_back({time_ns_, std::move(bytes), wire_length});
}

void Capture::Repeat(uint64_t first, uint64_t last) {
  Require(first > 0 && last <= frames_.size(), "there is no such frame to repeat");
  WaitForTimer();
  for (uint64_t number = first; number <= last; ++number) {
    Frame copy = frames_[number - 1];
    copy.time_ns = time_ns_ += kFrameTime;
    frames_.push_back(std::move(copy));
  }
}

void Capture::WaitForTimer() { time_ns_ += kTimer; }

void Capture::SwapLast() {
  Require(frames_.size() >= 2, "there are no two frames to swap");
  Frame& a = frames_[frames_.size() - 2];
  Frame& b = frames_.back();
  std::swap(a, b);
  std::swap(a.time_ns, b.time_ns);
}

void Capture::Interleave(const std::function<void()>& a, const std::function<void()>& b) {
  const size_t begin = frames_.size();
  a();
  const size_t middle = frames_.size();
  b();
  std::vector<Frame> mixed;
  for (size_t i = begin, j = middle; i < middle || j < frames_.size();) {
    if (i < middle) mixed.push_back(std::move(frames_[i++]));
    if (j < frames_.size()) mixed.push_back(std::move(frames_[j++]));
  }
  std::vector<int64_t> times;
  times.reserve(mixed.size());
  for (const Frame& frame : mixed) times.push_back(frame.time_ns);
  std::ranges::sort(times);
  for (size_t i = 0; i < mixed.size(); ++i) {
    mixed[i].time_ns = times[i];
    frames_[begin + i] = std::move(mixed[i]);
  }
}

std::vector<Expected> Capture::expected() const {
  std::vector<Expected> sorted = expected_;
  for (Expected& finding : sorted)
    if (finding.presumed) finding.proven = size();
  std::ranges::sort(sorted);
  return sorted;
}

Buffer Capture::File() const {
  Buffer out;
  auto encoder = capture::FileEncoder::Start(capture::FileFormat::kPcap, LinkType::kEthernet, out);
  Require(encoder.has_value(), "no capture file can be made");
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Frame& f = frames_[i];
    const auto appended = encoder->Append({{i + 1, f.time_ns}, LinkType::kEthernet, f.bytes, f.wire_length}, {}, out);
    Require(appended.has_value(), "a frame does not fit the capture file");
  }
  return out;
}

}  // namespace stag::evidence
