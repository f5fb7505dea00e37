// SPDX-License-Identifier: GPL-2.0-or-later
//
// What files hold: a function of the file, the offset and the generation (0: as made; then, the number of the WRITE),
// so that a byte that is old, of another file or of another place shows. Contents knows which generation is where in
// one part of a file; InFlight keeps Calls apart whose outcome would depend on which of them comes first.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::generate {

// The bytes of `file` from `offset` on.
void FillPattern(MutableBytes bytes, uint32_t file, uint64_t offset, uint32_t generation);
// The index of the first byte that is not as FillPattern makes it; nullopt: none.
std::optional<size_t> FindMismatch(Bytes bytes, uint32_t file, uint64_t offset, uint32_t generation);

class Contents {
 public:
  // `length` bytes from `begin` on, of generation 0.
  Contents(uint32_t file, uint64_t begin, uint64_t length);
  void Wrote(uint64_t offset, uint64_t length, uint32_t generation) { Set(offset, length, generation); }
  // It may hold anything: a WRITE failed, or nobody knows whether it was executed.
  void Forget(uint64_t offset, uint64_t length) { Set(offset, length, kUnknown); }
  void ForgetAll() { Set(begin_, end_ - begin_, kUnknown); }

  struct Checked {
    uint64_t good = 0, unknown = 0;  // bytes
    std::optional<uint64_t> wrong;   // offset of the first wrong byte
  };
  Checked Check(uint64_t offset, Bytes bytes) const;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  void Set(uint64_t offset, uint64_t length, uint32_t generation);
  void Split(uint64_t at);

  const uint32_t file_;
  const uint64_t begin_, end_;
  std::map<uint64_t, uint32_t> from_;  // generation, by the offset that it begins at; up to the next
};

class InFlight {
 public:
  // Whether the range is apart from all WRITEs under way and, for a WRITE, from all READs.
  bool Apart(uint32_t part, uint64_t offset, uint64_t length, bool write) const;
  void Add(uint32_t part, uint64_t offset, uint64_t length, bool write);
  void Remove(uint32_t part, uint64_t offset, uint64_t length, bool write);

 private:
  struct Range {
    uint32_t part;
    bool write;
    uint64_t offset, length;
    bool operator==(const Range&) const = default;
  };
  std::vector<Range> ranges_;
};

}  // namespace stag::generate
