// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a Delivery tells, as text: "wait 5 2-9 timer" (the place, and the frames), "delivered 5 9", "spurious 5 9".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "session/delivery/delivery.h"

namespace stag::delivery {

class Told final : public Results {
 public:
  // Places are given from `base` on.
  explicit Told(uint64_t base) : base_(base) {}
  void OnWait(const Lane& lane, const Numbers& numbers, const FrameRef& due, const FrameRef& delivered,
              Cause cause) override {
    constexpr std::array<std::string_view, 5> kCauses{"timer", "nak", "rnr", "acks", "gap"};
    Add("wait", lane, numbers,
        std::to_string(due.number) + "-" + std::to_string(delivered.number) + " " +
            std::string(kCauses[static_cast<size_t>(cause)]));
  }
  void OnDelivered(const Lane& lane, const Numbers& numbers, const FrameRef& frame) override {
    Add("delivered", lane, numbers, std::to_string(frame.number));
  }
  void OnSpurious(const Lane& lane, const Numbers& numbers, const FrameRef&, const FrameRef& copy) override {
    Add("spurious", lane, numbers, std::to_string(copy.number));
  }
  std::vector<std::string> lines;

 private:
  void Add(std::string_view what, const Lane& lane, const Numbers& numbers, const std::string& rest) {
    lines.push_back(std::string(what) + (lane.responses ? " response " : " ") + std::to_string(numbers.first - base_) +
                    " " + rest);
  }
  const uint64_t base_;
};

}  // namespace stag::delivery
