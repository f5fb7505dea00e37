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
// Of most pieces of a mapped file.
constexpr size_t kPieceSize = 1u << 20;

}  // namespace

Window::Window(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), mapped_(source_->Map()), in_map_(mapped_ != nullptr) {}

// One of at least `size` bytes that nobody else owns.
const Window::Buffer& Window::TakeBuffer(size_t size) {
  const auto will_do = [&](const Buffer& buffer) { return buffer.size >= size && buffer.bytes.use_count() == 1; };
  const auto free = std::ranges::find_if(buffers_, will_do);
  if (free != buffers_.end()) return *free;
  return buffers_.emplace_back(Buffer{size, std::make_shared_for_overwrite<std::byte[]>(size)});
}

// Makes what comes next, at least `n` bytes unless the file ends, the current piece.
void Window::MapOn(size_t n) {
  const uint64_t begin = offset_ / MappedFile::kPage * MappedFile::kPage, left = mapped_->size() - begin;
  begin_ = static_cast<size_t>(offset_ - begin);
  memory_ = mapped_->Piece(begin, static_cast<size_t>(std::min<uint64_t>(left, std::max(kPieceSize, begin_ + n))));
  bytes_ = memory_.owner.get();
}

Bytes Window::PeekSlow(size_t n) {
  STAG_CHECK(n <= kMaxPeek);
  n = std::min(n, kMaxPeek);
  if (in_map_) {
    if (offset_ < mapped_->size()) MapOn(n);
    if (n <= memory_.size - begin_) return {bytes_ + begin_, n};
    in_map_ = false;  // what follows was not there when the file was opened
  }
  const size_t rest = memory_.size - begin_;
  memory_.owner.reset();
  const Buffer& buffer = TakeBuffer(n <= kReadSize ? kBufferSize : kMaxPeek + kReadSize);
  if (rest > 0) std::memmove(buffer.bytes.get(), bytes_ + begin_, rest);
  memory_ = {buffer.bytes, rest};
  bytes_ = buffer.bytes.get();
  begin_ = 0;
  while (memory_.size < n) {
    const size_t room = std::min(kReadSize, buffer.size - memory_.size);
    const size_t got = source_->Read({buffer.bytes.get() + memory_.size, room});
    if (got == 0) break;
    memory_.size += got;
  }
  return {bytes_, std::min(n, memory_.size)};
}

const std::string& Window::error() const {
  static const std::string kShrunk = "the file became shorter while it was read, or its disk failed";
  return mapped_ && mapped_->shrunk() ? kShrunk : source_->error();
}

Bytes Window::PeekSome() {
  if (begin_ == memory_.size && Peek(1).empty()) return {};
  return {bytes_ + begin_, memory_.size - begin_};
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
