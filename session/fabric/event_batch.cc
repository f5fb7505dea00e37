// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/event_batch.h"

#include <cstring>

namespace stag::fabric {

Bytes EventBatch::Keep(Bytes bytes, const FrameMemory& memory) {
  if (!bytes.empty() && (kept_.empty() || kept_.back() != memory.owner)) {
    kept_.push_back(memory.owner);
    bytes_ += memory.size;
  }
  return bytes;
}

Bytes EventBatch::Copy(Bytes bytes) {
  if (bytes.empty()) return {};
  bytes_ += bytes.size();
  std::byte* to = nullptr;
  if (bytes.size() > kBlock) {
    to = large_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes.size())).get();
  } else {
    if (!blocks_.empty() && kBlock - used_ < bytes.size()) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlock));
    to = blocks_[block_].get() + used_;
    used_ += bytes.size();
  }
  std::memcpy(to, bytes.data(), bytes.size());
  return {to, bytes.size()};
}

Event& EventBatch::Next(const Event& event, uint64_t number) {
  if (events_used_ == events_.size()) events_.emplace_back();
  Copied& copied = events_[events_used_++];
  copied.number = number;
  copied.event = event;
  copied.connection = *event.connection;
  return copied.event;
}

void EventBatch::AddStaying(const Event& event, uint64_t number) { (void)Next(event, number); }

size_t EventBatch::Add(const Event& event, uint64_t number, Bytes frame, const FrameMemory& memory) {
  Event& copied = Next(event, number);
  if (auto* setup = std::get_if<Setup>(&copied.what)) {
    setup->private_data = Copy(setup->private_data);
    return setup->private_data.size();
  }
  Content* content = copied.content();
  if (!content || content->bytes.empty()) return 0;
  const bool keep = memory.owner && Contains(frame, content->bytes);
  content->bytes = keep ? Keep(content->bytes, memory) : Copy(content->bytes);
  return keep ? 0 : content->bytes.size();
}

size_t EventBatch::Add(const Aside& aside, uint64_t number) {
  Aside copied = aside;
  copied.bytes = Copy(aside.bytes);
  others_.push_back({number, events_used_, copied});
  return aside.bytes.size();
}

void EventBatch::Add(const Recovery& recovery, uint64_t number) { others_.push_back({number, events_used_, recovery}); }

void EventBatch::Add(const Sighting& sighting, uint64_t number) {
  sightings_.push_back({number, events_used_, sighting});
}

void EventBatch::Clear() {
  events_used_ = 0;
  sightings_.clear();
  others_.clear();
  block_ = used_ = 0;
  large_.clear();
  kept_.clear();
  bytes_ = 0;
}

}  // namespace stag::fabric
