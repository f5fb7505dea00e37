// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/link/packet.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "protocol/base/cursor.h"
#include "protocol/link/ip_protocol.h"

namespace stag::link {
namespace {

constexpr uint16_t kEthertypeIpv4 = 0x0800, kEthertypeIpv6 = 0x86dd, kEthertypeMpls = 0x8847,
                   kEthertypeMplsMulticast = 0x8848, kEthertypePppoe = 0x8864;
constexpr uint16_t kEthernetInGre = 0x6558, kErspanInGre = 0x88be, kErspan3InGre = 0x22eb;  // also what GENEVE names
constexpr uint16_t kPppIpv4 = 0x0021, kPppIpv6 = 0x0057, kPppMpls = 0x0281;
constexpr uint8_t kNextHeaderIba = 0x1b;  // GRH: the BTH follows (InfiniBand Architecture volume 1, section 8.3)
constexpr size_t kVcrcLength = 2;

bool IsVlan(uint16_t ethertype) {
  return ethertype == 0x8100 || ethertype == 0x88a8 || ethertype == 0x9100 || ethertype == 0x9200;
}

bool Contains(const std::array<uint16_t, 4>& ports, uint16_t port) {
  return port != 0 && std::ranges::find(ports, port) != ports.end();
}

template <size_t kSize>
Address MakeAddress(Address::Kind kind, std::span<const std::byte, kSize> bytes) {
  Address a;
  a.kind = kind;
  std::ranges::copy(bytes, a.bytes.begin());
  return a;
}

// In place and in two whole words: whoever compares addresses loads them as such.
void SetIpv4(Address& address, const std::byte* bytes) {
  uint64_t first = 0;
  std::memcpy(&first, bytes, 4);
  address.kind = Address::Kind::kIpv4;
  std::memcpy(address.bytes.data(), &first, 8);
  std::memset(address.bytes.data() + 8, 0, 8);
}

// One frame on its way down. Every step reads from `c_` and either goes on to the next or sets the status and stops.
class Decoding {
 public:
  // `headers`: null where nobody asks for them.
  Decoding(const Frame& frame, Packet& packet, const TunnelPorts& ports, std::vector<Header>* headers)
      : all_(frame.bytes), c_(frame.bytes, frame.wire_length), p_(packet), ports_(ports), headers_(headers) {}

  void Run(LinkType link) {
    p_.carrier = Carrier::kOther;
    p_.status = ParseStatus::kUnsupported;
    p_.ip_fragment = p_.nested_too_deeply = false;
    p_.tunnels = p_.ip_id = 0;
    p_.way = 0;
    p_.payload = p_.icrc_headers = {};
    p_.wire_length = 0;
    switch (link) {
      case LinkType::kEthernet: Ethernet(); break;
      case LinkType::kLinuxSll: LinuxSll(); break;
      case LinkType::kLinuxSll2: LinuxSll2(); break;
      case LinkType::kRawIp: RawIp(); break;
      case LinkType::kErf: Erf(); break;
      case LinkType::kErfEthernet: ErfEthernet(); break;
      case LinkType::kErfInfiniBand:
      case LinkType::kInfiniBand: Lrh(); break;
      case LinkType::kUnsupported: break;
    }
    if (!c_.ok()) p_.status = c_.status();
    if (p_.status != ParseStatus::kOk && p_.status != ParseStatus::kTruncatedByCapture) p_.carrier = Carrier::kOther;
  }

 private:
  void Skip(uint64_t n) { c_.Skip(n); }

  // Makes `value`, or some bytes, part of the way that the packet took.
  void MixWay(uint64_t value) { p_.way = ((p_.way << 23 | p_.way >> 41) ^ value) * 0x9e3779b97f4a7c15; }
  void MixWay(Bytes bytes) {
    for (; bytes.size() >= 4; bytes = bytes.subspan(4)) MixWay(LoadBe32(bytes.data()));
  }

  // The header that began at `begin` ends here; nothing is noted of one that could not be read.
  void Note(HeaderKind kind, size_t begin) {
    if (headers_ && c_.ok()) headers_->push_back({kind, origin_ + begin, c_.offset() - begin});
  }

  void Ethernet() {
    const size_t begin = c_.offset();
    MixWay(c_.Take(12));
    const uint16_t type = c_.U16();
    Note(HeaderKind::kEthernet, begin);
    Ethertype(type);
  }

  void LinuxSll() {
    MixWay(c_.Take(14));
    const uint16_t type = c_.U16();
    Note(HeaderKind::kLinuxSll, 0);
    Ethertype(type);
  }

  void LinuxSll2() {
    const uint16_t type = c_.U16();
    MixWay(c_.Take(18));
    Note(HeaderKind::kLinuxSll2, 0);
    Ethertype(type);
  }

  void Ethertype(uint16_t type) {
    size_t tags = 0;
    for (; c_.ok() && IsVlan(type); ++tags) {
      const size_t begin = c_.offset();
      MixWay(c_.U16() & 0x0fff);
      type = c_.U16();
      Note(HeaderKind::kVlan, begin);
    }
    if (!c_.ok()) return;
    if (tags > 1) Count(Tunnel::kQinq);
    switch (type) {
      case kEthertypeIpv4: return Ipv4();
      case kEthertypeIpv6: return Ipv6();
      case kEthertypeMpls:
      case kEthertypeMplsMulticast: return Mpls();
      case kEthertypePppoe: return Pppoe();
      case kRoceV1Ethertype:
        p_.carrier = Carrier::kRoceV1;
        headers_begin_ = c_.offset();
        return Grh();
      default: return;
    }
  }

  void RawIp() {
    if (c_.Rest().empty()) return (void)c_.U8();
    unsigned version = std::to_integer<unsigned>(c_.Rest()[0]) >> 4;
    if (version == 4) Ipv4();
    if (version == 6) Ipv6();
  }

  // A record of Endace's extensible record format: 16 bytes of header, 8-byte extension headers while the top bit of
  // the last type byte is set, for Ethernet types two bytes of offset and pad, then the packet.
  void Erf() {
    Skip(8);
    uint8_t type = c_.U8();
    Skip(5);
    uint64_t wire = c_.U16();
    uint8_t more = type;
    while (c_.ok() && (more & 0x80) != 0) {
      more = c_.U8();
      Skip(7);
    }
    if (!c_.ok()) return;
    type &= 0x7f;
    Note(HeaderKind::kErf, 0);
    bool ethernet = type == 2 || type == 11 || type == 16 || type == 20;
    if (ethernet) ErfPadding();
    if (!c_.ok()) return;
    // The record's own wire length replaces that of the frame, which counts the record header and padding too.
    Bytes rest = c_.Rest();
    rest = rest.first(static_cast<size_t>(std::min<uint64_t>(rest.size(), wire)));
    origin_ = c_.offset();
    all_ = rest;
    c_ = Cursor(rest, wire);
    if (ethernet) Ethernet();
    if (type == 21) Lrh();                  // InfiniBand
    if (type == 22 || type == 23) RawIp();  // IPv4, IPv6
  }

  void ErfPadding() {
    const size_t begin = c_.offset();
    Skip(2);
    Note(HeaderKind::kErfPadding, begin);
  }

  void ErfEthernet() {
    ErfPadding();
    Ethernet();
  }

  void Ipv4() {
    headers_begin_ = c_.offset();
    uint64_t wire_left = c_.wire_remaining();
    const Bytes fixed = c_.Take(20);  // as one: most frames come by here
    if (fixed.empty()) return;
    const auto version_ihl = std::to_integer<uint8_t>(fixed[0]);
    uint64_t total = LoadBe16(&fixed[2]);
    const uint16_t fragment = LoadBe16(&fixed[6]);
    const auto protocol = std::to_integer<uint8_t>(fixed[9]);
    p_.ip_id = LoadBe16(&fixed[4]);
    MixWay(std::to_integer<uint64_t>(fixed[8]));
    MixWay(fixed.subspan<12, 8>());
    SetIpv4(p_.source, &fixed[12]);
    SetIpv4(p_.destination, &fixed[16]);
    uint64_t header = uint64_t{version_ihl & 0x0fu} * 4;
    if (version_ihl >> 4 != 4 || header < 20) return c_.Fail(ParseStatus::kMalformed);
    if (total == 0) total = wire_left;  // segmentation offload: the length did not fit or is filled in later
    if (total < header) return c_.Fail(ParseStatus::kMalformed);
    Skip(header - 20);
    Note(HeaderKind::kIpv4, headers_begin_);
    if ((fragment & 0x3fff) != 0) return Fragment();
    Transport(protocol, total - header);
  }

  void Ipv6() {
    headers_begin_ = c_.offset();
    uint64_t wire_left = c_.wire_remaining();
    uint32_t version = c_.U32() >> 28;
    uint64_t length = c_.U16();
    uint8_t next = c_.U8();
    MixWay(c_.U8());
    const Bytes addresses = c_.Take(32);
    if (!c_.ok()) return;
    p_.ip_id = 0;
    MixWay(addresses);
    p_.source = MakeAddress(Address::Kind::kIpv6, addresses.subspan<0, 16>());
    p_.destination = MakeAddress(Address::Kind::kIpv6, addresses.subspan<16, 16>());
    if (version != 6) return c_.Fail(ParseStatus::kMalformed);
    Note(HeaderKind::kIpv6, headers_begin_);
    if (length == 0) length = wire_left - 40;  // segmentation offload, as for IPv4
    while (true) {
      const size_t begin = c_.offset();
      uint64_t extension;
      if (next == kProtocolHopByHop || next == kProtocolRouting || next == kProtocolDestination) {
        next = c_.U8();
        extension = 8 + uint64_t{c_.U8()} * 8;
      } else if (next == kProtocolAh) {
        next = c_.U8();
        extension = 8 + uint64_t{c_.U8()} * 4;
      } else if (next == kProtocolFragment) {
        next = c_.U8();
        Skip(1);
        uint16_t fragment = c_.U16();
        Skip(4);
        Note(HeaderKind::kIpv6Extension, begin);
        if (c_.ok() && (fragment & 0xfff9) != 0) return Fragment();
        if (length < 8) return c_.Fail(ParseStatus::kMalformed);
        length -= 8;
        continue;  // an "atomic" fragment is a whole packet
      } else {
        break;
      }
      Skip(extension - 2);
      if (!c_.ok()) return;
      Note(HeaderKind::kIpv6Extension, begin);
      if (length < extension) return c_.Fail(ParseStatus::kMalformed);
      length -= extension;
    }
    if (c_.ok()) Transport(next, length);
  }

  void Fragment() {
    p_.ip_fragment = true;
    p_.status = ParseStatus::kUnsupported;
  }

  void Transport(uint8_t protocol, uint64_t length) {
    switch (protocol) {
      case kProtocolUdp: return Udp(length);
      case kProtocolTcp: return Tcp(length);
      case kProtocolGre: return Narrow(length), Gre();
      case kProtocolIpv4:
        if (Narrow(length), Enter(Tunnel::kIpInIp)) Ipv4();
        return;
      case kProtocolIpv6:
        if (Narrow(length), Enter(Tunnel::kIpInIp)) Ipv6();
        return;
      default: return;
    }
  }

  void Udp(uint64_t length) {
    const size_t begin = c_.offset();
    const Bytes header = c_.Take(8);
    if (header.empty()) return;
    Note(HeaderKind::kUdp, begin);
    p_.source_port = LoadBe16(&header[0]);
    p_.destination_port = LoadBe16(&header[2]);
    uint64_t udp_length = LoadBe16(&header[4]);
    const uint16_t to = p_.destination_port;
    const auto has_port = [&](uint16_t port) { return to == port || p_.source_port == port; };
    const bool vxlan = Contains(ports_.vxlan, to) || to == kVxlanGpePort, geneve = Contains(ports_.geneve, to);
    const bool tunnel = (vxlan || geneve) && to != kRoceV2Port;
    if (!tunnel && !has_port(kRoceV2Port) && !has_port(kRpcbindPort)) return;
    if (!tunnel) p_.carrier = has_port(kRoceV2Port) ? Carrier::kRoceV2 : Carrier::kRpcbind;
    if (udp_length == 0) udp_length = length;
    if (udp_length < 8 || udp_length > length) return c_.Fail(ParseStatus::kMalformed);
    if (!tunnel) return Payload(udp_length - 8);
    Narrow(udp_length - 8);
    return vxlan ? Vxlan(to == kVxlanGpePort) : Geneve();
  }

  void Tcp(uint64_t length) {
    p_.carrier = Carrier::kTcp;
    const size_t begin = c_.offset();
    const Bytes fixed = c_.Take(20);
    if (fixed.empty()) return;
    p_.source_port = LoadBe16(&fixed[0]);
    p_.destination_port = LoadBe16(&fixed[2]);
    p_.sequence = LoadBe32(&fixed[4]);
    p_.acknowledgment = LoadBe32(&fixed[8]);
    const uint64_t header = std::to_integer<uint64_t>(fixed[12] >> 4) * 4;
    p_.tcp_flags = std::to_integer<uint8_t>(fixed[13]);
    p_.window = LoadBe16(&fixed[14]);
    p_.tcp_header_length = static_cast<uint8_t>(header);
    if (header < 20 || header > length) return c_.Fail(ParseStatus::kMalformed);
    Skip(header - 20);
    Note(HeaderKind::kTcp, begin);
    Payload(length - header);
  }

  // What follows has `length` bytes at most: a header around it says so.
  void Narrow(uint64_t length) {
    if (length >= c_.wire_remaining()) return;
    const size_t at = c_.offset();
    all_ = all_.first(static_cast<size_t>(std::min<uint64_t>(all_.size(), at + length)));
    c_ = Cursor(all_, at + length);
    Skip(at);
  }

  void Count(Tunnel kind) { p_.tunnels |= static_cast<uint16_t>(1u << static_cast<unsigned>(kind)); }

  // The header of a tunnel was read. False: there is nothing to go on with.
  bool Enter(Tunnel kind) {
    if (!c_.ok()) return false;
    p_.nested_too_deeply = depth_ == kTunnelDepth;
    if (p_.nested_too_deeply) return false;
    ++depth_;
    Count(kind);
    MixWay(static_cast<uint64_t>(kind));
    return true;
  }

  void Vxlan(bool generic) {
    const size_t begin = c_.offset();
    const uint8_t flags = c_.U8();
    Skip(2);
    const uint8_t next = c_.U8();
    Skip(4);
    Note(HeaderKind::kVxlan, begin);
    if (!Enter(Tunnel::kVxlan)) return;
    if (!generic || (flags & 0x04) == 0) return Ethernet();  // no next protocol
    switch (next) {
      case 1: return Ipv4();
      case 2: return Ipv6();
      case 3: return Ethernet();
      case 5: return Mpls();
      default: return;
    }
  }

  // What GRE and GENEVE carry.
  void Inner(uint16_t type) { type == kEthernetInGre ? Ethernet() : Ethertype(type); }

  void Geneve() {
    const size_t begin = c_.offset();
    const uint8_t first = c_.U8();
    Skip(1);
    const uint16_t type = c_.U16();
    Skip(4);
    if (first >> 6 != 0) return;  // another version
    Skip(uint64_t{first & 0x3fu} * 4);
    Note(HeaderKind::kGeneve, begin);
    if (Enter(Tunnel::kGeneve)) Inner(type);
  }

  void Gre() {
    constexpr uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 7;
    const size_t begin = c_.offset();
    const uint16_t flags = c_.U16(), type = c_.U16();
    if ((flags & (kRouting | kVersion)) != 0) return;  // RFC 1701's source routes; PPTP
    for (const uint16_t field : {kChecksum, kKey, kSequence}) {
      if (flags & field) Skip(4);
    }
    Note(HeaderKind::kGre, begin);
    const bool type1 = type == kErspanInGre && (flags & kSequence) == 0;
    if (type1) {
      if (Enter(Tunnel::kErspan)) Ethernet();
    } else if (type == kErspanInGre || type == kErspan3InGre) {
      Erspan();
    } else if (Enter(Tunnel::kGre)) {
      Inner(type);
    }
  }

  // Types II (version 1) and III (version 2).
  void Erspan() {
    constexpr uint16_t kSubheader = 0x0001;
    constexpr unsigned kEthernetFrame = 0, kIpPacket = 2;
    const size_t begin = c_.offset();
    const unsigned version = c_.U16() >> 12;
    unsigned content = kEthernetFrame;
    if (version == 1) {
      Skip(6);
    } else if (version == 2) {
      Skip(8);
      const uint16_t flags = c_.U16();
      content = flags >> 10 & 0x1f;
      if (flags & kSubheader) Skip(8);
    } else {
      return;
    }
    Note(HeaderKind::kErspan, begin);
    if (!Enter(Tunnel::kErspan)) return;
    if (content == kEthernetFrame) Ethernet();
    if (content == kIpPacket) RawIp();
  }

  // No field of a label names the protocol behind the stack. The first four bits of an IP packet are its version (RFC
  // 4928 section 3), but the first four bits of a MAC address may be the same.
  void Mpls() {
    constexpr uint32_t kBottom = 0x100;
    constexpr size_t kControlWord = 4;
    const size_t begin = c_.offset();
    while (c_.ok() && (c_.U32() & kBottom) == 0) {
    }
    Note(HeaderKind::kMpls, begin);
    if (!Enter(Tunnel::kMpls)) return;
    const Bytes rest = c_.Rest();
    if (rest.size() < kEthernetHead + kControlWord) return Skip(kEthernetHead + kControlWord);
    const unsigned first = std::to_integer<unsigned>(rest[0]) >> 4;
    const uint64_t length = first == 4 ? LoadBe16(&rest[2]) : uint64_t{LoadBe16(&rest[4])} + 40;
    if ((first == 4 || first == 6) && (!IsEthernet(rest) || length == c_.wire_remaining())) return RawIp();
    // The control word begins with zeros; its length is zero but for frames below the shortest of Ethernet.
    const bool zero = first == 0 && (LoadBe16(&rest[0]) == 0 || c_.wire_remaining() < kControlWord + 64);
    if (zero && IsEthernet(rest.subspan(kControlWord))) {
      const size_t word = c_.offset();
      Skip(kControlWord);
      Note(HeaderKind::kMplsControlWord, word);
      return Ethernet();
    }
    if (IsEthernet(rest)) Ethernet();
  }

  // Whether an Ethernet header with something that we follow begins here.
  static constexpr size_t kEthernetHead = 15;
  static bool IsEthernet(Bytes bytes) {
    if (bytes.size() < kEthernetHead) return false;
    const uint16_t type = LoadBe16(&bytes[12]);
    const unsigned version = std::to_integer<unsigned>(bytes[14]) >> 4;
    return (type == kEthertypeIpv4 && version == 4) || (type == kEthertypeIpv6 && version == 6) || IsVlan(type) ||
           type == kRoceV1Ethertype || type == kEthertypeMpls || type == kEthertypePppoe;
  }

  void Pppoe() {
    const size_t begin = c_.offset();
    const uint16_t version_type_code = c_.U16();
    Skip(2);
    const uint64_t length = c_.U16();
    const uint16_t protocol = c_.U16();
    if (!c_.ok() || version_type_code != 0x1100) return;
    if (length < 2) return c_.Fail(ParseStatus::kMalformed);
    Note(HeaderKind::kPppoe, begin);
    Narrow(length - 2);
    if (!Enter(Tunnel::kPppoe)) return;
    if (protocol == kPppIpv4) Ipv4();
    if (protocol == kPppIpv6) Ipv6();
    if (protocol == kPppMpls) Mpls();
  }

  // GRH (InfiniBand Architecture volume 1, section 8.3); RoCEv1 puts it right behind the ethertype. Its PayLen counts
  // from the first byte behind it to the end of the ICRC.
  void Grh() {
    const size_t begin = c_.offset();
    uint32_t version = c_.U32() >> 28;
    uint64_t length = c_.U16();
    uint8_t next = c_.U8();
    MixWay(c_.U8());
    const Bytes addresses = c_.Take(32);
    if (!c_.ok()) return;
    p_.source = MakeAddress(Address::Kind::kGid, addresses.subspan<0, 16>());
    p_.destination = MakeAddress(Address::Kind::kGid, addresses.subspan<16, 16>());
    if (version != 6) return c_.Fail(ParseStatus::kMalformed);
    Note(HeaderKind::kGrh, begin);
    if (next != kNextHeaderIba) {
      p_.carrier = Carrier::kOther;
      return;
    }
    Payload(length);
  }

  // LRH (InfiniBand Architecture volume 1, section 7.7). PktLen counts 4-byte words from the LRH to the end of the
  // ICRC.
  void Lrh() {
    headers_begin_ = c_.offset();
    Skip(1);
    uint8_t lnh = c_.U8() & 3;
    const Bytes rest = c_.Take(6);  // destination, length, source
    if (!c_.ok()) return;
    p_.destination = MakeAddress(Address::Kind::kLid, rest.subspan<0, 2>());
    uint64_t length = uint64_t{LoadBe16(&rest[2]) & 0x07ffu} * 4;
    p_.source = MakeAddress(Address::Kind::kLid, rest.subspan<4, 2>());
    Note(HeaderKind::kLrh, headers_begin_);
    if (lnh < 2) return;  // raw packets: no InfiniBand transport
    p_.carrier = Carrier::kInfiniBand;
    uint64_t wire = c_.wire_remaining() + 8;
    if (length == 0) length = wire > kVcrcLength ? wire - kVcrcLength : 0;
    if (length < 8) return c_.Fail(ParseStatus::kMalformed);
    if (lnh == 3) return Grh();
    Payload(length - 8);
  }

  void Payload(uint64_t length) {
    if (!c_.ok()) return;
    Bytes rest = c_.Rest();
    p_.payload = rest.first(static_cast<size_t>(std::min<uint64_t>(rest.size(), length)));
    p_.wire_length = length;
    if (p_.carrier != Carrier::kTcp) p_.icrc_headers = all_.subspan(headers_begin_, c_.offset() - headers_begin_);
    p_.status = ParseStatus::kOk;
  }

  Bytes all_;
  Cursor c_;
  Packet& p_;
  const TunnelPorts& ports_;
  std::vector<Header>* headers_;
  size_t origin_ = 0;  // of `all_` within the frame
  size_t headers_begin_ = 0;
  unsigned depth_ = 0;  // tunnels around what is being read
};

// Nearly all frames: Ethernet without tags, IPv4 without options and not a fragment, RoCEv2 to its port or TCP, with
// all headers captured and lengths that agree. False: it is something else, and `p` is as it was.
bool DecodePlain(const Frame& frame, Packet& p) {
  constexpr size_t kIp = 14, kTransport = kIp + 20, kUdpEnd = kTransport + 8, kTcpEnd = kTransport + 20;
  const std::byte* at = frame.bytes.data();
  if (frame.link != LinkType::kEthernet || frame.bytes.size() < kTcpEnd || frame.wire_length < frame.bytes.size() ||
      LoadBe16(at + 12) != kEthertypeIpv4 || at[kIp] != std::byte{0x45} || (LoadBe16(at + kIp + 6) & 0x3fff) != 0)
    return false;
  const size_t total = LoadBe16(at + kIp + 2);
  const auto protocol = std::to_integer<uint8_t>(at[kIp + 9]);
  const uint16_t source_port = LoadBe16(at + kTransport), destination_port = LoadBe16(at + kTransport + 2);
  size_t begin = 0, length = 0;
  if (protocol == kProtocolUdp) {
    const size_t udp = LoadBe16(at + kTransport + 4);
    if (destination_port != kRoceV2Port || udp < 8 || udp + 20 > total) return false;
    begin = kUdpEnd;
    length = udp - 8;
    p.carrier = Carrier::kRoceV2;
    p.icrc_headers = frame.bytes.subspan(kIp, kUdpEnd - kIp);
  } else if (protocol == kProtocolTcp) {
    const size_t header = std::to_integer<size_t>(at[kTransport + 12] >> 4) * 4;
    begin = kTransport + header;
    if (header < 20 || header + 20 > total || begin > frame.bytes.size()) return false;
    length = total - 20 - header;
    p.carrier = Carrier::kTcp;
    p.icrc_headers = {};
    p.sequence = LoadBe32(at + kTransport + 4);
    p.acknowledgment = LoadBe32(at + kTransport + 8);
    p.tcp_flags = std::to_integer<uint8_t>(at[kTransport + 13]);
    p.window = LoadBe16(at + kTransport + 14);
    p.tcp_header_length = static_cast<uint8_t>(header);
  } else {
    return false;
  }
  p.status = ParseStatus::kOk;
  p.ip_fragment = false;
  p.ip_id = LoadBe16(at + kIp + 4);
  std::memcpy(&p.way, at + 4, sizeof p.way);
  p.way ^= std::to_integer<uint64_t>(at[kIp + 8]);  // who sent it on, and its time to live
  p.tunnels = 0;
  SetIpv4(p.source, at + kIp + 12);
  SetIpv4(p.destination, at + kIp + 16);
  p.source_port = source_port;
  p.destination_port = destination_port;
  p.payload = frame.bytes.subspan(begin, std::min(length, frame.bytes.size() - begin));
  p.wire_length = length;
  return true;
}

[[gnu::noinline]] void DecodeAny(const Frame& frame, Packet& packet, const TunnelPorts& ports,
                                 std::vector<Header>* headers) {
  Decoding(frame, packet, ports, headers).Run(frame.link);
}

}  // namespace

void Decode(const Frame& frame, Packet& packet, const TunnelPorts& ports) {
  if (!DecodePlain(frame, packet)) DecodeAny(frame, packet, ports, nullptr);
}

void Decode(const Frame& frame, Packet& packet, std::vector<Header>& headers, const TunnelPorts& ports) {
  headers.clear();
  DecodeAny(frame, packet, ports, &headers);
}

}  // namespace stag::link
