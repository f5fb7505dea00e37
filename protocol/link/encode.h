// SPDX-License-Identifier: GPL-2.0-or-later
//
// Encoders of the link, network and transport headers under RDMA, the counterpart of packet.h, for recordings of live
// peers and for captures that tests make. Each function appends one header to `out`, which the caller owns, outermost
// first. Lengths are given by the caller (bytes that will follow the header); IPv4's header checksum is right at once,
// those of UDP and TCP are filled in by their Seal functions once the payload stands.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "protocol/base/address.h"
#include "protocol/base/bytes.h"

namespace stag::link {

using Mac = std::array<std::byte, 6>;

// Ethernet II (IEEE 802.3 clause 3) with VLAN tags (802.1Q: TPID 0x8100; with several, the outer ones 0x88a8). `vlans`:
// tag control information, outermost first.
void AppendEthernet(std::vector<std::byte>& out, const Mac& destination, const Mac& source,
                    std::span<const uint16_t> vlans, uint16_t ethertype);

// Linux cooked capture version 1 (16 bytes) and 2 (20 bytes), as of an Ethernet interface.
void AppendLinuxSll(std::vector<std::byte>& out, const Mac& source, uint16_t ethertype);
void AppendLinuxSll2(std::vector<std::byte>& out, const Mac& source, uint16_t ethertype);

// IPv4 (RFC 791) without options, "don't fragment", TTL 64; IPv6 (RFC 8200), hop limit 64. `length`: bytes that follow.
// The addresses are of kind kIpv4 and kIpv6.
void AppendIpv4(std::vector<std::byte>& out, const Address& source, const Address& destination, uint8_t protocol,
                size_t length, uint16_t identification = 0);
void AppendIpv6(std::vector<std::byte>& out, const Address& source, const Address& destination, uint8_t next_header,
                size_t length);

// UDP (RFC 768), checksum 0. `length`: bytes of payload that follow.
void AppendUdp(std::vector<std::byte>& out, uint16_t source_port, uint16_t destination_port, size_t length);
// TCP (RFC 9293) without options, checksum 0.
void AppendTcp(std::vector<std::byte>& out, uint16_t source_port, uint16_t destination_port, uint32_t sequence,
               uint32_t acknowledgment, uint8_t flags, uint16_t window);
// Computes the checksum of the UDP or TCP header at `transport_offset` over all that follows up to the end of `out`,
// with the pseudo header of the IP addresses, and stores it.
void SealUdp(std::vector<std::byte>& out, size_t transport_offset, const Address& source, const Address& destination);
void SealTcp(std::vector<std::byte>& out, size_t transport_offset, const Address& source, const Address& destination);

// GRH (InfiniBand Architecture volume 1, section 8.3); next header: BTH. `length`: bytes from the BTH to the end of the
// ICRC. The addresses are of kind kGid.
void AppendGrh(std::vector<std::byte>& out, const Address& source, const Address& destination, size_t length);
// LRH (section 7.7), virtual lane 0. `length`: bytes that follow up to the end of the ICRC, a multiple of 4; with
// `global`, a GRH follows. The addresses are of kind kLid.
void AppendLrh(std::vector<std::byte>& out, const Address& source, const Address& destination, size_t length,
               bool global);

// A host on an Ethernet.
struct Host {
  Mac mac{};
  Address address;
};
// Ethernet, then IPv4 or IPv6, as both addresses are. `length`: bytes that follow.
void AppendIpHeaders(std::vector<std::byte>& out, const Host& from, const Host& to, uint8_t protocol, size_t length);

struct TcpFields {
  uint16_t source_port = 0, destination_port = 0;
  uint32_t sequence = 0, acknowledgment = 0;
  uint8_t flags = 0;
};
// Whole Ethernet frames, with their checksums. The payload of TCP is at most kMaxTcpPayload bytes.
void AppendTcpFrame(std::vector<std::byte>& out, const Host& from, const Host& to, const TcpFields& fields,
                    Bytes payload);
// The same without the payload, whose pieces are to follow: at most kMaxTcpPayload bytes.
void AppendTcpHeaders(std::vector<std::byte>& out, const Host& from, const Host& to, const TcpFields& fields,
                      std::span<const Bytes> payload);
void AppendUdpFrame(std::vector<std::byte>& out, const Host& from, const Host& to, uint16_t source_port,
                    uint16_t destination_port, Bytes payload);
inline constexpr size_t kMaxTcpPayload = 65535 - 20 - 20;

// The sum of the pseudo header of UDP and TCP: addresses, protocol, and `size`, the bytes of header and payload (RFC
// 768, RFC 9293 section 3.1, RFC 8200 section 8.1); not yet folded.
uint32_t PseudoHeaderSum(size_t size, uint8_t protocol, const Address& source, const Address& destination);
// The Internet checksum (RFC 1071) of `bytes`, going on from `sum`; not yet complemented.
uint32_t ChecksumSum(uint32_t sum, Bytes bytes);
// Folds and complements.
uint16_t ChecksumFinish(uint32_t sum);

// Addresses by value.
Address Ipv4Address(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
Address LidAddress(uint16_t lid);
Address Ipv6Address(std::span<const std::byte, 16> bytes);
Address GidAddress(std::span<const std::byte, 16> bytes);

}  // namespace stag::link
