// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventBatch: events, recoveries, sightings and asides with copies of the bytes and connections that they show, so that
// a Sink can have them later or in another thread. Bytes of the frame itself need not be copied, if its memory can be
// kept instead. The storage is kept from one filling to the next.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "session/fabric/fabric_event.h"

namespace stag::fabric {

class EventBatch {
 public:
  // `number` orders: it goes to Give's `before`. What lies in `frame`, whose memory is `memory`, is not copied. Return
  // how many bytes were.
  size_t Add(const Event& event, uint64_t number, Bytes frame, const FrameMemory& memory);
  // The event's bytes stay where they are until it has been given: none is copied.
  void AddStaying(const Event& event, uint64_t number);
  size_t Add(const Aside& aside, uint64_t number);
  void Add(const Recovery& recovery, uint64_t number);
  void Add(const Sighting& sighting, uint64_t number);
  void Clear();
  size_t size() const { return events_used_ + others_.size() + sightings_.size(); }
  uint64_t bytes() const { return bytes_; }  // of the copies, and of the memory that is kept

  // Gives everything to `sink`, in order of Add; before each, calls `before(number, frame being processed)`.
  template <typename Before>
  void Give(Sink& sink, Before before) {
    size_t other = 0, sighting = 0;
    for (size_t i = 0; i <= events_used_; ++i) {
      for (; sighting < sightings_.size() && sightings_[sighting].place == i; ++sighting) {
        before(sightings_[sighting].number, sightings_[sighting].what.frame);
        sink.OnSighting(sightings_[sighting].what);
      }
      for (; other < others_.size() && others_[other].place == i; ++other) {
        if (const auto* recovery = std::get_if<Recovery>(&others_[other].what)) {
          before(others_[other].number, recovery->frame);
          sink.OnRecovery(*recovery);
        } else {
          const auto& aside = std::get<Aside>(others_[other].what);
          before(others_[other].number, aside.frame);
          sink.OnAside(aside);
        }
      }
      if (i == events_used_) break;
      Copied& copied = events_[i];
      copied.event.connection = &copied.connection;
      before(copied.number, copied.event.now);
      sink.OnEvent(copied.event);
    }
  }

 private:
  static constexpr size_t kBlock = size_t{64} << 10;
  struct Copied {
    uint64_t number = 0;
    Event event;
    ConnectionInfo connection;
  };
  struct Other {
    uint64_t number = 0;
    size_t place = 0;  // how many events come before it
    std::variant<Aside, Recovery> what;
  };
  struct Seen {
    uint64_t number = 0;
    size_t place = 0;  // likewise
    Sighting what;
  };
  Event& Next(const Event& event, uint64_t number);
  Bytes Copy(Bytes bytes);
  Bytes Keep(Bytes bytes, const FrameMemory& memory);

  std::vector<Copied> events_;  // the first `events_used_` of them
  size_t events_used_ = 0;
  std::vector<Other> others_;
  std::vector<Seen> sightings_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // of kBlock bytes; filled up to block_, and used_ bytes of that
  size_t block_ = 0, used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> large_;       // what is larger than a block, each on its own
  std::vector<std::shared_ptr<const std::byte[]>> kept_;  // memory of frames that events are views of
  uint64_t bytes_ = 0;
};

}  // namespace stag::fabric
