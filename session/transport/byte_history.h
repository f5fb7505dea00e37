// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteHistory: the last bytes of a stream as they were captured first, to tell whether a retransmission changes them.
#pragma once

#include <memory>

#include "protocol/base/bytes.h"
#include "session/transport/shared.h"

namespace stag::transport {

class ByteHistory {
 public:
  static constexpr uint64_t kBytes = uint64_t{1} << 20;  // how many are remembered

  explicit ByteHistory(Shared& shared) : shared_(shared), known_(shared.holes) {}
  ~ByteHistory() { Close(); }

  // `bytes` of the stream, from position `begin` on. True: some of them were captured before, and were others. With too
  // little memory left nothing is remembered.
  bool Add(uint64_t begin, Bytes bytes);
  // Nothing is remembered from now on: the memory is another's.
  void Close();

 private:
  void Write(uint64_t begin, Bytes bytes);
  bool Differs(uint64_t begin, Bytes bytes) const;

  Shared& shared_;
  SeenRanges known_;
  bool closed_ = false;
  std::unique_ptr<std::byte[]> ring_;  // byte `n` of the stream at n % kBytes
};

}  // namespace stag::transport
