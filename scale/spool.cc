// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace stag::scale {
namespace {

[[noreturn]] void FailTo(const char* what) {
  throw std::runtime_error(std::string("cannot ") + what + " a temporary file for results: " + std::strerror(errno));
}

}  // namespace

void Spool::Append(std::string_view bytes) {
  memory_.append(bytes);
  if (memory_.size() <= limit_) return;
  if (!file_) file_.reset(std::tmpfile());
  if (!file_ || fseeko(file_.get(), static_cast<off_t>(in_file_), SEEK_SET) != 0 ||
      std::fwrite(memory_.data(), 1, memory_.size(), file_.get()) != memory_.size() || std::fflush(file_.get()) != 0)
    FailTo("write");
  in_file_ += memory_.size();
  memory_.clear();
}

void Spool::Read(uint64_t from, uint64_t to, size_t part,
                 const std::function<void(std::string_view bytes, bool last)>& take) {
  if (from == to) return take({}, true);
  const uint64_t to_in_file = std::min(to, in_file_);
  if (from < to_in_file && fseeko(file_.get(), static_cast<off_t>(from), SEEK_SET) != 0) FailTo("read");
  for (std::string block; from < to_in_file; from += block.size()) {
    block.resize(static_cast<size_t>(std::min<uint64_t>(part, to_in_file - from)));
    if (std::fread(block.data(), 1, block.size(), file_.get()) != block.size()) FailTo("read");
    take(block, from + block.size() == to);
  }
  const std::string_view memory = memory_;
  for (; from < to; from += std::min<uint64_t>(part, to - from))
    take(memory.substr(from - in_file_, std::min<uint64_t>(part, to - from)), from + part >= to);
}

void Spool::Clear() {
  file_.reset();
  in_file_ = 0;
  memory_.clear();
}

}  // namespace stag::scale
