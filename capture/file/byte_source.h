// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteSource: where the bytes of a capture come from: a file, standard input, memory, or a decompressor on top of
// another source. Sequential; read in large pieces into memory of the caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "protocol/base/bytes.h"
#include "protocol/base/result.h"

namespace stag::capture {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills a part of `out` (not empty) and returns how many bytes; 0 at the end, or after a failure that error() tells.
  virtual size_t Read(MutableBytes out) = 0;
  // Whether what was read can be read again; and does so, from byte `at` on. Returns how many bytes of `out` it filled.
  virtual bool lasts() const { return false; }
  virtual size_t ReadAgain(uint64_t /*at*/, MutableBytes /*out*/) const { return 0; }
  // Whether Read would wait for who writes, still so after `patience`.
  virtual bool Waits(std::chrono::milliseconds /*patience*/) const { return false; }
  // For people; empty unless reading failed.
  virtual const std::string& error() const = 0;

  // Bytes taken so far from the file as it is on disk, and its size there (0 when unknown).
  virtual uint64_t position() const = 0;
  virtual uint64_t size() const = 0;
};

// A file, or standard input for "-". Fails with a message for people.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path);

// Bytes that stay the caller's and must outlive the source.
std::unique_ptr<ByteSource> MemorySource(Bytes bytes);

}  // namespace stag::capture
