// SPDX-License-Identifier: GPL-2.0-or-later
//
// FPDUs: how MPA frames ULPDUs on the TCP stream (RFC 5044 section 4): a 16-bit length, the ULPDU, padding to four
// bytes and a CRC32C field, with a four-byte marker at every 512th byte of the stream when the receiver asked for
// markers.
//
// Positions are 64-bit offsets in the stream of one direction; position 0 is the first byte after the MPA set-up frame,
// where the first marker stands. A marker that falls between two FPDUs belongs to the later one and comes before its
// length field; markers are covered by the CRC of the FPDU that they stand in.
#pragma once

#include <vector>

#include "protocol/base/bytes.h"

namespace stag::iwarp {

inline constexpr uint32_t kMarkerInterval = 512;
inline constexpr uint32_t kMarkerSize = 4;
inline constexpr uint32_t kUlpduLengthSize = 2;
inline constexpr uint32_t kCrcSize = 4;
// The largest FPDU: length field, 65535 bytes of ULPDU, padding, CRC and 130 markers.
inline constexpr uint32_t kMaxFpduSize = 66064;

// Bytes on the stream before the length field of an FPDU that begins at `position`: 4 when a marker stands there.
inline uint32_t FpduPrefix(uint64_t position, bool markers) {
  return markers && position % kMarkerInterval == 0 ? kMarkerSize : 0;
}

// Bytes on the stream of an FPDU that begins at `position`: prefix, length field, ULPDU, padding, markers, CRC.
uint32_t FpduSize(uint16_t ulpdu_length, uint64_t position, bool markers);

struct Fpdu {
  uint16_t ulpdu_length = 0;
  uint32_t size = 0;  // on the stream; 0 while unknown
  // The captured prefix of the ULPDU: a view into the stream bytes, or into `scratch` when markers had to be taken out.
  Bytes ulpdu;
  bool crc_captured = false;  // the next two are known: the whole FPDU was captured
  uint32_t crc_field = 0;     // as Crc32c() would return it; zero when CRCs are not used (section 4.4)
  bool padding_zero = true;   // the captured pad bytes are zero, as they should be
};

// Decodes the FPDU that begins at `position` with the first byte of `captured`. `wire_length`: bytes that the stream
// has from there on, at least captured.size(). kOk: it was captured whole. kTruncatedByCapture: the stream has all of
// it, but not all was captured; `ulpdu` is the prefix (`size` is 0 when even the length was not). kMalformed: the
// stream does not have all of it yet, `size` is set once the length field is there; or, with markers, `position` is no
// multiple of four. `scratch` is reused storage, touched only with markers.
ParseStatus DecodeFpdu(Bytes captured, uint64_t wire_length, uint64_t position, bool markers,
                       std::vector<std::byte>& scratch, Fpdu& out);

// The CRC32C over a whole FPDU as it stands on the stream (`fpdu.size()` is Fpdu::size), its CRC field left out.
uint32_t ComputeFpduCrc(Bytes fpdu);

// Appends an FPDU that begins at stream position `position`, with its CRC or (`crc` false) a zero field, and returns
// its size. The ULPDU has at most 65535 bytes; with markers `position` is a multiple of four.
uint32_t EncodeFpdu(Bytes ulpdu, uint64_t position, bool markers, bool crc, std::vector<std::byte>& out);

}  // namespace stag::iwarp
