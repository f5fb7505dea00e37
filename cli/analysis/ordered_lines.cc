// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/ordered_lines.h"

#include <algorithm>

namespace stag::cli {

OrderedLines::Place& OrderedLines::Insert(uint64_t key, uint64_t id) {
  if (places_.empty() || places_.back().key <= key) return places_.emplace_back(Place{key, id});  // nearly always
  const auto at = std::ranges::upper_bound(places_, key, {}, &Place::key);
  return *places_.insert(at, Place{key, id});
}

std::deque<OrderedLines::Place>::iterator OrderedLines::Find(uint64_t key, uint64_t id) {
  auto it = std::ranges::lower_bound(places_, key, {}, &Place::key);
  while (it != places_.end() && it->key == key && !(it->id == id && it->state == State::kOpen)) ++it;
  return it != places_.end() && it->key == key ? it : places_.end();
}

void OrderedLines::Open(uint64_t key, uint64_t id) { Insert(key, id); }

void OrderedLines::Close(uint64_t key, uint64_t id, std::string_view line) {
  const auto at = Find(key, id);
  Place& place = at == places_.end() ? Insert(key, id) : *at;
  if (free_texts_.empty()) {
    place.text = static_cast<uint32_t>(texts_.size());
    texts_.emplace_back();
  } else {
    place.text = free_texts_.back();
    free_texts_.pop_back();
  }
  place.state = State::kClosed;
  std::string& text = texts_[place.text];
  held_ -= text.capacity();
  text.assign(line);
  held_ += text.capacity();
  bytes_ += line.size();
}

void OrderedLines::Drop(uint64_t key, uint64_t id) {
  const auto at = Find(key, id);
  if (at != places_.end()) at->state = State::kDropped;
}

void OrderedLines::PopFront(std::string& out) {
  const Place place = places_.front();
  places_.pop_front();
  if (place.state != State::kClosed) return;
  std::string& text = texts_[place.text];
  Put(out, std::string_view(text));
  bytes_ -= text.size();
  if (held_ > limits_.bytes) {
    held_ -= text.capacity();
    std::string().swap(text);
    held_ += text.capacity();
  }
  free_texts_.push_back(place.text);
}

void OrderedLines::Release(uint64_t limit, std::string& out) {
  while (!places_.empty() && places_.front().state != State::kOpen && places_.front().key <= limit) PopFront(out);
  while (places_.size() > limits_.places || bytes_ > limits_.bytes) {
    if (places_.front().state == State::kOpen) ++given_up_;
    PopFront(out);
  }
}

void OrderedLines::Finish(std::string& out) {
  while (!places_.empty()) PopFront(out);
}

}  // namespace stag::cli
