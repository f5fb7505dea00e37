// SPDX-License-Identifier: GPL-2.0-or-later
//
// MappedFile: a regular file as memory, given out in pieces that bound how much of it is resident. What is not looked
// at is not copied.
//
// When a file shrinks, the pages behind its new end are gone, and an access to them raises SIGBUS. A program that wants
// files mapped installs a handler of SIGBUS (HandleBusErrors): pages that are gone become zeros, and shrunk() is true.
// A library does not do that by itself: in other programs files are read.
#pragma once

#include <cstdint>
#include <memory>

#include "protocol/base/frame.h"

namespace stag::capture {

struct MappedRange;  // what the handler knows of a file

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  // Installs the handler for the whole process, in which a SIGBUS elsewhere does what it did before. A program calls it
  // once, before it opens captures.
  static void HandleBusErrors();
  // `size`: of the file, not 0. Null when it cannot be mapped, or there is no handler: it is to be read then. The
  // descriptor stays the caller's, and open for as long as this.
  static std::shared_ptr<MappedFile> Make(int descriptor, uint64_t size);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The file from `begin`, a multiple of kPage, to `begin + size`, which is at most its size. May overlap others. Its
  // pages go when nobody owns it any more, or soon afterwards.
  FrameMemory Piece(uint64_t begin, size_t size);
  // All of it. Pages that went come back when they are looked at, and go again some time later.
  Bytes bytes() const { return {bytes_, static_cast<size_t>(size_)}; }
  // Bytes, when it was opened.
  uint64_t size() const { return size_; }
  // Whether it has become shorter, or could not be read somewhere: then some of what was seen may have been zeros.
  bool shrunk() const;

  static constexpr uint64_t kPage = 4096;

 private:
  MappedFile(int descriptor, std::byte* bytes, uint64_t size, MappedRange& range);
  void LetGo(uint64_t end);

  int descriptor_;
  std::byte* bytes_;
  uint64_t size_;
  MappedRange& range_;
  uint64_t kept_from_ = 0;  // what is before was let go
};

}  // namespace stag::capture
