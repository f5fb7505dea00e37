// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/iwarp/fpdu.h"

#include <algorithm>

#include "protocol/base/check.h"
#include "protocol/base/crc.h"
#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::iwarp {
namespace {

uint32_t PaddingOf(uint16_t ulpdu_length) { return (4 - (kUlpduLengthSize + ulpdu_length) % 4) % 4; }

// Without markers: length field, ULPDU, padding, CRC.
uint32_t PlainSize(uint16_t ulpdu_length) {
  return kUlpduLengthSize + ulpdu_length + PaddingOf(ulpdu_length) + kCrcSize;
}

// Copies what was captured of an FPDU without its markers.
void TakeOutMarkers(Bytes captured, uint64_t position, std::vector<std::byte>& out) {
  out.clear();
  for (size_t at = 0; at < captured.size();) {
    const uint64_t in_interval = (position + at) % kMarkerInterval;
    if (in_interval < kMarkerSize) {
      at += kMarkerSize - static_cast<size_t>(in_interval);
      continue;
    }
    const size_t n = std::min(captured.size() - at, static_cast<size_t>(kMarkerInterval - in_interval));
    out.insert(out.end(), captured.begin() + static_cast<ptrdiff_t>(at),
               captured.begin() + static_cast<ptrdiff_t>(at + n));
    at += n;
  }
}

}  // namespace

uint32_t FpduSize(uint16_t ulpdu_length, uint64_t position, bool markers) {
  const uint32_t plain = PlainSize(ulpdu_length);
  if (!markers) return plain;
  const auto in_interval = static_cast<uint32_t>(position % kMarkerInterval);
  // A position inside a marker cannot start an FPDU; whoever guesses one gets a size all the same.
  const uint32_t prefix = in_interval < kMarkerSize ? kMarkerSize - in_interval : 0;
  const uint32_t room = kMarkerInterval - in_interval - prefix;  // up to the next marker
  const uint32_t further = plain > room ? (plain - room - 1) / (kMarkerInterval - kMarkerSize) + 1 : 0;
  return prefix + plain + further * kMarkerSize;
}

ParseStatus DecodeFpdu(Bytes captured, uint64_t wire_length, uint64_t position, bool markers,
                       std::vector<std::byte>& scratch, Fpdu& out) {
  out = Fpdu{};
  // FPDUs and set-up positions are multiples of four, so that no marker can cut a length or CRC field in two.
  if (markers && position % 4 != 0) return ParseStatus::kMalformed;
  Cursor start(captured, wire_length);
  start.Skip(FpduPrefix(position, markers));
  out.ulpdu_length = start.U16();
  if (!start.ok()) return start.status();
  out.size = FpduSize(out.ulpdu_length, position, markers);
  if (wire_length < out.size) return ParseStatus::kMalformed;

  Bytes plain = captured.first(std::min<size_t>(captured.size(), out.size));
  if (markers) {
    TakeOutMarkers(plain, position, scratch);
    plain = scratch;
  }
  const size_t seen = plain.size() - kUlpduLengthSize;
  out.ulpdu = plain.subspan(kUlpduLengthSize, std::min<size_t>(seen, out.ulpdu_length));
  if (captured.size() < out.size) return ParseStatus::kTruncatedByCapture;

  const Bytes padding = plain.subspan(kUlpduLengthSize + out.ulpdu_length, PaddingOf(out.ulpdu_length));
  out.padding_zero = std::all_of(padding.begin(), padding.end(), [](std::byte b) { return b == std::byte{0}; });
  out.crc_captured = true;
  out.crc_field = LoadLe32(captured.data() + out.size - kCrcSize);
  return ParseStatus::kOk;
}

uint32_t ComputeFpduCrc(Bytes fpdu) {
  STAG_CHECK(fpdu.size() >= kCrcSize);
  return Crc32c(0, fpdu.first(fpdu.size() - kCrcSize));
}

uint32_t EncodeFpdu(Bytes ulpdu, uint64_t position, bool markers, bool crc, std::vector<std::byte>& out) {
  STAG_CHECK(ulpdu.size() <= 0xffff && (!markers || position % 4 == 0));
  const auto length = static_cast<uint16_t>(ulpdu.size());
  const size_t begin = out.size();
  const uint32_t size = FpduSize(length, position, markers);
  Writer writer(out);
  // Puts one marker where one is due. FPDUPTR counts back to the length field: zero when the marker stands before it.
  const auto put_marker = [&] {
    const size_t at = out.size() - begin;
    if (!markers || (position + at) % kMarkerInterval != 0) return;
    writer.U16(0);
    writer.U16(static_cast<uint16_t>(at == 0 ? 0 : at - FpduPrefix(position, markers)));
  };
  const auto put = [&](Bytes bytes) {
    while (!bytes.empty()) {
      put_marker();
      const auto in_interval = static_cast<size_t>((position + out.size() - begin) % kMarkerInterval);
      const size_t n = markers ? std::min(bytes.size(), kMarkerInterval - in_interval) : bytes.size();
      writer.Put(bytes.first(n));
      bytes = bytes.subspan(n);
    }
  };
  std::byte length_field[kUlpduLengthSize];
  StoreBe16(length_field, length);
  const std::byte padding[3] = {};
  put(length_field);
  put(ulpdu);
  put(Bytes(padding, PaddingOf(length)));
  put_marker();  // one that is due between the padding and the CRC is covered by the CRC
  const uint32_t value = crc ? Crc32c(0, Bytes(out).subspan(begin)) : 0;
  std::byte crc_field[kCrcSize];
  StoreLe32(crc_field, value);
  writer.Put(crc_field);
  STAG_CHECK(out.size() - begin == size);
  return size;
}

}  // namespace stag::iwarp
