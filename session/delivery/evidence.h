// SPDX-License-Identifier: GPL-2.0-or-later
//
// Evidence: which frame was the first to show that all numbers up to one had arrived.
#pragma once

#include <algorithm>
#include <vector>

#include "protocol/base/frame.h"

namespace stag::delivery {

class Evidence {
 public:
  // The highest number that is proven; nothing is when !any().
  uint64_t highest() const { return proofs_.back().number; }
  bool any() const { return !proofs_.empty(); }
  bool Proves(uint64_t number) const { return any() && highest() >= number; }

  // False: it was known before.
  bool Add(uint64_t number, const FrameRef& frame) {
    auto at = proofs_.end();
    while (at != proofs_.begin() && std::prev(at)->frame.order() > frame.order()) --at;
    if (at != proofs_.begin() && std::prev(at)->number >= number) return false;
    const auto end = std::find_if(at, proofs_.end(), [&](const Proof& proof) { return proof.number > number; });
    if (at != end) {
      *at = {number, frame};
      proofs_.erase(at + 1, end);
    } else {
      proofs_.insert(at, {number, frame});
    }
    if (proofs_.size() > 2 * kMost) proofs_.erase(proofs_.begin(), proofs_.begin() + kMost);
    return true;
  }

  // Null: nothing shows it. Of numbers that were proven long ago, a later frame than the first.
  const FrameRef* Find(uint64_t number) const {
    const auto at = std::ranges::lower_bound(proofs_, number, {}, &Proof::number);
    return at == proofs_.end() ? nullptr : &at->frame;
  }
  uint64_t storage() const { return proofs_.capacity() * sizeof(Proof); }

 private:
  static constexpr size_t kMost = 256;
  struct Proof {
    uint64_t number = 0;
    FrameRef frame;
  };
  std::vector<Proof> proofs_;  // numbers and frames ascend
};

}  // namespace stag::delivery
