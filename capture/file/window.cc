// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/window.h"

#include <algorithm>

#include "protocol/base/check.h"

namespace stag::capture {
namespace {

// One read. Small enough for the second-level cache, where the records are still found when they are looked at; larger
// reads are slower.
constexpr size_t kReadSize = 256u << 10;
constexpr size_t kCapacity = Window::kMaxPeek + kReadSize;

}  // namespace

Window::Window(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(std::make_unique_for_overwrite<std::byte[]>(kCapacity)) {}

Bytes Window::PeekSlow(size_t n) {
  STAG_CHECK(n <= kMaxPeek);
  n = std::min(n, kMaxPeek);
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < n) {
    const size_t got = source_->Read({buffer_.get() + end_, std::min(kReadSize, kCapacity - end_)});
    if (got == 0) break;
    end_ += got;
  }
  return {buffer_.get(), std::min(n, end_)};
}

Bytes Window::PeekSome() {
  if (begin_ == end_) return Peek(1).empty() ? Bytes{} : Bytes(buffer_.get() + begin_, end_ - begin_);
  return {buffer_.get() + begin_, end_ - begin_};
}

bool Window::Skip(uint64_t n) {
  while (n > 0) {
    const size_t some = static_cast<size_t>(std::min<uint64_t>(n, PeekSome().size()));
    if (some == 0) return false;
    Consume(some);
    n -= some;
  }
  return true;
}

}  // namespace stag::capture
