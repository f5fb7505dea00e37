// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteHistory: the last bytes of a stream as they were captured first, to tell whether a retransmission changes them.
// Where segments can be read again (Shared::lasting) their places are remembered, else their bytes.
#pragma once

#include <memory>
#include <vector>

#include "protocol/base/bytes.h"
#include "session/transport/seen_ranges.h"
#include "session/transport/shared.h"

namespace stag::transport {

class ByteHistory {
 public:
  static constexpr uint64_t kBytes = uint64_t{1} << 20;  // how many are remembered

  explicit ByteHistory(Shared& shared) : shared_(shared), charge_(shared.budget), known_(shared.budget) {}

  // `bytes` of the stream, from position `begin` on. True: some of them were captured before, and were others. With too
  // little memory left nothing is remembered.
  bool Add(uint64_t begin, Bytes bytes);
  // Nothing is remembered from now on: the memory is given back.
  void Close();

 private:
  struct Piece {
    uint64_t end() const { return begin + size; }
    uint64_t begin = 0;
    uint64_t place = 0;  // in the file
    size_t size = 0;
  };
  static constexpr size_t kMostPieces = size_t{1} << 14;

  void Write(uint64_t begin, Bytes bytes);
  bool Differs(uint64_t begin, Bytes bytes) const;
  void WriteInRing(uint64_t begin, Bytes bytes);
  void AddPiece(const Piece& piece);
  bool DiffersFromPieces(uint64_t begin, Bytes bytes) const;
  bool Take(uint64_t bytes);
  bool MakeRoomForPiece();
  bool UseRing();

  Shared& shared_;
  Charge charge_;  // of pieces_ and ring_
  SeenRanges known_;
  bool closed_ = false;
  // All that is remembered is in one of them.
  std::vector<Piece> pieces_;          // in order of `begin`, none overlaps another
  std::unique_ptr<std::byte[]> ring_;  // null: it is in `pieces_`. Else byte `n` of the stream is at n % kBytes
};

}  // namespace stag::transport
