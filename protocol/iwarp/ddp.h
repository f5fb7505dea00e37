// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP segments and RDMAP messages: what a ULPDU holds (RFC 5041 section 4, RFC 5040 section 4). Bytes to values and
// back; payloads are views into what was decoded.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::iwarp {

inline constexpr uint32_t kTaggedHeaderSize = 14;    // RFC 5041 section 4.2
inline constexpr uint32_t kUntaggedHeaderSize = 18;  // RFC 5041 section 4.3
inline constexpr uint32_t kReadRequestSize = 28;     // RFC 5040 section 4.4

// RFC 5040 section 4.2; four bits on the wire.
enum class Opcode : uint8_t {
  kWrite = 0,
  kReadRequest = 1,
  kReadResponse = 2,
  kSend = 3,
  kSendInvalidate = 4,
  kSendSolicited = 5,
  kSendSolicitedInvalidate = 6,
  kTerminate = 7,
};
inline bool IsSend(Opcode o) { return o >= Opcode::kSend && o <= Opcode::kSendSolicitedInvalidate; }
inline bool IsSolicited(Opcode o) { return o == Opcode::kSendSolicited || o == Opcode::kSendSolicitedInvalidate; }
inline bool IsInvalidate(Opcode o) { return o == Opcode::kSendInvalidate || o == Opcode::kSendSolicitedInvalidate; }

// RFC 5040 section 4.2, figure 4.
inline constexpr uint32_t kSendQueue = 0, kReadRequestQueue = 1, kTerminateQueue = 2;

struct DdpHeader {
  bool tagged = false;         // T
  bool last = false;           // L: the last segment of its message
  uint8_t ddp_reserved = 0;    // 4 bits
  uint8_t ddp_version = 1;     // DV, 2 bits
  uint8_t rdmap_version = 1;   // RV, 2 bits
  uint8_t rdmap_reserved = 0;  // 2 bits
  Opcode opcode = Opcode::kWrite;
  // Tagged
  uint32_t stag = 0;
  uint64_t offset = 0;  // TO
  // Untagged
  uint32_t invalidate_stag = 0;
  uint32_t queue = 0;           // QN
  uint32_t sequence = 0;        // MSN
  uint32_t message_offset = 0;  // MO

  uint32_t size() const { return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize; }
  friend bool operator==(const DdpHeader&, const DdpHeader&) = default;
};

struct DdpSegment {
  DdpHeader header;
  Bytes payload;                // what was captured of it
  uint32_t payload_length = 0;  // on the wire
};

// Decodes a ULPDU of `ulpdu_length` bytes of which `captured` is the prefix. kUnsupported: another version of DDP or
// RDMAP. kMalformed: shorter than its header. kTruncatedByCapture: the header was not captured whole (a cut payload is
// kOk).
ParseStatus DecodeDdpSegment(Bytes captured, uint64_t ulpdu_length, DdpSegment& out);
void EncodeDdpSegment(const DdpHeader& header, Bytes payload, std::vector<std::byte>& out);
// The header alone, at `at`, which has room for header.size() bytes.
void StoreDdpHeader(const DdpHeader& header, std::byte* at);

// Whether a segment can be what its header says: versions, reserved bits, model and queue of the opcode (RFC 5040
// section 4.1), and a length that fits the message. For telling FPDU boundaries from data.
bool IsPlausible(const DdpHeader& header, uint32_t payload_length);

// RFC 5040 section 4.4: the source is the memory that is read, the sink is where the Read Response goes.
struct ReadRequest {
  uint32_t sink_stag = 0;
  uint64_t sink_offset = 0;
  uint32_t length = 0;
  uint32_t source_stag = 0;
  uint64_t source_offset = 0;

  friend bool operator==(const ReadRequest&, const ReadRequest&) = default;
};
ParseStatus DecodeReadRequest(Bytes captured, uint64_t wire_length, ReadRequest& out);
void EncodeReadRequest(const ReadRequest& request, std::vector<std::byte>& out);
// At `at`, which has room for kReadRequestSize bytes.
void StoreReadRequest(const ReadRequest& request, std::byte* at);

// RFC 5040 section 4.8. Layers: 0 RDMA, 1 DDP, 2 LLP (MPA); type and code: section 4.8, figure 11.
struct Terminate {
  uint8_t layer = 0;  // 4 bits
  uint8_t type = 0;   // 4 bits
  uint8_t code = 0;
  uint16_t reserved = 0;  // 13 bits; 15 without `segment_length`: D and R say nothing then
  // Of what is refused, as the peer sent it: the length of its DDP segment (M flag), its DDP header (D flag), and its
  // Read Request (R flag).
  std::optional<uint16_t> segment_length;
  std::optional<DdpHeader> ddp;
  std::optional<ReadRequest> read_request;
  // The Linux driver siw writes the first word in the bit order of its machine: on a little-endian one layer and type
  // change places, and M, D and R come where reserved bits are. Decoded as it is meant where it shows, by these bits;
  // encoded so again.
  bool little_endian = false;

  friend bool operator==(const Terminate&, const Terminate&) = default;
};
// kTruncatedByCapture and kMalformed leave in `out` what came before the missing part.
ParseStatus DecodeTerminate(Bytes captured, uint64_t wire_length, Terminate& out);
// A DDP header or Read Request is written only when there is a `segment_length` before it, as the section asks.
void EncodeTerminate(const Terminate& terminate, std::vector<std::byte>& out);

}  // namespace stag::iwarp
