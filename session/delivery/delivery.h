// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delivery: which copy of a packet that was sent more than once its receiver took, how long packets waited for that,
// and which copies nobody needed. Fed with each packet of a connection as the capture has it (fabric::Sighting).
//
// The delivering copy is the last one before the first evidence that the packet had arrived, a frame of the other side;
// without evidence it is the last one. Whatever sends another copy, or comes late, is a trouble. A trouble is settled
// when nothing that the capture has yet to show can change it.
//
// Numbers are PSNs (InfiniBand, RoCE) or places of bytes in the stream of a side (iWARP), unwrapped to 64 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "protocol/base/enum_names.h"
#include "session/fabric/fabric_event.h"

namespace stag::delivery {

using fabric::Side;

// A sequence of numbers: the requests of a side, or the RDMA Read Responses to the requests of a side, which the other
// side sends. iWARP has one for each side, and no responses.
struct Lane {
  Side requester = 0;
  bool responses = false;
  size_t index() const { return requester + 2u * responses; }
  Side sender() const { return responses ? static_cast<Side>(1 - requester) : requester; }
  friend bool operator==(const Lane&, const Lane&) = default;
};
inline constexpr size_t kLanes = 4;

// What made a packet wait, or its sender send it again.
enum class Cause : uint8_t { kTimer, kNak, kRnrNak, kDuplicateAcks, kGap };

// Numbers, both included.
struct Numbers {
  uint64_t first = 0, last = 0;
};

class Results {
 public:
  virtual ~Results() = default;
  // These numbers waited from the frame in which they were due to the one that delivered them.
  virtual void OnWait(const Lane& lane, const Numbers& numbers, const FrameRef& due, const FrameRef& delivered,
                      Cause cause) = 0;
  // Another frame than the first with these numbers delivered them.
  virtual void OnDelivered(const Lane& lane, const Numbers& numbers, const FrameRef& frame) = 0;
  // `copy` is behind the delivering copy of the packet that `first` had first.
  virtual void OnSpurious(const Lane& lane, const Numbers& numbers, const FrameRef& first, const FrameRef& copy) = 0;
};

inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::max();

class Delivery {
 public:
  virtual ~Delivery() = default;
  // In the order of the capture.
  virtual void OnSighting(const fabric::Sighting& sighting, Results& results) = 0;
  // The position that a number of an event of this lane has.
  virtual uint64_t PlaceOf(const Lane& lane, uint32_t number) const = 0;
  // `frame`, which may be earlier than the last sighting, shows that all numbers up to `last` had arrived.
  virtual void Prove(const Lane& lane, uint64_t last, const FrameRef& frame, Results& results) = 0;
  // It is known which frame delivered `last`.
  virtual bool IsKnown(const Lane& lane, uint64_t last) const = 0;
  // Whether something was proven since the last call.
  bool TakeProof() { return std::exchange(proven_, false); }
  // Troubles: whether there may be some that are not settled; whether `of(lane, numbers)` holds for one of these; since
  // when the first packet of one waits, at the earliest (kNoTime: no packet).
  bool troubled() const { return troubles_ > 0; }
  virtual bool AnyTrouble(const std::function<bool(const Lane&, const Numbers&)>& of) const = 0;
  virtual int64_t troubled_since() const = 0;
  // Nothing more comes: settles what is not.
  virtual void Finish(Results& results) = 0;
  // Bytes of storage.
  virtual uint64_t storage() const = 0;

 protected:
  size_t troubles_ = 0;
  bool proven_ = false;
};

}  // namespace stag::delivery

namespace stag {

template <>
struct EnumNames<delivery::Cause> {
  static constexpr std::array<std::string_view, 5> kNames{"timer", "nak", "rnr_nak", "duplicate_acks", "gap"};
};

}  // namespace stag
