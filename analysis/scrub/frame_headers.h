// SPDX-License-Identifier: GPL-2.0-or-later
//
// The headers of a frame, scrubbed: what is kept of each, its addresses replaced, all else zero. What lies behind the
// headers of RDMA and TCP is for who knows what it is (packet_places.h).
#pragma once

#include <vector>

#include "analysis/scrub/pseudonyms.h"
#include "analysis/scrub/replaced.h"
#include "protocol/base/frame.h"
#include "protocol/ib/transport.h"
#include "protocol/link/packet.h"

namespace stag::scrub {

// Where the payload of a frame is: the data of an RDMA packet, or what TCP or UDP (rpcbind) carries.
struct FramePayload {
  bool there = false;
  size_t offset = 0;    // in the frame
  size_t captured = 0;  // bytes
  uint32_t psn = 0;     // RDMA
};

class FrameHeaders {
 public:
  // `keep_addresses`: addresses stay. `ports`: of tunnels. The references must outlive this.
  FrameHeaders(Pseudonyms& pseudonyms, Replaced& replaced, bool keep_addresses, const link::TunnelPorts& ports)
      : pseudonyms_(pseudonyms), replaced_(replaced), keep_addresses_(keep_addresses), ports_(ports) {}

  // `out` becomes as long as the frame's captured bytes; checksums in it are zero.
  void Scrub(const Frame& frame, std::vector<std::byte>& out);

  // Of the frame that was scrubbed last.
  const link::Packet& packet() const { return packet_; }
  const FramePayload& payload() const { return payload_; }
  // UDP of another port than those of RoCE and rpcbind.
  bool is_datagram() const { return datagram_; }
  // Of another protocol than RDMA, TCP and rpcbind.
  bool is_other() const { return other_; }
  const ib::Transport& transport() const { return transport_; }

 private:
  void Keep(size_t offset, size_t length);
  void Header(const link::Header& header);
  void Gre(const link::Header& header);
  void Geneve(const link::Header& header);
  void Tzsp(const link::Header& header);
  void SFlow(const link::Header& header);
  void Ipv6Extension(const link::Header& header);
  void TcpOptions(const link::Header& header);
  void Behind(size_t at);
  void Rdma();
  void Management(size_t at, Bytes mad, uint64_t length);
  void CmPrivateData(size_t at, Bytes data);
  void Arp(size_t at);
  void Icmpv6(size_t at);
  void NeighbourOptions(size_t at);
  void CookedAddress(size_t at, size_t length);

  void Mac(size_t at);
  void Ipv4(size_t at);
  void Ipv6(size_t at);
  void Lid(size_t at);
  bool Address(size_t at, size_t size);
  bool Has(size_t at, size_t size) const { return at <= in_.size() && size <= in_.size() - at; }

  Pseudonyms& pseudonyms_;
  Replaced& replaced_;
  const bool keep_addresses_;
  const link::TunnelPorts ports_;
  Bytes in_;
  std::vector<std::byte>* out_ = nullptr;
  link::Packet packet_;
  std::vector<link::Header> headers_;
  FramePayload payload_;
  ib::Transport transport_;
  uint16_t ethertype_ = 0;
  uint8_t next_ = 0;  // protocol behind the last IP header or extension
  bool ip_ = false;   // the last header is one of them
  bool datagram_ = false, other_ = false;
};

}  // namespace stag::scrub
