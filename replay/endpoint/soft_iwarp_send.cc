// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_send.h"

#include <algorithm>

#include "protocol/base/crc.h"
#include "replay/endpoint/guard.h"

namespace stag::endpoint {
namespace {

constexpr uint64_t kFraming = iwarp::kUlpduLengthSize + iwarp::kCrcSize;

// Markers count back to the start of their FPDU in 16 bits: so long it may be, without markers, that it has no more
// with them.
constexpr uint64_t kMaxWithMarkers = 65536 / iwarp::kMarkerInterval * (iwarp::kMarkerInterval - iwarp::kMarkerSize) - 4;

const std::byte* Begin(const iovec& v) { return static_cast<const std::byte*>(v.iov_base); }

}  // namespace

FpduSender::FpduSender(bool crc, bool markers, uint64_t fpdu_limit) : crc_(crc), markers_(markers) {
  // Lengths that need no padding and keep payloads in step with four bytes; room for a payload in any case.
  const uint64_t largest = markers ? kMaxWithMarkers : 0xffff + kFraming;
  const uint64_t ulpdu = std::clamp<uint64_t>(fpdu_limit, 128, largest) - kFraming;
  max_ulpdu_ = static_cast<uint32_t>((ulpdu - 2) / 4 * 4 + 2);
  if (markers_) copy_.reserve(kMaxBytes + 2 * iwarp::kMaxFpduSize);
}

bool FpduSender::HasRoom() const {
  return fpdus_ < kMaxFpdus - 1 && iov_end_ + kMaxPieces + 4 <= kMaxIov && queued_ - sent_ < kMaxBytes &&
         (!markers_ || copy_.size() < kMaxBytes);
}

// Bytes in the store; they go out behind what was put last.
std::byte* FpduSender::Store(size_t n) {
  std::byte* at = store_.data() + stored_;
  STAG_GUARD(stored_ + n <= store_.size());
  stored_ += n;
  if (iov_end_ > iov_begin_ && Begin(iov_[iov_end_ - 1]) + iov_[iov_end_ - 1].iov_len == at) {
    iov_[iov_end_ - 1].iov_len += n;
  } else {
    iov_[iov_end_++] = {at, n};
  }
  return at;
}

void FpduSender::Put(Bytes piece) {
  if (!piece.empty()) iov_[iov_end_++] = {const_cast<std::byte*>(piece.data()), piece.size()};
}

void FpduSender::Finish(uint32_t size) {
  queued_ += size;
  ends_[fpdus_++] = queued_;
}

void FpduSender::Add(const iwarp::DdpHeader& header, std::span<const Bytes> payload) {
  STAG_GUARD(payload.size() <= kMaxPieces);
  uint32_t length = header.size();
  for (const Bytes piece : payload) length += static_cast<uint32_t>(piece.size());
  STAG_GUARD(length <= max_ulpdu_);
  if (markers_) {
    ulpdu_.resize(header.size());
    iwarp::StoreDdpHeader(header, ulpdu_.data());
    for (const Bytes piece : payload) ulpdu_.insert(ulpdu_.end(), piece.begin(), piece.end());
    Finish(iwarp::EncodeFpdu(ulpdu_, queued_, true, crc_, copy_));
    return;
  }
  const size_t head = iwarp::kUlpduLengthSize + header.size();
  std::byte* at = Store(head);
  StoreBe16(at, static_cast<uint16_t>(length));
  iwarp::StoreDdpHeader(header, at + iwarp::kUlpduLengthSize);
  uint32_t crc = crc_ ? Crc32c(0, Bytes(at, head)) : 0;
  const bool copied = length - header.size() <= kCopied;
  for (const Bytes piece : payload) {
    if (crc_) crc = Crc32c(crc, piece);
    if (!copied) {
      Put(piece);
    } else if (!piece.empty()) {
      std::memcpy(Store(piece.size()), piece.data(), piece.size());
    }
  }
  const uint32_t padding = (4 - (iwarp::kUlpduLengthSize + length) % 4) % 4;
  std::byte* trailer = Store(padding + iwarp::kCrcSize);
  std::memset(trailer, 0, padding + iwarp::kCrcSize);
  if (crc_) StoreLe32(trailer + padding, Crc32c(crc, Bytes(trailer, padding)));
  Finish(static_cast<uint32_t>(head) - header.size() + length + padding + iwarp::kCrcSize);
}

void FpduSender::AddEmpty() {
  if (markers_) {
    Finish(iwarp::EncodeFpdu({}, queued_, true, crc_, copy_));
    return;
  }
  std::byte* at = Store(8);  // length 0, two bytes of padding, CRC
  std::memset(at, 0, 8);
  if (crc_) StoreLe32(at + 4, Crc32c(0, Bytes(at, 4)));
  Finish(8);
}

Transfer FpduSender::Send(ByteStream& stream, bool& short_write) {
  short_write = false;
  if (empty()) return {};
  iovec all{copy_.data(), copy_.size()};
  std::span<const iovec> pieces(iov_.data() + iov_begin_, iov_end_ - iov_begin_);
  if (markers_) {  // copy_ ends where the queue does
    const auto left = static_cast<size_t>(queued_ - sent_);
    all = {copy_.data() + (copy_.size() - left), left};
    pieces = std::span(&all, 1);
  }
  const Transfer transfer = stream.Send(pieces);
  if (transfer.io != Transfer::Io::kDone) {
    short_write = transfer.io == Transfer::Io::kAgain;
    return transfer;
  }
  sent_ += transfer.bytes;
  if (empty()) {
    Clear();
    return transfer;
  }
  short_write = true;
  if (markers_) return transfer;
  for (size_t n = transfer.bytes; n > 0;) {
    iovec& v = iov_[iov_begin_];
    const size_t part = std::min(n, v.iov_len);
    v.iov_base = static_cast<std::byte*>(v.iov_base) + part;
    v.iov_len -= part;
    n -= part;
    if (v.iov_len == 0) ++iov_begin_;
  }
  return transfer;
}

// The first `size` bytes that are to be sent, in storage of our own, and nothing behind them.
void FpduSender::CopyRest(uint64_t size) {
  std::vector<std::byte> copy;
  copy.reserve(static_cast<size_t>(size));
  for (size_t i = iov_begin_; i < iov_end_ && copy.size() < size; ++i) {
    const size_t n = std::min(iov_[i].iov_len, static_cast<size_t>(size) - copy.size());
    copy.insert(copy.end(), Begin(iov_[i]), Begin(iov_[i]) + n);
  }
  copy_ = std::move(copy);
  iov_begin_ = iov_end_ = 0;
  Put(copy_);
}

void FpduSender::Detach(Bytes memory) {
  if (markers_) return;
  for (size_t i = iov_begin_; i < iov_end_; ++i) {
    const auto at = reinterpret_cast<uintptr_t>(iov_[i].iov_base);
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    if (at >= begin + memory.size() || begin >= at + iov_[i].iov_len) continue;
    CopyRest(queued_ - sent_);
    return;
  }
}

void FpduSender::Cut() {
  uint64_t begin = batch_begin_, end = sent_;
  for (size_t i = 0; i < fpdus_ && begin < sent_; ++i) {
    end = std::max(sent_, ends_[i]);
    begin = ends_[i];
  }
  if (markers_) {
    copy_.resize(copy_.size() - static_cast<size_t>(queued_ - end));
  } else {
    CopyRest(end - sent_);
  }
  queued_ = end;
  batch_begin_ = sent_;
  fpdus_ = stored_ = 0;
}

void FpduSender::Clear() {
  queued_ = batch_begin_ = sent_;
  copy_.clear();
  iov_begin_ = iov_end_ = fpdus_ = stored_ = 0;
}

}  // namespace stag::endpoint
