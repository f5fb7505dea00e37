// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window: a bounded, contiguous view that slides over a ByteSource. The file readers look at a record with Peek and
// move on with Consume; nothing is copied but the rest of a record that spans two reads.
#pragma once

#include <memory>
#include <string>

#include "capture/file/byte_source.h"

namespace stag::capture {

class Window {
 public:
  // The most that Peek gives. Covers the largest record that the readers accept.
  static constexpr size_t kMaxPeek = (1u << 20) + 4096;

  explicit Window(std::unique_ptr<ByteSource> source);

  // A view of the next `n` bytes (at most kMaxPeek), without consuming them; fewer at the end of the source or when it
  // failed. Valid until the next Peek or PeekSome.
  Bytes Peek(size_t n) { return n <= end_ - begin_ ? Bytes(buffer_.get() + begin_, n) : PeekSlow(n); }
  // Whatever is at hand, at least one byte unless the source is at its end.
  Bytes PeekSome();
  // Moves on by `n` bytes, at most as many as the last Peek gave.
  void Consume(size_t n) {
    begin_ += n;
    offset_ += n;
  }
  // Moves on by `n` bytes however many they are, in constant memory. False when the source ended before.
  bool Skip(uint64_t n);

  // Bytes consumed so far; and bytes known to be there, consumed or not: at the end of the source, its length.
  uint64_t offset() const { return offset_; }
  uint64_t known_end() const { return offset_ + (end_ - begin_); }
  // Of the source: see ByteSource. The position runs ahead of offset() by what is buffered.
  const std::string& error() const { return source_->error(); }
  uint64_t position() const { return source_->position(); }
  uint64_t size() const { return source_->size(); }

 private:
  Bytes PeekSlow(size_t n);

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0, end_ = 0;  // the unconsumed part of the buffer
  uint64_t offset_ = 0;
};

// `input` itself, or a window over what a decompressor makes of it when it begins with the magic number of gzip (RFC
// 1952) or zstd (RFC 8878). Several members or frames in a row are read as one, as gzip and zstd do. Fails without
// memory.
Result<Window> Decompress(Window input);

}  // namespace stag::capture
