// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_receive.h"

#include <algorithm>
#include <array>

namespace stag::endpoint {
namespace {

constexpr size_t kOnce = 160u << 10;  // received at a time: 32 messages of 4 KiB, with their headers
constexpr size_t kStaging = kOnce + iwarp::kMaxFpduSize;
// Of a payload of which so much is missing the kernel brings the rest where it belongs, and of what follows the next
// header only, so that the next payload can go its way, too. After a long segment the next ones are expected to be
// long.
constexpr uint32_t kLong = 16u << 10, kExpectedLong = 16;
constexpr size_t kLongHead = iwarp::kUlpduLengthSize + iwarp::kUntaggedHeaderSize;
constexpr int kSegmentsOnce = 16;

constexpr uint8_t kCrcError = 0x02, kLengthError = 0x03;  // RFC 5044 section 8

uint32_t TrailerSize(uint32_t ulpdu_length) { return iwarp::kCrcSize + (4 - (ulpdu_length + 2) % 4) % 4; }

}  // namespace

FpduReceiver::FpduReceiver(bool crc, bool markers) : crc_(crc), markers_(markers), staging_(kStaging) {}

Transfer FpduReceiver::Receive(ByteStream& stream, Handler& handler) {
  Transfer all = ReceiveOnce(stream, handler);
  // A long segment's header came alone: its payload is likely there, too.
  for (int i = 0;
       i < kSegmentsOnce && all.io == Transfer::Io::kDone && !drained_ && left_ > 0 && expect_long_ > 0 && !refused_;
       ++i) {
    const Transfer more = ReceiveOnce(stream, handler);
    if (more.io == Transfer::Io::kAgain) break;
    if (more.io != Transfer::Io::kDone) return more;
    all.bytes += more.bytes;
  }
  return all;
}

// How much is received into staging_ behind what is missing of a payload.
size_t FpduReceiver::Wanted() const {
  if (crc_ || markers_ || expect_long_ == 0) return kOnce;
  const size_t wanted = (in_segment_ ? trailer_ : 0) + kLongHead;
  return wanted > staged() ? wanted - staged() : kOnce;
}

Transfer FpduReceiver::ReceiveOnce(ByteStream& stream, Handler& handler) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (staging_.size() - end_ < kOnce) {
    std::memmove(staging_.data(), staging_.data() + begin_, staged());
    end_ = staged();
    begin_ = 0;
  }
  std::array<iovec, 2> into;
  size_t n = 0, asked = 0;
  if (left_ > 0) {  // nothing is staged then
    into[n++] = {to_ + (segment_.payload_length - left_), left_};
    asked = left_;
  }
  into[n] = {staging_.data() + end_, Wanted()};
  asked += into[n++].iov_len;
  Transfer transfer = stream.Receive(std::span(into).first(n));
  drained_ = transfer.bytes < asked;
  if (transfer.io != Transfer::Io::kDone) return transfer;
  const auto placed = static_cast<uint32_t>(std::min<size_t>(transfer.bytes, left_));
  left_ -= placed;
  end_ += transfer.bytes - placed;
  refused_ = !Parse(handler);
  return transfer;
}

bool FpduReceiver::Parse(Handler& handler) {
  for (bool found = true; found;) {
    if (!in_segment_) {
      if (!(crc_ || markers_ ? ParseWhole(handler, found) : ParseHead(handler, found))) return false;
      continue;
    }
    const size_t n = std::min<size_t>(left_, staged());
    if (n > 0) std::memcpy(to_ + (segment_.payload_length - left_), staging_.data() + begin_, n);
    begin_ += n;
    left_ -= static_cast<uint32_t>(n);
    if (left_ > 0 || staged() < trailer_) return true;
    begin_ += trailer_;
    in_segment_ = false;
    if (!handler.OnPlaced(segment_.header, Bytes(to_, segment_.payload_length))) return false;
  }
  return true;
}

bool FpduReceiver::ParseHead(Handler& handler, bool& found) {
  const Bytes bytes = Bytes(staging_).subspan(begin_, staged());
  found = false;
  if (bytes.size() < iwarp::kUlpduLengthSize) return true;
  const uint16_t length = LoadBe16(bytes.data());
  const Bytes ulpdu = bytes.subspan(iwarp::kUlpduLengthSize);
  if (length == 0) {
    if (ulpdu.size() < TrailerSize(0)) return true;
    begin_ += iwarp::kUlpduLengthSize + TrailerSize(0);
    found = true;
    return handler.OnEmptyFpdu();
  }
  const ParseStatus status =
      iwarp::DecodeDdpSegment(ulpdu.first(std::min<size_t>(ulpdu.size(), length)), length, segment_);
  if (status == ParseStatus::kTruncatedByCapture) return true;  // more is to come
  if (status == ParseStatus::kMalformed) {
    handler.OnBadFpdu(kLengthError);
    return false;
  }
  begin_ += iwarp::kUlpduLengthSize + segment_.header.size();
  if (!handler.OnSegment(segment_.header, segment_.payload_length, to_)) return false;
  found = in_segment_ = true;
  left_ = segment_.payload_length;
  expect_long_ = left_ >= kLong ? kExpectedLong : expect_long_ - std::min(expect_long_, 1u);
  trailer_ = TrailerSize(length);
  return true;
}

bool FpduReceiver::ParseWhole(Handler& handler, bool& found) {
  const Bytes bytes = Bytes(staging_).subspan(begin_, staged());
  iwarp::Fpdu fpdu;
  found = iwarp::DecodeFpdu(bytes, bytes.size(), position_, markers_, scratch_, fpdu) == ParseStatus::kOk;
  if (!found) return true;
  const Bytes whole = bytes.first(fpdu.size);
  if (crc_ && fpdu.crc_field != iwarp::ComputeFpduCrc(whole)) {
    handler.OnBadFpdu(kCrcError);
    return false;
  }
  if (markers_ && !MarkersPointBack(whole)) {
    handler.OnBadFpdu(kLengthError);
    return false;
  }
  begin_ += fpdu.size;
  position_ += fpdu.size;
  if (fpdu.ulpdu_length == 0) return handler.OnEmptyFpdu();
  if (iwarp::DecodeDdpSegment(fpdu.ulpdu, fpdu.ulpdu_length, segment_) == ParseStatus::kMalformed) {
    handler.OnBadFpdu(kLengthError);
    return false;
  }
  if (!handler.OnSegment(segment_.header, segment_.payload_length, to_)) return false;
  if (segment_.payload_length > 0) std::memcpy(to_, segment_.payload.data(), segment_.payload_length);
  return handler.OnPlaced(segment_.header, Bytes(to_, segment_.payload_length));
}

// RFC 5044 section 4.3: each marker says how far behind it the FPDU began.
bool FpduReceiver::MarkersPointBack(Bytes fpdu) const {
  const uint64_t behind = position_ % iwarp::kMarkerInterval;
  size_t at = behind == 0 ? 0 : static_cast<size_t>(iwarp::kMarkerInterval - behind);
  const size_t start = iwarp::FpduPrefix(position_, true);
  for (; at + iwarp::kMarkerSize <= fpdu.size(); at += iwarp::kMarkerInterval)
    if (LoadBe16(fpdu.data() + at + 2) != static_cast<uint16_t>(at < start ? 0 : at - start)) return false;
  return true;
}

}  // namespace stag::endpoint
