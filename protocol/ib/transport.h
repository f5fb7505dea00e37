// SPDX-License-Identifier: GPL-2.0-or-later
//
// One transport packet: the BTH, its extended headers, data, pad and ICRC (IBA chapter 9).
#pragma once

#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/ib/opcode.h"

namespace stag::ib {

// Base Transport Header, 12 bytes (IBA section 9.2).
struct Bth {
  uint8_t opcode = 0;
  bool solicited = false;       // SE
  bool migrated = false;        // MigReq
  uint8_t pad = 0;              // PadCnt: 0 to 3 bytes behind the data
  uint8_t version = 0;          // TVer
  uint16_t partition = 0xffff;  // P_Key
  bool fecn = false, becn = false;
  uint32_t destination_qp = 0;  // 24 bits
  bool ack_request = false;
  uint32_t psn = 0;  // 24 bits

  friend bool operator==(const Bth&, const Bth&) = default;
};

struct Deth {  // IBA section 9.3.2
  uint32_t queue_key = 0;
  uint32_t source_qp = 0;  // 24 bits
  friend bool operator==(const Deth&, const Deth&) = default;
};

struct Reth {  // IBA section 9.3.3
  uint64_t address = 0;
  uint32_t key = 0;     // R_Key
  uint32_t length = 0;  // bytes of the whole RDMA operation
  friend bool operator==(const Reth&, const Reth&) = default;
};

struct AtomicEth {  // IBA section 9.3.4
  uint64_t address = 0;
  uint32_t key = 0;
  uint64_t swap_or_add = 0, compare = 0;
  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

struct Aeth {  // IBA section 9.3.5
  uint8_t syndrome = 0;
  uint32_t msn = 0;  // 24 bits
  friend bool operator==(const Aeth&, const Aeth&) = default;
};

// AETH syndrome (IBA section 9.7.5.2, tables 44 and 45): bits 6-5 tell the kind, bits 4-0 credits, timer or NAK code.
enum class AethKind : uint8_t { kAck, kRnrNak, kReserved, kNak };
constexpr AethKind KindOf(uint8_t syndrome) { return static_cast<AethKind>((syndrome >> 5) & 3); }
inline constexpr uint8_t kNakSequence = 0, kNakInvalidRequest = 1, kNakRemoteAccess = 2, kNakRemoteOperation = 3;

// The least time in nanoseconds that a requester waits after an RNR NAK with this syndrome (IBA section 9.7.5.2.8,
// table 45: 10 us to 655.36 ms).
int64_t RnrTimerNs(uint8_t syndrome);

// The extended headers that `LookUpOpcode(bth.opcode)` names are filled, the others are zero.
struct Transport {
  ParseStatus status = ParseStatus::kMalformed;  // of the headers
  Bth bth;
  Deth deth;
  Reth reth;
  AtomicEth atomic;
  Aeth aeth;
  uint64_t atomic_result = 0;  // AtomicAckETH: the value before
  uint32_t immediate = 0;
  uint32_t invalidated = 0;  // IETH: R_Key
  Bytes data;                // as far as captured; pad and ICRC removed; a view of the input
  uint64_t data_length = 0;  // bytes of data on the wire
};

// Parses from the BTH to the end of the ICRC. `captured`: those bytes as far as the capture has them; `wire_length`:
// their number on the wire. Status kOk: all headers are there (data may be cut: data.size() < data_length).
// kTruncatedByCapture: cut within the headers; `bth` is right when at least 12 bytes were captured. kMalformed: too
// short on the wire for what the opcode asks. kUnsupported: a transport version other than 0. Allocates nothing.
// `transport` may have been used for another packet before: extended headers that this one does not have are left in
// it.
void ParseTransport(Bytes captured, uint64_t wire_length, Transport& transport);
inline Transport ParseTransport(Bytes captured, uint64_t wire_length) {
  Transport transport;
  ParseTransport(captured, wire_length, transport);
  return transport;
}

// Appends headers, `transport.data` and pad to `out`, without the ICRC (see icrc.h). Which extended headers are written
// follows from the opcode; PadCnt is computed, `bth.pad`, `status` and `data_length` are not read.
void AppendTransport(std::vector<std::byte>& out, const Transport& transport);
// The same without the data and their padding, which the headers speak of.
void AppendTransportHeaders(std::vector<std::byte>& out, const Transport& transport);

inline constexpr size_t kBthLength = 12, kIcrcLength = 4;

}  // namespace stag::ib
