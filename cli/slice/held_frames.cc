// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/held_frames.h"

namespace stag::cli {

void HeldFrames::Put(const Frame& frame, std::string_view comment, bool fired) {
  std::vector<std::byte> bytes;
  if (!spare_.empty()) {
    bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  bytes.assign(frame.bytes.begin(), frame.bytes.end());
  held_.push_back({frame, std::move(bytes), std::string(comment), fired});
}

void HeldFrames::Drop() {
  spare_.push_back(std::move(held_.front().bytes));
  held_.pop_front();
}

}  // namespace stag::cli
