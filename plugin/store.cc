// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/store.h"

#include <algorithm>

namespace stag::plugin {

const FrameRecord::Parts& FrameRecord::parts() const {
  static const Parts none;
  return parts_ ? *parts_ : none;
}

FrameRecord::Parts& FrameRecord::MakeParts() {
  if (!parts_) parts_ = std::make_unique<Parts>();
  return *parts_;
}

const RareRecords& FrameRecord::rare() const {
  static const RareRecords none;
  return rare_ ? *rare_ : none;
}

RareRecords& FrameRecord::MakeRare() {
  if (!rare_) rare_ = std::make_unique<RareRecords>();
  return *rare_;
}

const FrameRecord* Store::Find(uint32_t frame) const { return frame < frames_.size() ? frames_[frame].get() : nullptr; }

FrameRecord& Store::At(uint64_t frame) {
  const auto index = static_cast<size_t>(frame);
  if (index >= frames_.size()) frames_.resize(std::max(index + 1, frames_.size() + frames_.size() / 2));
  if (!frames_[index]) frames_[index] = std::make_unique<FrameRecord>();
  return *frames_[index];
}

void Store::Forget(uint32_t frame) {
  if (frame < frames_.size() && frames_[frame]) forgotten_.push_back(std::move(frames_[frame]));
}

ConnectionRecord& Store::Connection(ConnectionId id) {
  last_connection_ = std::max(last_connection_, id);
  return connections_[id];
}

TransactionRecord& Store::Transaction(uint64_t serial) {
  const auto index = static_cast<size_t>(serial);
  if (index >= by_serial_.size()) by_serial_.resize(index + 1);
  if (!by_serial_[index]) by_serial_[index] = &transactions_.emplace_back();
  return *by_serial_[index];
}

TransactionRecord* Store::FindTransaction(uint64_t serial) {
  return serial < by_serial_.size() ? by_serial_[static_cast<size_t>(serial)] : nullptr;
}

std::unique_ptr<std::byte[]> Store::Keep(Bytes bytes) {
  if (bytes.size() > limit_ - kept_) return nullptr;
  kept_ += bytes.size();
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

}  // namespace stag::plugin
