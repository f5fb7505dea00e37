// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/window.h"

#include <algorithm>
#include <cstring>

#include "protocol/base/check.h"

namespace stag::capture {
namespace {

// One read. Small enough for the second-level cache, where the records are still found when they are looked at; larger
// reads are slower.
constexpr size_t kReadSize = 256u << 10;
// Of most buffers. Longer records take longer ones.
constexpr size_t kBufferSize = 2 * kReadSize;

}  // namespace

Window::Window(std::unique_ptr<ByteSource> source) : source_(std::move(source)) { TakeBuffer(kBufferSize); }

// One of at least `size` bytes that nobody else owns becomes the current one.
void Window::TakeBuffer(size_t size) {
  const auto will_do = [&](const Buffer& buffer) { return buffer.size >= size && buffer.bytes.use_count() == 1; };
  memory_.owner.reset();
  buffer_ = static_cast<size_t>(std::ranges::find_if(buffers_, will_do) - buffers_.begin());
  if (buffer_ == buffers_.size()) buffers_.push_back({size, std::make_shared_for_overwrite<std::byte[]>(size)});
  memory_.owner = buffers_[buffer_].bytes;
}

Bytes Window::PeekSlow(size_t n) {
  STAG_CHECK(n <= kMaxPeek);
  n = std::min(n, kMaxPeek);
  const std::byte* rest = at(begin_);
  TakeBuffer(n <= kReadSize ? kBufferSize : kMaxPeek + kReadSize);
  std::memmove(at(0), rest, memory_.size - begin_);
  memory_.size -= begin_;
  begin_ = 0;
  while (memory_.size < n) {
    const size_t room = buffers_[buffer_].size - memory_.size;
    const size_t got = source_->Read({at(memory_.size), std::min(kReadSize, room)});
    if (got == 0) break;
    memory_.size += got;
  }
  return {at(0), std::min(n, memory_.size)};
}

Bytes Window::PeekSome() {
  if (begin_ == memory_.size && Peek(1).empty()) return {};
  return {at(begin_), memory_.size - begin_};
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
