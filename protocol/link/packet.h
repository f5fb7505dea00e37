// SPDX-License-Identifier: GPL-2.0-or-later
//
// Decode: one captured frame, out of all tunnels, down to the first byte that the RDMA trackers care for: the BTH
// (RoCEv2, RoCEv1, native InfiniBand) or the TCP payload. Pure; all views point into the frame.
#pragma once

#include <vector>

#include "protocol/base/address.h"
#include "protocol/base/frame.h"
#include "protocol/link/header.h"
#include "protocol/link/stop.h"
#include "protocol/link/tunnel.h"

namespace stag::link {

enum class Carrier : uint8_t {
  kOther,
  kRoceV2,
  kRoceV1,
  kInfiniBand,
  kTcp,
  kRpcbind,  // UDP from or to port 111
};

// Of a fragment of an IP packet.
struct IpFragment {
  uint32_t id = 0;      // identification
  uint32_t offset = 0;  // of the fragment within what is fragmented, in bytes
  uint32_t next = 0;    // the protocol of the whole
  bool more = false;    // there are fragments behind it
  bool v6 = false;
};

struct Packet {
  Carrier carrier = Carrier::kOther;
  // kOk; kTruncatedByCapture: cut before the payload began; kMalformed: headers contradict each other; kUnsupported:
  // not a link type or payload that we follow (carrier is kOther then).
  ParseStatus status = ParseStatus::kUnsupported;
  // Addresses, ports and what follows are those of the innermost headers.
  Address source, destination;  // IP addresses; GIDs (RoCEv1, InfiniBand with GRH); LIDs (InfiniBand without)
  uint16_t source_port = 0, destination_port = 0;  // UDP or TCP
  // An IP fragment (carrier kOther): `payload` is its part of the packet, not interpreted, `icrc_headers` the IP header
  // (of IPv6 the first 40 bytes), and `fragment` says where the part belongs.
  bool ip_fragment = false;
  IpFragment fragment;
  uint16_t ip_id = 0;  // IPv4: identification; IPv6: 0
  // The way that the packet took to where it was captured: a hash of the interface, link-layer addresses, VLANs, times
  // to live, and tunnels with their ends. Copies of a packet that were captured at other places differ in it.
  uint64_t way = 0;
  uint32_t tunnels = 0;  // that the packet was in: bit 1 << kind for each Tunnel
  Stop stop;             // where the carrier is kOther: what kept the rest from being looked into

  // RoCE/InfiniBand: from the BTH to the end of the ICRC (VCRC, Ethernet padding and trailers removed).
  // TCP, rpcbind: the payload. `wire_length`: its bytes on the wire (from the length fields of IP, UDP or LRH).
  Bytes payload;
  uint64_t wire_length = 0;

  // The headers that the ICRC covers, up to the BTH: from the innermost IP header (RoCEv2), the GRH (RoCEv1) or the
  // LRH (InfiniBand).
  Bytes icrc_headers;

  // TCP
  uint32_t sequence = 0, acknowledgment = 0;
  uint8_t tcp_header_length = 0;  // bytes, with its options: in front of `payload`
  uint8_t tcp_flags = 0;          // FIN 1, SYN 2, RST 4, PSH 8, ACK 16
  uint16_t window = 0;            // as it stands in the header, not scaled
};

inline constexpr uint8_t kTcpFin = 0x01, kTcpSyn = 0x02, kTcpRst = 0x04, kTcpAck = 0x10;
inline constexpr uint16_t kRoceV2Port = 4791;         // IANA, RoCEv2 annex A17
inline constexpr uint16_t kRpcbindPort = 111;         // RFC 1833
inline constexpr uint16_t kRoceV1Ethertype = 0x8915;  // RoCE annex A16

// Never fails hard: whatever cannot be followed is carrier kOther with the reason in `status`. `packet` may have been
// used for another frame before; what `frame` does not have (addresses, ports, TCP fields) may then be left in it.
void Decode(const Frame& frame, Packet& packet, const TunnelPorts& ports = kTunnelPorts);
// The same, and `headers` becomes the list of the headers on the way, outermost first: each begins where the one before
// it ends. A header that is cut by the capture, or whose own fields contradict each other, ends the list before it;
// what follows the last header is the payload of what it says, or what nobody here follows (another protocol, an IP
// fragment).
void Decode(const Frame& frame, Packet& packet, std::vector<Header>& headers, const TunnelPorts& ports = kTunnelPorts);
inline Packet Decode(const Frame& frame) {
  Packet packet;
  Decode(frame, packet);
  return packet;
}

}  // namespace stag::link
