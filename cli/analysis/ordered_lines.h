// SPDX-License-Identifier: GPL-2.0-or-later
//
// OrderedLines: puts lines that become known in one order (RPCs in order of their ends) out in another (of their
// beginnings). A place is opened when a line is known to come, and closed with its text or dropped; lines leave in
// order of their keys once every place before them is closed. Bounded: when too much waits, the oldest open places are
// given up, and what closes them later comes out of order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/base/output.h"

namespace stag::cli {

class OrderedLines {
 public:
  // At most so many places, and so many bytes of text, wait.
  explicit OrderedLines(size_t max_places = size_t{1} << 17, size_t max_bytes = size_t{32} << 20)
      : max_places_(max_places), max_bytes_(max_bytes) {}

  // `key` orders; places with equal keys are in order of Open. `id` distinguishes places with equal keys.
  void Open(uint64_t key, uint64_t id);
  // Without an open place (it was given up, or never opened) the line takes its place among those that still wait.
  void Close(uint64_t key, uint64_t id, std::string_view line);
  void Drop(uint64_t key, uint64_t id);
  // Appends every line that nothing open precedes and whose key is at most `limit`.
  void Release(uint64_t limit, std::string& out);
  // Appends all lines; places that are still open are forgotten.
  void Finish(std::string& out);
  // Places given up: so many lines may be out of order.
  uint64_t given_up() const { return given_up_; }

 private:
  enum class State : uint8_t { kOpen, kClosed, kDropped };
  struct Place {
    uint64_t key = 0, id = 0;
    State state = State::kOpen;
    uint32_t text = 0;  // kClosed: index into texts_
  };
  size_t Insert(uint64_t key, uint64_t id);
  size_t Find(uint64_t key, uint64_t id) const;  // places_.size() when there is none
  void PopFront(std::string& out);

  const size_t max_places_, max_bytes_;
  std::vector<Place> places_;  // sorted by key from head_ on
  size_t head_ = 0;
  std::vector<std::string> texts_;  // storage of waiting lines, used again and again
  std::vector<uint32_t> free_texts_;
  size_t bytes_ = 0;
  uint64_t given_up_ = 0;
};

}  // namespace stag::cli
