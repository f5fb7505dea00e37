// SPDX-License-Identifier: GPL-2.0-or-later
//
// FpduSender: DDP segments to the bytes of a TCP stream. FPDUs are gathered into a batch, headers and trailers in one
// small store, payloads where they are; a system call hands over as much of the batch as TCP takes. With markers an
// FPDU is copied instead.
#pragma once

#include <array>
#include <vector>

#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"
#include "replay/endpoint/soft_iwarp_stream.h"

namespace stag::endpoint {

class FpduSender {
 public:
  // `fpdu_limit`: bytes of the largest FPDU.
  FpduSender(bool crc, bool markers, uint64_t fpdu_limit);

  // Bytes of payload that a segment has room for.
  uint32_t max_payload(const iwarp::DdpHeader& header) const { return max_ulpdu_ - header.size(); }
  // Whether another FPDU, with at most kMaxPieces pieces of payload, can be added.
  bool HasRoom() const;
  static constexpr size_t kMaxPieces = 16;

  // The payload must stay until sent() has reached the end of this FPDU, which is queued().
  void Add(const iwarp::DdpHeader& header, std::span<const Bytes> payload);
  void AddEmpty();

  bool empty() const { return sent_ == queued_; }
  // Positions in the stream: what was added, and what TCP has taken.
  uint64_t queued() const { return queued_; }
  uint64_t sent() const { return sent_; }

  // One system call; kAgain when there was nothing to send or no room. `short_write`: TCP did not take all.
  Transfer Send(ByteStream& stream, bool& short_write);

  // Nothing of `memory` is needed any more: what is to be sent of it is copied.
  void Detach(Bytes memory);
  // Drops what was added, but for the rest of an FPDU of which a part was sent; that is copied.
  void Cut();
  void Clear();

 private:
  static constexpr size_t kMaxFpdus = 256;
  static constexpr size_t kMaxIov = 1024;  // IOV_MAX
  static constexpr uint64_t kMaxBytes = 1u << 20;
  static constexpr size_t kCopied = 64;  // payloads up to this size go into the store
  static constexpr size_t kPerFpdu =
      iwarp::kUlpduLengthSize + iwarp::kUntaggedHeaderSize + kCopied + 3 + iwarp::kCrcSize;

  void Put(Bytes piece);
  std::byte* Store(size_t n);
  void Finish(uint32_t size);
  void CopyRest(uint64_t size);

  const bool crc_, markers_;
  uint32_t max_ulpdu_;
  uint64_t queued_ = 0, sent_ = 0;
  uint64_t batch_begin_ = 0;  // position of the first FPDU of ends_
  std::array<iovec, kMaxIov> iov_;
  size_t iov_begin_ = 0, iov_end_ = 0;
  std::array<uint64_t, kMaxFpdus> ends_;  // positions
  size_t fpdus_ = 0;
  std::array<std::byte, kMaxFpdus * kPerFpdu> store_;
  size_t stored_ = 0;
  std::vector<std::byte> copy_, ulpdu_;
};

}  // namespace stag::endpoint
