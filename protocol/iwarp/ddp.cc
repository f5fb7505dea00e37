// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/iwarp/ddp.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::iwarp {
namespace {

constexpr uint8_t kTagged = 0x80, kLast = 0x40;
constexpr uint32_t kSegmentLengthValid = 0x8000, kDdpIncluded = 0x4000, kRdmapIncluded = 0x2000;
constexpr uint32_t kSiwSegmentLengthValid = 0x100, kSiwDdpIncluded = 0x200, kSiwRdmapIncluded = 0x400;

// Of the first word of a Terminate. Without M, D and R say nothing.
uint16_t ReservedOf(uint32_t control) {
  return static_cast<uint16_t>(control & (control & kSegmentLengthValid ? 0x1fffu : 0x7fffu));
}

// Leaves the cursor failed, and `h` as far as its first two bytes were there, when the header is not whole.
void ReadHeader(Cursor& cursor, DdpHeader& h) {
  const Bytes control = cursor.Take(2);
  if (control.empty()) return;
  const auto ddp = std::to_integer<uint8_t>(control[0]), rdmap = std::to_integer<uint8_t>(control[1]);
  h.tagged = ddp & kTagged;
  h.last = ddp & kLast;
  h.ddp_reserved = (ddp >> 2) & 0xf;
  h.ddp_version = ddp & 3;
  h.rdmap_version = rdmap >> 6;
  h.rdmap_reserved = (rdmap >> 4) & 3;
  h.opcode = Opcode{static_cast<uint8_t>(rdmap & 0xf)};
  const Bytes rest = cursor.Take(h.size() - 2);
  if (rest.empty()) return;
  if (h.tagged) {
    h.stag = LoadBe32(&rest[0]);
    h.offset = LoadBe64(&rest[4]);
  } else {
    h.invalidate_stag = LoadBe32(&rest[0]);
    h.queue = LoadBe32(&rest[4]);
    h.sequence = LoadBe32(&rest[8]);
    h.message_offset = LoadBe32(&rest[12]);
  }
}

// Room for `n` more bytes at the end of `out`.
std::byte* Grow(std::vector<std::byte>& out, size_t n) {
  out.resize(out.size() + n);
  return out.data() + out.size() - n;
}

ReadRequest ReadReadRequest(Cursor& cursor) {
  ReadRequest r;
  r.sink_stag = cursor.U32();
  r.sink_offset = cursor.U64();
  r.length = cursor.U32();
  r.source_stag = cursor.U32();
  r.source_offset = cursor.U64();
  return r;
}

}  // namespace

ParseStatus DecodeDdpSegment(Bytes captured, uint64_t ulpdu_length, DdpSegment& out) {
  // To load what was just written in smaller pieces waits for these. Nothing here does, which saves 2 to 3 % of `stag
  // check` over iWARP.
  std::construct_at(&out);
  Cursor cursor(captured, ulpdu_length);
  ReadHeader(cursor, out.header);
  if (!cursor.ok()) return cursor.status();
  out.payload = cursor.Rest();
  out.payload_length = static_cast<uint32_t>(cursor.wire_remaining());
  const bool supported = (captured[0] & std::byte{3}) == std::byte{1} && (captured[1] >> 6) == std::byte{1};
  return supported ? ParseStatus::kOk : ParseStatus::kUnsupported;
}

void StoreDdpHeader(const DdpHeader& h, std::byte* at) {
  at[0] = static_cast<std::byte>((h.tagged ? kTagged : 0) | (h.last ? kLast : 0) | (h.ddp_reserved & 0xf) << 2 |
                                 (h.ddp_version & 3));
  at[1] = static_cast<std::byte>((h.rdmap_version & 3) << 6 | (h.rdmap_reserved & 3) << 4 |
                                 (static_cast<uint8_t>(h.opcode) & 0xf));
  if (h.tagged) {
    StoreBe32(at + 2, h.stag);
    StoreBe64(at + 6, h.offset);
  } else {
    StoreBe32(at + 2, h.invalidate_stag);
    StoreBe32(at + 6, h.queue);
    StoreBe32(at + 10, h.sequence);
    StoreBe32(at + 14, h.message_offset);
  }
}

void EncodeDdpSegment(const DdpHeader& header, Bytes payload, std::vector<std::byte>& out) {
  StoreDdpHeader(header, Grow(out, header.size()));
  out.insert(out.end(), payload.begin(), payload.end());
}

bool IsPlausible(const DdpHeader& h, uint32_t payload_length) {
  if (h.ddp_version != 1 || h.rdmap_version != 1 || h.ddp_reserved != 0 || h.rdmap_reserved != 0) return false;
  if (h.tagged) return h.opcode == Opcode::kWrite || h.opcode == Opcode::kReadResponse;
  if (h.sequence == 0) return false;  // RFC 5041 section 5.3: the first message of a queue is number 1
  if (IsSend(h.opcode)) return h.queue == kSendQueue && (h.last || payload_length > 0);
  if (h.opcode == Opcode::kReadRequest)
    return h.queue == kReadRequestQueue && h.last && h.message_offset == 0 && payload_length == kReadRequestSize;
  if (h.opcode == Opcode::kTerminate)
    return h.queue == kTerminateQueue && h.last && h.message_offset == 0 && payload_length >= 4 && payload_length <= 64;
  return false;
}

ParseStatus DecodeReadRequest(Bytes captured, uint64_t wire_length, ReadRequest& out) {
  Cursor cursor(captured, wire_length);
  out = ReadReadRequest(cursor);
  if (!cursor.ok()) out = ReadRequest{};
  return cursor.status();
}

void StoreReadRequest(const ReadRequest& r, std::byte* at) {
  StoreBe32(at, r.sink_stag);
  StoreBe64(at + 4, r.sink_offset);
  StoreBe32(at + 12, r.length);
  StoreBe32(at + 16, r.source_stag);
  StoreBe64(at + 20, r.source_offset);
}

void EncodeReadRequest(const ReadRequest& r, std::vector<std::byte>& out) {
  StoreReadRequest(r, Grow(out, kReadRequestSize));
}

ParseStatus DecodeTerminate(Bytes captured, uint64_t wire_length, Terminate& out) {
  out = Terminate{};
  Cursor cursor(captured, wire_length);
  uint32_t control = cursor.U32();
  if (!cursor.ok()) return cursor.status();
  out.layer = static_cast<uint8_t>(control >> 28);
  out.type = static_cast<uint8_t>((control >> 24) & 0xf);
  out.code = static_cast<uint8_t>(control >> 16);
  out.reserved = ReservedOf(control);
  constexpr uint32_t kFlags = 0xffff;
  if ((control & kSiwSegmentLengthValid) &&
      (control & kFlags & ~(kSiwSegmentLengthValid | kSiwDdpIncluded | kSiwRdmapIncluded)) == 0) {
    out.little_endian = true;
    out.reserved = 0;
    std::swap(out.layer, out.type);
    control = kSegmentLengthValid | (control & kSiwDdpIncluded ? kDdpIncluded : 0) |
              (control & kSiwRdmapIncluded ? kRdmapIncluded : 0);
  }
  // Without M nothing follows that could be relied on (RFC 5040 section 4.8: D and R are used together with M).
  if (!(control & kSegmentLengthValid)) return ParseStatus::kOk;
  const uint16_t segment_length = cursor.U16();
  if (!cursor.ok()) return cursor.status();
  out.segment_length = segment_length;
  if (control & kDdpIncluded) {
    DdpHeader header;
    ReadHeader(cursor, header);
    if (!cursor.ok()) return cursor.status();
    out.ddp = header;
  }
  if (control & kRdmapIncluded) {
    const ReadRequest request = ReadReadRequest(cursor);
    if (!cursor.ok()) return cursor.status();
    out.read_request = request;
  }
  return ParseStatus::kOk;
}

void EncodeTerminate(const Terminate& t, std::vector<std::byte>& out) {
  const bool m = t.segment_length.has_value(), d = m && t.ddp, r = m && t.read_request;
  const bool siw = m && t.little_endian;
  const uint32_t first = (siw ? t.type : t.layer) & 0xfu, second = (siw ? t.layer : t.type) & 0xfu;
  const uint32_t flags =
      siw ? kSiwSegmentLengthValid | (d ? kSiwDdpIncluded : 0) | (r ? kSiwRdmapIncluded : 0)
      : m ? kSegmentLengthValid | (d ? kDdpIncluded : 0) | (r ? kRdmapIncluded : 0) | (t.reserved & 0x1fffu)
          : t.reserved & 0x7fffu;
  Writer writer(out);
  writer.U32(first << 28 | second << 24 | static_cast<uint32_t>(t.code) << 16 | flags);
  if (m) writer.U16(*t.segment_length);
  if (d) StoreDdpHeader(*t.ddp, Grow(out, t.ddp->size()));
  if (r) EncodeReadRequest(*t.read_request, out);
}

}  // namespace stag::iwarp
