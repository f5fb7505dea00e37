// SPDX-License-Identifier: GPL-2.0-or-later
//
// ValueTable: values by the keys of recorded ones (ForEachKey), with a cap on memory: those that were not used for the
// longest time are forgotten, and counted.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/bytes.h"

namespace stag::replay {

class ValueTable {
 public:
  // `memory`: bytes, with what the table itself takes.
  explicit ValueTable(uint64_t memory) : memory_(memory) {}
  ValueTable(const ValueTable&) = delete;
  ValueTable& operator=(const ValueTable&) = delete;

  // Empty: there is none. Valid until the next Set.
  Bytes Find(std::string_view key);
  void Set(std::string_view key, Bytes value);
  uint64_t forgotten() const { return forgotten_; }

 private:
  struct Entry {
    std::string key, value;
  };
  static uint64_t SizeOf(const Entry& entry);

  const uint64_t memory_;
  uint64_t used_ = 0, forgotten_ = 0;
  std::list<Entry> entries_;  // the one used last comes first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;
};

}  // namespace stag::replay
