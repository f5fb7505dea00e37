// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/link/encode.h"

#include <algorithm>
#include <cstring>

#include "protocol/base/check.h"
#include "protocol/base/writer.h"
#include "protocol/link/ip_protocol.h"

namespace stag::link {
namespace {

constexpr size_t kTcpHeader = 20, kUdpHeader = 8;
constexpr size_t kTcpChecksum = 16;  // where it stands in the header

Bytes AddressBytes(const Address& a) {
  switch (a.kind) {
    case Address::Kind::kIpv4: return Bytes(a.bytes).first(4);
    case Address::Kind::kLid: return Bytes(a.bytes).first(2);
    default: return a.bytes;
  }
}

Address MakeAddress(Address::Kind kind, Bytes bytes) {
  Address a;
  a.kind = kind;
  std::copy(bytes.begin(), bytes.end(), a.bytes.begin());
  return a;
}

uint16_t TransportChecksum(Bytes segment, uint8_t protocol, const Address& source, const Address& destination) {
  return ChecksumFinish(ChecksumSum(PseudoHeaderSum(segment.size(), protocol, source, destination), segment));
}

void Seal(std::vector<std::byte>& out, size_t transport_offset, size_t field, uint8_t protocol, const Address& source,
          const Address& destination) {
  STAG_CHECK(transport_offset + field + 2 <= out.size());
  std::byte* checksum = out.data() + transport_offset + field;
  StoreBe16(checksum, 0);
  uint16_t value = TransportChecksum(Bytes(out).subspan(transport_offset), protocol, source, destination);
  if (protocol == kProtocolUdp && value == 0) value = 0xffff;  // zero means "none" in UDP
  StoreBe16(checksum, value);
}

}  // namespace

uint32_t PseudoHeaderSum(size_t size, uint8_t protocol, const Address& source, const Address& destination) {
  uint32_t sum = ChecksumSum(0, AddressBytes(source));
  sum = ChecksumSum(sum, AddressBytes(destination));
  return sum + protocol + static_cast<uint32_t>(size >> 16) + static_cast<uint32_t>(size & 0xffff);
}

void AppendEthernet(std::vector<std::byte>& out, const Mac& destination, const Mac& source,
                    std::span<const uint16_t> vlans, uint16_t ethertype) {
  Writer w(out);
  w.Put(destination);
  w.Put(source);
  for (size_t i = 0; i < vlans.size(); ++i) {
    w.U16(i + 1 == vlans.size() ? 0x8100 : 0x88a8);
    w.U16(vlans[i]);
  }
  w.U16(ethertype);
}

void AppendLinuxSll(std::vector<std::byte>& out, const Mac& source, uint16_t ethertype) {
  Writer w(out);
  w.U16(0);  // to us
  w.U16(1);  // ARPHRD_ETHER
  w.U16(6);
  w.Put(source);
  w.Zeros(2);
  w.U16(ethertype);
}

void AppendLinuxSll2(std::vector<std::byte>& out, const Mac& source, uint16_t ethertype) {
  Writer w(out);
  w.U16(ethertype);
  w.U16(0);
  w.U32(1);  // interface index
  w.U16(1);  // ARPHRD_ETHER
  w.U8(0);   // to us
  w.U8(6);
  w.Put(source);
  w.Zeros(2);
}

void AppendIpv4(std::vector<std::byte>& out, const Address& source, const Address& destination, uint8_t protocol,
                size_t length, uint16_t identification) {
  STAG_CHECK(length <= 65535 - 20);
  size_t begin = out.size();
  Writer w(out);
  w.U8(0x45);
  w.U8(0);
  w.U16(static_cast<uint16_t>(length + 20));
  w.U16(identification);
  w.U16(0x4000);
  w.U8(64);
  w.U8(protocol);
  w.U16(0);
  w.Put(AddressBytes(source));
  w.Put(AddressBytes(destination));
  StoreBe16(out.data() + begin + 10, ChecksumFinish(ChecksumSum(0, Bytes(out).subspan(begin, 20))));
}

void AppendIpv6(std::vector<std::byte>& out, const Address& source, const Address& destination, uint8_t next_header,
                size_t length) {
  STAG_CHECK(length <= 65535);
  Writer w(out);
  w.U32(6u << 28);
  w.U16(static_cast<uint16_t>(length));
  w.U8(next_header);
  w.U8(64);
  w.Put(source.bytes);
  w.Put(destination.bytes);
}

void AppendUdp(std::vector<std::byte>& out, uint16_t source_port, uint16_t destination_port, size_t length) {
  STAG_CHECK(length <= 65535 - 8);
  Writer w(out);
  w.U16(source_port);
  w.U16(destination_port);
  w.U16(static_cast<uint16_t>(length + 8));
  w.U16(0);
}

void AppendTcp(std::vector<std::byte>& out, uint16_t source_port, uint16_t destination_port, uint32_t sequence,
               uint32_t acknowledgment, uint8_t flags, uint16_t window) {
  Writer w(out);
  w.U16(source_port);
  w.U16(destination_port);
  w.U32(sequence);
  w.U32(acknowledgment);
  w.U8(5 << 4);
  w.U8(flags);
  w.U16(window);
  w.U32(0);  // checksum, urgent pointer
}

void SealUdp(std::vector<std::byte>& out, size_t transport_offset, const Address& source, const Address& destination) {
  Seal(out, transport_offset, 6, kProtocolUdp, source, destination);
}

void SealTcp(std::vector<std::byte>& out, size_t transport_offset, const Address& source, const Address& destination) {
  Seal(out, transport_offset, kTcpChecksum, kProtocolTcp, source, destination);
}

void AppendIpHeaders(std::vector<std::byte>& out, const Host& from, const Host& to, uint8_t protocol, size_t length) {
  const bool v4 = from.address.kind == Address::Kind::kIpv4;
  AppendEthernet(out, to.mac, from.mac, {}, v4 ? 0x0800 : 0x86dd);
  v4 ? AppendIpv4(out, from.address, to.address, protocol, length)
     : AppendIpv6(out, from.address, to.address, protocol, length);
}

void AppendTcpFrame(std::vector<std::byte>& out, const Host& from, const Host& to, const TcpFields& fields,
                    Bytes payload) {
  AppendTcpHeaders(out, from, to, fields, std::span(&payload, 1));
  out.insert(out.end(), payload.begin(), payload.end());
}

void AppendTcpHeaders(std::vector<std::byte>& out, const Host& from, const Host& to, const TcpFields& fields,
                      std::span<const Bytes> payload) {
  size_t size = kTcpHeader;
  for (const Bytes piece : payload) size += piece.size();
  AppendIpHeaders(out, from, to, kProtocolTcp, size);
  const size_t tcp = out.size();
  AppendTcp(out, fields.source_port, fields.destination_port, fields.sequence, fields.acknowledgment, fields.flags,
            0xffff);
  uint32_t sum = PseudoHeaderSum(size, kProtocolTcp, from.address, to.address);
  sum = ChecksumSum(sum, Bytes(out).subspan(tcp));
  bool odd = false;
  for (const Bytes piece : payload) {
    const uint32_t of_piece = ChecksumSum(0, piece);
    // Behind an odd number of bytes what is a high byte is added as a low one.
    sum += odd ? (of_piece & 0xff) << 8 | of_piece >> 8 : of_piece;
    odd ^= piece.size() % 2 == 1;
  }
  StoreBe16(out.data() + tcp + kTcpChecksum, ChecksumFinish(sum));
}

void AppendUdpFrame(std::vector<std::byte>& out, const Host& from, const Host& to, uint16_t source_port,
                    uint16_t destination_port, Bytes payload) {
  AppendIpHeaders(out, from, to, kProtocolUdp, kUdpHeader + payload.size());
  const size_t udp = out.size();
  AppendUdp(out, source_port, destination_port, payload.size());
  out.insert(out.end(), payload.begin(), payload.end());
  SealUdp(out, udp, from.address, to.address);
}

void AppendGrh(std::vector<std::byte>& out, const Address& source, const Address& destination, size_t length) {
  AppendIpv6(out, source, destination, 0x1b, length);  // the GRH has IPv6's layout
}

void AppendLrh(std::vector<std::byte>& out, const Address& source, const Address& destination, size_t length,
               bool global) {
  STAG_CHECK(length % 4 == 0 && length + 8 <= 0x7ff * 4);
  Writer w(out);
  w.U8(0);
  w.U8(global ? 3 : 2);
  w.Put(AddressBytes(destination));
  w.U16(static_cast<uint16_t>((length + 8) / 4));
  w.Put(AddressBytes(source));
}

uint32_t ChecksumSum(uint32_t sum, Bytes bytes) {
  // In the machine's order, which gives the sum with its bytes exchanged (RFC 1071 section 2B), and in parts that do
  // not wait for each other.
  constexpr size_t kStep = 16;
  uint64_t parts[4] = {};
  size_t i = 0;
  for (; i + kStep <= bytes.size(); i += kStep) {
    uint32_t words[4];
    std::memcpy(words, bytes.data() + i, kStep);
    for (size_t k = 0; k < 4; ++k) parts[k] += words[k];
  }
  uint64_t swapped = 0;
  for (const uint64_t part : parts) swapped += (part & 0xffffffff) + (part >> 32);
  while (swapped >> 16 != 0) swapped = (swapped & 0xffff) + (swapped >> 16);
  std::byte both[2];
  std::memcpy(both, &swapped, 2);  // little-endian machines
  uint64_t wide = sum + uint64_t{LoadBe16(both)};
  for (; i + 2 <= bytes.size(); i += 2) wide += LoadBe16(bytes.data() + i);
  if (i < bytes.size()) wide += std::to_integer<uint32_t>(bytes[i]) << 8;
  while (wide >> 16 != 0) wide = (wide & 0xffff) + (wide >> 16);
  return static_cast<uint32_t>(wide);
}

uint16_t ChecksumFinish(uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

Address Ipv4Address(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const std::array<std::byte, 4> bytes{std::byte{a}, std::byte{b}, std::byte{c}, std::byte{d}};
  return MakeAddress(Address::Kind::kIpv4, bytes);
}

Address LidAddress(uint16_t lid) {
  std::array<std::byte, 2> bytes;
  StoreBe16(bytes.data(), lid);
  return MakeAddress(Address::Kind::kLid, bytes);
}

Address Ipv6Address(std::span<const std::byte, 16> bytes) { return MakeAddress(Address::Kind::kIpv6, bytes); }
Address GidAddress(std::span<const std::byte, 16> bytes) { return MakeAddress(Address::Kind::kGid, bytes); }

}  // namespace stag::link
