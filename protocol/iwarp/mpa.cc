// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/iwarp/mpa.h"

#include <algorithm>
#include <string_view>

#include "protocol/base/check.h"
#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::iwarp {
namespace {

constexpr std::string_view kRequestKey = "MPA ID Req Frame";
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";
constexpr uint8_t kFlagMarkers = 0x80, kFlagCrc = 0x40, kFlagReject = 0x20, kFlagEnhanced = 0x10;
constexpr uint16_t kIrdOrdMask = 0x3fff, kHighFlag = 0x8000, kLowFlag = 0x4000;

bool Agrees(Bytes bytes, std::string_view key) {
  const size_t n = std::min(bytes.size(), key.size());
  return n == 0 || std::memcmp(bytes.data(), key.data(), n) == 0;
}

bool IsEnhanced(uint8_t flags, uint8_t revision) { return revision >= 2 && (flags & kFlagEnhanced); }

bool HeaderIsValid(uint8_t flags, uint8_t revision, uint16_t pd_length) {
  return revision != 0 && pd_length <= kMaxPrivateData &&
         (!IsEnhanced(flags, revision) || pd_length >= kEnhancedPrefixSize);
}

}  // namespace

MpaKey RecogniseMpaKey(Bytes bytes) {
  const bool request = Agrees(bytes, kRequestKey), reply = Agrees(bytes, kReplyKey);
  if (!request && !reply) return MpaKey::kNone;
  if (bytes.size() < kMpaKeySize) return MpaKey::kPartial;
  return request ? MpaKey::kRequest : MpaKey::kReply;
}

size_t MpaFrameSize(Bytes bytes) {
  const MpaKey key = RecogniseMpaKey(bytes);
  if (bytes.size() < kMpaHeaderSize || (key != MpaKey::kRequest && key != MpaKey::kReply)) return 0;
  const uint8_t flags = std::to_integer<uint8_t>(bytes[16]), revision = std::to_integer<uint8_t>(bytes[17]);
  const uint16_t pd_length = LoadBe16(bytes.data() + 18);
  return HeaderIsValid(flags, revision, pd_length) ? kMpaHeaderSize + pd_length : 0;
}

ParseStatus DecodeMpaFrame(Bytes captured, uint64_t wire_length, MpaFrame& out) {
  out = MpaFrame{};
  const MpaKey key = RecogniseMpaKey(captured);
  if (key == MpaKey::kNone) return ParseStatus::kMalformed;
  out.kind = key == MpaKey::kReply ? MpaFrame::Kind::kReply : MpaFrame::Kind::kRequest;

  Cursor cursor(captured, wire_length);
  cursor.Skip(kMpaKeySize);
  const uint8_t flags = cursor.U8();
  out.revision = cursor.U8();
  const uint16_t pd_length = cursor.U16();
  if (!cursor.ok()) return cursor.status();
  out.markers = flags & kFlagMarkers;
  out.crc = flags & kFlagCrc;
  out.reject = flags & kFlagReject;
  out.reserved = flags & 0x1f;
  if (!HeaderIsValid(flags, out.revision, pd_length)) return ParseStatus::kMalformed;

  out.private_length = pd_length;
  if (IsEnhanced(flags, out.revision)) {
    out.reserved &= 0x0f;
    out.private_length = static_cast<uint16_t>(pd_length - kEnhancedPrefixSize);
    const uint16_t ird = cursor.U16(), ord = cursor.U16();
    if (!cursor.ok()) return cursor.status();
    out.enhanced = EnhancedSetup{.ird = static_cast<uint16_t>(ird & kIrdOrdMask),
                                 .ord = static_cast<uint16_t>(ord & kIrdOrdMask),
                                 .peer_to_peer = (ird & kHighFlag) != 0,
                                 .rtr_empty_fpdu = (ird & kLowFlag) != 0,
                                 .rtr_write = (ord & kHighFlag) != 0,
                                 .rtr_read = (ord & kLowFlag) != 0};
  }
  const Bytes rest = cursor.Rest();
  out.private_data = rest.first(std::min<size_t>(rest.size(), out.private_length));
  cursor.Skip(out.private_length);
  return cursor.status();
}

void EncodeMpaFrame(const MpaFrame& frame, std::vector<std::byte>& out) {
  const size_t prefix = frame.enhanced ? kEnhancedPrefixSize : 0;
  STAG_CHECK(frame.private_data.size() + prefix <= kMaxPrivateData);
  Writer writer(out);
  const std::string_view key = frame.kind == MpaFrame::Kind::kRequest ? kRequestKey : kReplyKey;
  writer.Put(std::as_bytes(std::span(key.data(), key.size())));
  writer.U8(static_cast<uint8_t>((frame.markers ? kFlagMarkers : 0) | (frame.crc ? kFlagCrc : 0) |
                                 (frame.reject ? kFlagReject : 0) | (frame.enhanced ? kFlagEnhanced : 0) |
                                 (frame.reserved & 0x1f)));
  writer.U8(frame.revision);
  writer.U16(static_cast<uint16_t>(frame.private_data.size() + prefix));
  if (frame.enhanced) {
    const EnhancedSetup& e = *frame.enhanced;
    writer.U16(static_cast<uint16_t>((e.ird & kIrdOrdMask) | (e.peer_to_peer ? kHighFlag : 0) |
                                     (e.rtr_empty_fpdu ? kLowFlag : 0)));
    writer.U16(
        static_cast<uint16_t>((e.ord & kIrdOrdMask) | (e.rtr_write ? kHighFlag : 0) | (e.rtr_read ? kLowFlag : 0)));
  }
  writer.Put(frame.private_data);
}

}  // namespace stag::iwarp
