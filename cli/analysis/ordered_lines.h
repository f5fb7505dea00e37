// SPDX-License-Identifier: GPL-2.0-or-later
//
// OrderedLines: puts lines that become known in one order (RPCs in order of their ends) out in another (of their
// beginnings). A place is opened when a line is known to come, and closed with its text or dropped; lines leave in
// order of their keys once every place before them is closed. Bounded: when too much waits, the oldest open places are
// given up, and what closes them later comes out of order.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cli/base/output.h"

namespace stag::cli {

class OrderedLines {
 public:
  // At most so many places, of some 32 bytes, and so many bytes of text wait.
  struct Limits {
    size_t places = size_t{1} << 17, bytes = size_t{32} << 20;
    // An eighth of the memory for text, a 64th for places.
    static Limits Of(uint64_t memory) { return {static_cast<size_t>(memory / 2048), static_cast<size_t>(memory / 8)}; }
  };
  explicit OrderedLines(const Limits& limits) : limits_(limits) {}

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
  Place& Insert(uint64_t key, uint64_t id);
  std::deque<Place>::iterator Find(uint64_t key, uint64_t id);  // places_.end() when there is none
  void PopFront(std::string& out);

  const Limits limits_;
  std::deque<Place> places_;        // sorted by key
  std::vector<std::string> texts_;  // storage of waiting lines, used again while there is no more than the limit
  std::vector<uint32_t> free_texts_;
  size_t bytes_ = 0;  // of lines that wait
  size_t held_ = 0;   // of all storage of lines
  uint64_t given_up_ = 0;
};

}  // namespace stag::cli
