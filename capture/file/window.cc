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

class Window::SourceAgain final : public Lasting {
 public:
  explicit SourceAgain(const ByteSource& source) : source_(source) {}
  using Lasting::Set;
  Bytes Again(uint64_t place, size_t size) const override {
    if (bytes_.size() < size) bytes_.resize(size);
    return Bytes(bytes_).first(source_.ReadAgain(place, MutableBytes(bytes_).first(size)));
  }

 private:
  const ByteSource& source_;
  mutable std::vector<std::byte> bytes_;
};

Window::Window(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), lasting_(source_->lasts() ? std::make_unique<SourceAgain>(*source_) : nullptr) {}
Window::~Window() = default;
Window::Window(Window&&) noexcept = default;
Window& Window::operator=(Window&&) noexcept = default;

// One of at least `size` bytes that nobody else owns.
const Window::Buffer& Window::TakeBuffer(size_t size) {
  const auto will_do = [&](const Buffer& buffer) { return buffer.size >= size && buffer.bytes.use_count() == 1; };
  const auto free = std::ranges::find_if(buffers_, will_do);
  if (free != buffers_.end()) return *free;
  return buffers_.emplace_back(Buffer{size, std::make_shared_for_overwrite<std::byte[]>(size)});
}

Bytes Window::PeekSlow(size_t n) {
  STAG_CHECK(n <= kMaxPeek);
  n = std::min(n, kMaxPeek);
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
  if (lasting_) lasting_->Set({bytes_, memory_.size}, offset_);
  return {bytes_, std::min(n, memory_.size)};
}

const Lasting* Window::lasting() const { return lasting_.get(); }

const std::string& Window::error() const { return source_->error(); }

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
