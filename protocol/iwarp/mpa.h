// SPDX-License-Identifier: GPL-2.0-or-later
//
// MPA set-up frames: the request and the reply that each start one direction of a TCP connection before any FPDU (RFC
// 5044 section 7.1), with the enhanced set-up of revision 2 (RFC 6581 section 9). Bytes to values and back; owns
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::iwarp {

inline constexpr size_t kMpaKeySize = 16;
inline constexpr size_t kMpaHeaderSize = 20;      // key, flags, revision, PD_Length
inline constexpr size_t kMaxPrivateData = 512;    // RFC 5044 section 7.1.1: PD_Length must not exceed 512
inline constexpr size_t kEnhancedPrefixSize = 4;  // RFC 6581 section 9: the IRD and ORD words

// RFC 6581 section 9: an IRD or ORD of all ones leaves the number to the upper layer.
inline constexpr uint16_t kReadsNotNegotiated = 0x3fff;

// RFC 6581 section 9: the four bytes in front of the private data when the S flag is set.
struct EnhancedSetup {
  uint16_t ird = 0;             // inbound RDMA Reads, 14 bits
  uint16_t ord = 0;             // outbound RDMA Reads, 14 bits
  bool peer_to_peer = false;    // A: the initiator's first FPDU is a ready-to-receive indication
  bool rtr_empty_fpdu = false;  // B: it may be a zero-length FPDU
  bool rtr_write = false;       // C: it may be a zero-length RDMA Write
  bool rtr_read = false;        // D: it may be a zero-length RDMA Read

  friend bool operator==(const EnhancedSetup&, const EnhancedSetup&) = default;
};

struct MpaFrame {
  enum class Kind : uint8_t { kRequest, kReply };
  Kind kind = Kind::kRequest;
  bool markers = false;  // M: the sender of this frame wants markers in what it receives
  bool crc = false;      // C: FPDU CRCs are used when either frame asks for them
  bool reject = false;   // R: reply only: the connection is refused
  uint8_t reserved = 0;  // the other flag bits (S excluded in revision 2), as on the wire
  uint8_t revision = 1;
  std::optional<EnhancedSetup> enhanced;  // revision 2 with the S flag
  // The consumer's private data, behind the enhanced prefix: a view into what was decoded. Shorter than
  // `private_length` only when the capture cut the frame.
  Bytes private_data;
  uint16_t private_length = 0;
};

// Whether `bytes`, the first bytes of a stream, are (the start of) a set-up frame's key. kPartial: all that is there
// agrees, but fewer than 16 bytes are there.
enum class MpaKey : uint8_t { kNone, kPartial, kRequest, kReply };
MpaKey RecogniseMpaKey(Bytes bytes);

// Bytes of the whole frame on the wire, 20 to 532; 0 when the first 20 bytes are not there or are no valid header.
size_t MpaFrameSize(Bytes bytes);

// Decodes the frame at the start of `captured`; `wire_length` is how many bytes were on the wire. kMalformed: another
// key, revision 0, PD_Length over 512, or S without room for its prefix. kTruncatedByCapture: `out` holds what was
// seen; its `private_length` is right when the 20 header bytes were.
ParseStatus DecodeMpaFrame(Bytes captured, uint64_t wire_length, MpaFrame& out);

// Appends the frame. `private_length` is ignored: the size of `private_data` counts (at most 512, 508 with `enhanced`).
void EncodeMpaFrame(const MpaFrame& frame, std::vector<std::byte>& out);

}  // namespace stag::iwarp
