// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/ordered_lines.h"

#include <algorithm>

namespace stag::cli {

size_t OrderedLines::Insert(uint64_t key, uint64_t id) {
  if (head_ > 1024 && head_ * 2 > places_.size()) {  // what has left is swept out now and then
    places_.erase(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  size_t at = places_.size();  // nearly always the newest
  while (at > head_ && places_[at - 1].key > key) --at;
  places_.insert(places_.begin() + static_cast<std::ptrdiff_t>(at), Place{key, id});
  return at;
}

size_t OrderedLines::Find(uint64_t key, uint64_t id) const {
  auto it = std::lower_bound(places_.begin() + static_cast<std::ptrdiff_t>(head_), places_.end(), key,
                             [](const Place& place, uint64_t k) { return place.key < k; });
  while (it != places_.end() && it->key == key && !(it->id == id && it->state == State::kOpen)) ++it;
  return it != places_.end() && it->key == key ? static_cast<size_t>(it - places_.begin()) : places_.size();
}

void OrderedLines::Open(uint64_t key, uint64_t id) { Insert(key, id); }

void OrderedLines::Close(uint64_t key, uint64_t id, std::string_view line) {
  size_t at = Find(key, id);
  if (at == places_.size()) at = Insert(key, id);
  Place& place = places_[at];
  if (free_texts_.empty()) {
    place.text = static_cast<uint32_t>(texts_.size());
    texts_.emplace_back();
  } else {
    place.text = free_texts_.back();
    free_texts_.pop_back();
  }
  place.state = State::kClosed;
  texts_[place.text].assign(line);
  bytes_ += line.size();
}

void OrderedLines::Drop(uint64_t key, uint64_t id) {
  const size_t at = Find(key, id);
  if (at < places_.size()) places_[at].state = State::kDropped;
}

void OrderedLines::PopFront(std::string& out) {
  const Place& place = places_[head_++];
  if (place.state != State::kClosed) return;
  std::string& text = texts_[place.text];
  Put(out, std::string_view(text));
  bytes_ -= text.size();
  free_texts_.push_back(place.text);
}

void OrderedLines::Release(uint64_t limit, std::string& out) {
  while (head_ < places_.size() && places_[head_].state != State::kOpen && places_[head_].key <= limit) PopFront(out);
  while (places_.size() - head_ > max_places_ || bytes_ > max_bytes_) {
    if (places_[head_].state == State::kOpen) ++given_up_;
    PopFront(out);
  }
}

void OrderedLines::Finish(std::string& out) {
  while (head_ < places_.size()) PopFront(out);
  places_.clear();
  head_ = 0;
}

}  // namespace stag::cli
