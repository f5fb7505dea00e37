// SPDX-License-Identifier: GPL-2.0-or-later
//
// Communication Management messages (IBA section 12.6): how two queue pairs become a connection, and end it. Values, in
// both directions; the exchange itself is followed by session/fabric.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/ib/mad.h"

namespace stag::ib {

// Attribute ids (IBA table 100).
enum class CmKind : uint16_t {
  kRequest = 0x10,            // REQ, section 12.6.5
  kMessageReceived = 0x11,    // MRA, 12.6.6
  kReject = 0x12,             // REJ, 12.6.7
  kReply = 0x13,              // REP, 12.6.8
  kReadyToUse = 0x14,         // RTU, 12.6.9
  kDisconnectRequest = 0x15,  // DREQ, 12.6.10
  kDisconnectReply = 0x16,    // DREP, 12.6.11
};

// The header that the RDMA IP CM Service (IBA annex A11) puts in front of a REQ's private data: 36 bytes.
struct IpCmHeader {
  uint8_t major_version = 0, minor_version = 0;
  uint8_t ip_version = 4;  // 4 or 6
  uint16_t source_port = 0;
  // IPv4 addresses fill the last four bytes.
  std::array<std::byte, 16> source{}, destination{};

  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;
};
inline constexpr size_t kIpCmHeaderLength = 36;

// Service ids of the RDMA IP CM Service for TCP: 0x0000000001060000 + port. 0: not one.
constexpr uint16_t IpCmPort(uint64_t service_id) {
  return service_id >> 16 == 0x0106 ? static_cast<uint16_t>(service_id) : uint16_t{0};
}
constexpr uint64_t IpCmServiceId(uint16_t port) { return uint64_t{0x01060000} + port; }

// Fields of all kinds; those that a kind does not have stay zero.
struct CmMessage {
  ParseStatus status = ParseStatus::kMalformed;
  CmKind kind = CmKind::kRequest;
  uint32_t local_id = 0;   // Local Communication ID: the sender's
  uint32_t remote_id = 0;  // Remote Communication ID (all but REQ)

  // REQ and REP
  uint64_t ca_guid = 0;
  uint32_t queue_key = 0;
  uint32_t qp = 0;            // Local QPN; DREQ: Remote QPN/EECN, the receiver's
  uint32_t starting_psn = 0;  // what the sender of this message expects to receive first
  uint8_t responder_resources = 0, initiator_depth = 0;
  uint8_t rnr_retry_count = 0;
  bool srq = false;

  // REQ
  uint64_t service_id = 0;
  uint8_t service_type = 0;  // 0 RC, 1 UC, 2 RD
  uint8_t retry_count = 0;
  uint8_t ack_timeout = 0;  // Local ACK Timeout of the primary path: 4.096 us times two to the power of it; 0: none
  uint32_t path_mtu = 0;    // bytes: 256 to 4096; 0: reserved value
  uint16_t partition = 0;
  uint16_t local_lid = 0, remote_lid = 0;  // primary path
  std::array<std::byte, 16> local_gid{}, remote_gid{};
  std::optional<IpCmHeader> ip;  // when service_id is of the RDMA IP CM Service and the header makes sense

  // REJ: which message (0 REQ, 1 REP, 2 other) and why (IBA table 115); MRA: which message.
  uint8_t about = 0;
  uint16_t reject_reason = 0;

  // Consumer private data: the field has a fixed size per kind (92 bytes in a REQ, 56 of them behind an IP CM header,
  // 148 in a REJ, 196 in a REP, 220 to 224 in the others) and is zero-padded. A view of the input; cut when
  // `private_data_truncated`.
  Bytes private_data;
  bool private_data_truncated = false;
};

// Parses a MAD of class kMadClassCm. kUnsupported: another class, method or an attribute not in CmKind (LAP, SIDR).
// Status kOk with private_data_truncated: the capture cut within the private data. Allocates nothing.
CmMessage ParseCm(const Mad& mad);

// Appends a whole MAD (256 bytes). Private data longer than the kind's field is cut.
void AppendCm(std::vector<std::byte>& out, const CmMessage& message, uint64_t transaction);

// Bytes of private data a message of this kind has room for (a REQ with IP CM header: 36 less).
size_t PrivateDataRoom(CmKind kind);

}  // namespace stag::ib
