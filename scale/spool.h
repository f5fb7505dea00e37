// SPDX-License-Identifier: GPL-2.0-or-later
//
// Spool: bytes that are appended now and read later. They are in memory while they are few, else in a temporary file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace stag::scale {

class Spool {
 public:
  explicit Spool(size_t in_memory = size_t{4} << 20) : limit_(in_memory) {}

  // Throws std::runtime_error when there is no room for a temporary file.
  void Append(std::string_view bytes);
  uint64_t size() const { return in_file_ + memory_.size(); }
  // The bytes from offset `from` to `to`, in parts of at most `part`; at least one call, the last with `last`. Throws
  // likewise.
  void Read(uint64_t from, uint64_t to, size_t part,
            const std::function<void(std::string_view bytes, bool last)>& take);
  // Removes all bytes and frees their storage.
  void Clear();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  size_t limit_;
  std::unique_ptr<std::FILE, Closer> file_;
  uint64_t in_file_ = 0;
  std::string memory_;  // what follows the bytes in the file
};

}  // namespace stag::scale
