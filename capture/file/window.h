// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window: a bounded, contiguous view that slides over a ByteSource. The file readers look at a record with Peek and
// move on with Consume. Nothing is copied but the rest of a record that spans two reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/file/byte_source.h"
#include "protocol/base/frame.h"
#include "protocol/base/lasting.h"

namespace stag::capture {

class Window {
 public:
  // The most that Peek gives. Covers the largest record that the readers accept.
  static constexpr size_t kMaxPeek = (1u << 20) + 4096;

  explicit Window(std::unique_ptr<ByteSource> source);
  ~Window();
  Window(Window&&) noexcept;
  Window& operator=(Window&&) noexcept;

  // A view of the next `n` bytes (at most kMaxPeek), without consuming them; fewer at the end of the source or when it
  // failed. Valid until the next Peek or PeekSome.
  Bytes Peek(size_t n) { return n <= memory_.size - begin_ ? Bytes(bytes_ + begin_, n) : PeekSlow(n); }
  // What Peek gives without looking for more.
  Bytes AtHand() const { return {bytes_ + begin_, memory_.size - begin_}; }
  // Whatever is at hand, at least one byte unless the source is at its end.
  Bytes PeekSome();
  // What Peek gave a view of last. While it has another owner the window goes on in other memory.
  const FrameMemory& memory() const { return memory_; }
  // Whether more than what is at hand would have to be waited for.
  bool Waits(std::chrono::milliseconds patience) const { return source_->Waits(patience); }
  // The source, where it can be read again; else null.
  const Lasting* lasting() const;
  // Moves on by `n` bytes, at most as many as the last Peek gave.
  void Consume(size_t n) {
    begin_ += n;
    offset_ += n;
    // The next record's headers: by the time that somebody looks at them they are there.
    for (size_t ahead = 0; ahead < 192; ahead += 64) __builtin_prefetch(bytes_ + begin_ + ahead);
  }
  // Moves on by `n` bytes however many they are, in constant memory. False when the source ended before.
  bool Skip(uint64_t n);

  // Bytes consumed so far; and bytes known to be there, consumed or not: at the end of the source, its length.
  uint64_t offset() const { return offset_; }
  uint64_t known_end() const { return offset_ + (memory_.size - begin_); }
  // Of the source: see ByteSource. The position runs ahead of offset() by what is buffered.
  const std::string& error() const;
  uint64_t position() const { return source_->position(); }
  uint64_t size() const { return source_->size(); }

 private:
  Bytes PeekSlow(size_t n);
  struct Buffer {
    size_t size = 0;
    std::shared_ptr<std::byte[]> bytes;
  };
  const Buffer& TakeBuffer(size_t size);

  class SourceAgain;

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<SourceAgain> lasting_;
  std::vector<Buffer> buffers_;       // few, unless others own some, too
  FrameMemory memory_;                // one of them
  const std::byte* bytes_ = nullptr;  // of memory_
  size_t begin_ = 0;                  // from here on it is not consumed
  uint64_t offset_ = 0;
};

// `input` itself, or a window over what a decompressor makes of it when it begins with the magic number of gzip (RFC
// 1952) or zstd (RFC 8878). Several members or frames in a row are read as one, as gzip and zstd do. Fails without
// memory.
Result<Window> Decompress(Window input);

}  // namespace stag::capture
