// SPDX-License-Identifier: GPL-2.0-or-later
//
// BTH opcodes (IBA section 9.2.1 and table 38; Send with Invalidate: section 9.4.1.1) and packet sequence numbers
// (section 9.7.1).
#pragma once

#include <array>
#include <cstdint>

namespace stag::ib {

enum class Service : uint8_t { kRc, kUc, kRd, kUd, kXrc, kOther };

enum class Operation : uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAck,
  kAtomicAck,
  kCompareSwap,
  kFetchAdd,
  kOther,  // reserved, or of an extension that we do not follow
};

struct OpcodeInfo {
  Service service = Service::kOther;
  Operation operation = Operation::kOther;
  bool first = false, last = false;  // both: "only"; neither: "middle"
  bool response = false;             // travels from responder to requester; its PSN is the requester's
  bool reth = false, aeth = false, atomic = false, atomic_ack = false, immediate = false, ieth = false;
  bool rdeth = false, deth = false, xrceth = false;
  bool data = false;     // may carry data
  uint8_t extended = 0;  // bytes of headers behind the BTH
  // Which headers these are, for a parser that goes by the most frequent ones first.
  enum class Extended : uint8_t { kNone, kReth, kAeth, kOthers } which = Extended::kNone;
};

extern const std::array<OpcodeInfo, 256> kOpcodeTable;
// Unknown opcodes give service (by their three top bits) and kOther.
inline const OpcodeInfo& LookUpOpcode(uint8_t opcode) { return kOpcodeTable[opcode]; }

inline constexpr uint8_t kSendFirst = 0x00, kSendMiddle = 0x01, kSendLast = 0x02, kSendLastImmediate = 0x03,
                         kSendOnly = 0x04, kSendOnlyImmediate = 0x05, kWriteFirst = 0x06, kWriteMiddle = 0x07,
                         kWriteLast = 0x08, kWriteLastImmediate = 0x09, kWriteOnly = 0x0a, kWriteOnlyImmediate = 0x0b,
                         kReadRequest = 0x0c, kReadResponseFirst = 0x0d, kReadResponseMiddle = 0x0e,
                         kReadResponseLast = 0x0f, kReadResponseOnly = 0x10, kAcknowledge = 0x11,
                         kAtomicAcknowledge = 0x12, kCompareSwap = 0x13, kFetchAdd = 0x14, kSendLastInvalidate = 0x16,
                         kSendOnlyInvalidate = 0x17;  // service RC
inline constexpr uint8_t kUdSendOnly = 0x64;
// Congestion notification packet (RoCEv2 annex A17.9.3); its destination QP is that of the packets it is about.
inline constexpr uint8_t kCongestionNotification = 0x81;

// Packet sequence numbers: 24 bits, modulo arithmetic.
inline constexpr uint32_t kPsnMask = 0xffffff;
constexpr uint32_t PsnAdd(uint32_t psn, uint32_t n) { return (psn + n) & kPsnMask; }
// How far `a` is ahead of `b`: -2^23 to 2^23-1; negative when it is behind.
constexpr int32_t PsnDistance(uint32_t a, uint32_t b) { return static_cast<int32_t>((a - b) << 8) >> 8; }

}  // namespace stag::ib
