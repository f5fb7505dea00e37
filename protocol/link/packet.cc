// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/link/packet.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "protocol/base/cursor.h"
#include "protocol/link/ip_protocol.h"

namespace stag::link {
namespace {

constexpr uint16_t kEthertypeIpv4 = 0x0800, kEthertypeIpv6 = 0x86dd, kEthertypeMpls = 0x8847, kEthertypePppoe = 0x8864;
constexpr uint16_t kErspanInGre = 0x88be, kErspan3InGre = 0x22eb, kEthernetBridged = 0x6558;
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
      : all_(frame.bytes),
        c_(frame.bytes, frame.wire_length),
        p_(packet),
        ports_(ports),
        headers_(headers),
        interface_(frame.interface) {}

  void Run(LinkType link) {
    p_.carrier = Carrier::kOther;
    p_.status = ParseStatus::kUnsupported;
    p_.ip_fragment = false;
    p_.stop = {};
    p_.tunnels = 0;
    p_.ip_id = 0;
    p_.way = interface_;
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
      case LinkType::kNull: Null(); break;
      case LinkType::kPpp: Ppp(); break;
      case LinkType::kCiscoHdlc: CiscoHdlc(); break;
      case LinkType::kUnsupported:
        if (c_.wire_remaining() > 0) StopAt(StopReason::kLinkType, 0);
        break;
    }
    if (!c_.ok()) {
      p_.status = c_.status();
      StopAt(p_.status == ParseStatus::kMalformed ? StopReason::kContradiction : StopReason::kCut, 0);
    }
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

  void StopAt(StopReason reason, unsigned detail) {
    if (p_.stop.reason == StopReason::kNone) p_.stop = {reason, static_cast<uint16_t>(detail)};
  }

  // One step of the way down, by the number that names it.
  struct Step {
    uint16_t number;
    void (Decoding::*decode)();
  };
  using Steps = std::span<const Step>;
  static Steps Ethertypes(), GreProtocols(), IpProtocols(), UdpPorts(), PppProtocols();
  // Null: there is none for `number`.
  static const Step* Find(Steps steps, uint16_t number) {
    const auto step = std::ranges::find(steps, number, &Step::number);
    return step == steps.end() ? nullptr : &*step;
  }
  // False: there is no step to take.
  bool Take(Steps steps, uint16_t number) {
    const Step* step = Find(steps, number);
    if (step) (this->*step->decode)();
    return step != nullptr;
  }

  void Ethernet() {
    constexpr uint16_t kLongestOf8023 = 1500;
    const size_t begin = c_.offset();
    MixWay(c_.Take(12));
    const uint16_t type = c_.U16();
    Note(HeaderKind::kEthernet, begin);
    if (!c_.ok() || type > kLongestOf8023) return Ethertype(type);
    Llc();  // a length instead of a type (IEEE 802.3)
  }

  // BSD's loopback: the address family, in the byte order of the host or of the network.
  void Null() {
    const Bytes family = c_.Take(4);
    Note(HeaderKind::kShim, 0);
    if (!family.empty()) RawIp();
  }

  // Cisco's HDLC: address, control, ethertype.
  void CiscoHdlc() {
    Skip(2);
    const uint16_t type = c_.U16();
    Note(HeaderKind::kTag, 0);
    if (c_.ok()) Ethertype(type);
  }

  // The Subnetwork Access Protocol names an ethertype, or an Ethernet frame (RFC 1042, RFC 2684); IP has an LLC address
  // of its own. Others are of protocols that are no wrappings.
  void Llc() {
    constexpr uint32_t kOuiBridged = 0x0080c2;
    constexpr uint8_t kSnap = 0xaa, kIp = 0x06;
    const size_t begin = c_.offset();
    const uint8_t to = c_.U8();
    if (to != kSnap && to != kIp) return;
    Skip(2);
    if (to == kIp) {
      Note(HeaderKind::kShim, begin);
      if (Enter(Tunnel::kLlc)) RawIp();
      return;
    }
    const uint32_t oui = c_.U24();
    const uint16_t type = c_.U16();
    const bool bridged = oui == kOuiBridged && (type == 1 || type == 7);  // with and without the FCS
    if (bridged) Skip(2);
    Note(bridged ? HeaderKind::kShim : HeaderKind::kTag, begin);
    if ((oui != 0 && !bridged) || !Enter(Tunnel::kLlc)) return;
    bridged ? Ethernet() : Ethertype(type);
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
    if (type == kEthertypeIpv4) return Ipv4();
    if (type == kEthertypeIpv6) return Ipv6();
    if (!Take(Ethertypes(), type) && !IsLeaf(kLeafEthertypes, type)) StopAt(StopReason::kEthertype, type);
  }

  // Protocols that wrap nothing: where they stand, the whole frame was looked into.
  static constexpr uint16_t kLeafEthertypes[] = {0x0806, 0x0842, 0x8035, 0x8808, 0x8809, 0x8863,
                                                 0x888e, 0x88cc, 0x88f7, 0x8902, 0x9000};
  static constexpr uint16_t kLeafIpProtocols[] = {kProtocolIcmp,
                                                  kProtocolIgmp,
                                                  kProtocolIcmpv6,
                                                  59,  // no next header
                                                  88,
                                                  89,
                                                  103,
                                                  112,
                                                  132};
  template <size_t kSize>
  static bool IsLeaf(const uint16_t (&leaves)[kSize], uint16_t number) {
    return std::ranges::find(leaves, number) != std::end(leaves);
  }

  void RoceV1() {
    p_.carrier = Carrier::kRoceV1;
    headers_begin_ = c_.offset();
    Grh();
  }

  // A tag of `length` bytes, the last two of which are the ethertype of what is behind it.
  void Tag(Tunnel kind, size_t length) {
    const size_t begin = c_.offset();
    Skip(length - 2);
    const uint16_t type = c_.U16();
    Note(HeaderKind::kTag, begin);
    if (Enter(kind)) Ethertype(type);
  }
  void VnTag() { Tag(Tunnel::kVnTag, 6); }
  void ETag() { Tag(Tunnel::kETag, 8); }
  void Hsr() { Tag(Tunnel::kHsr, 6); }
  void RTag() { Tag(Tunnel::kRTag, 6); }

  // Cisco MetaData: version, length in words of four bytes, that many options, the ethertype.
  void CiscoMetaData() {
    const Bytes rest = c_.Rest();
    const size_t words = rest.size() < 2 ? 1 : std::max<size_t>(1, std::to_integer<size_t>(rest[1]));
    Tag(Tunnel::kCiscoMetaData, 4 + words * 4);
  }

  // Arista's time stamps: subtype 1, then TAI or UTC of 64 or 48 bits.
  void AristaTime() {
    const Bytes rest = c_.Rest();
    const bool shorter = rest.size() >= 4 && LoadBe16(&rest[2]) % 0x100 == 0x20;
    Tag(Tunnel::kAristaTime, 4 + (shorter ? 6 : 8) + 2);
  }

  // `length` bytes, then an Ethernet frame.
  void EthernetBehind(Tunnel kind, uint64_t length, HeaderKind header = HeaderKind::kShim) {
    const size_t begin = c_.offset();
    Skip(length);
    if (length > 0) Note(header, begin);
    if (Enter(kind)) Ethernet();
  }
  void BackboneBridge() { EthernetBehind(Tunnel::kPbb, 4); }  // the tag of the service instance
  void FabricPath() { EthernetBehind(Tunnel::kFabricPath, 2); }
  void Bridged() { EthernetBehind(Tunnel::kEthernet, 0); }
  void MellanoxMirror() { EthernetBehind(Tunnel::kMellanoxMirror, 22, HeaderKind::kOpaque); }
  void BatmanAdvanced() {
    constexpr std::byte kUnicast{0x40}, kVersion{15};
    const Bytes rest = c_.Rest();
    if (rest.size() >= 2 && (rest[0] != kUnicast || rest[1] != kVersion)) return;
    EthernetBehind(Tunnel::kBatmanAdvanced, 10, HeaderKind::kBatmanAdvanced);
  }
  void Trill() {
    const size_t begin = c_.offset();
    const uint16_t first = c_.U16();
    Skip(4 + uint64_t{first >> 6 & 0x1fu} * 4);
    Note(HeaderKind::kShim, begin);
    if (first >> 14 != 0) return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kTrill));
    if (Enter(Tunnel::kTrill)) Ethernet();
  }
  void EtherIp() {
    const Bytes rest = c_.Rest();
    if (!rest.empty() && rest[0] != std::byte{0x30})
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kEtherIp));
    EthernetBehind(Tunnel::kEtherIp, 2);
  }

  // MACsec (IEEE 802.1AE): what is not encrypted is followed by an integrity check value, which no length counts.
  void MacSec() {
    constexpr unsigned kVersion = 0x80, kHasSci = 0x20, kEncrypted = 0x08, kChanged = 0x04;
    const size_t begin = c_.offset();
    const unsigned control = c_.U8();
    Skip(5);
    if ((control & kHasSci) != 0) Skip(8);
    Note(HeaderKind::kMacSec, begin);
    if (!c_.ok()) return;
    if ((control & (kVersion | kEncrypted | kChanged)) != 0) return StopAt(StopReason::kEncryptedMacSec, 0);
    const size_t type_begin = c_.offset();
    const uint16_t type = c_.U16();
    Note(HeaderKind::kTag, type_begin);
    if (Enter(Tunnel::kMacSec)) Ethertype(type);
  }

  // Network Service Header (RFC 8300).
  void Nsh() {
    const size_t begin = c_.offset();
    const uint16_t first = c_.U16();
    Skip(1);
    const uint8_t next = c_.U8();
    const unsigned words = first & 0x3f;
    if (c_.ok() && (first >> 14 != 0 || words < 2))
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kNsh));
    if (c_.ok()) Skip(uint64_t{words} * 4 - 4);
    Note(HeaderKind::kNsh, begin);
    if (Enter(Tunnel::kNsh)) Next(next, StopReason::kNsh);
  }

  // What VXLAN-GPE and NSH number in the same way.
  void Next(uint8_t next, StopReason unknown) {
    switch (next) {
      case 1: return Ipv4();
      case 2: return Ipv6();
      case 3: return Ethernet();
      case 4: return Nsh();
      case 5: return Mpls();
      default: return StopAt(unknown, next);
    }
  }

  void RawIp() {
    if (c_.Rest().empty()) return (void)c_.U8();
    unsigned version = std::to_integer<unsigned>(c_.Rest()[0]) >> 4;
    if (version == 4) return Ipv4();
    if (version == 6) return Ipv6();
    StopAt(StopReason::kNotIp, 0);
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
    total = LengthOf(total, wire_left);
    if (total < header) return c_.Fail(ParseStatus::kMalformed);
    Skip(header - 20);
    Note(HeaderKind::kIpv4, headers_begin_);
    if ((fragment & 0x3fff) != 0)
      return Fragment({p_.ip_id, (fragment & 0x1fffu) * 8, protocol, (fragment & 0x2000) != 0, false}, header,
                      total - header);
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
    length = LengthOf(length, wire_left - 40);
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
        const uint16_t fragment = c_.U16();
        const uint32_t id = c_.U32();
        Note(HeaderKind::kIpv6Extension, begin);
        if (!c_.ok()) return;
        if (length < 8) return c_.Fail(ParseStatus::kMalformed);
        length -= 8;
        if ((fragment & 0xfff9) != 0)
          return Fragment({id, fragment & 0xfff8u, next, (fragment & 1) != 0, true}, 40, length);
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

  // `header`: bytes of the IP header; `length`: of the fragment.
  void Fragment(const IpFragment& fragment, uint64_t header, uint64_t length) {
    if (!c_.ok()) return;
    p_.ip_fragment = true;
    p_.fragment = fragment;
    p_.icrc_headers = all_.subspan(headers_begin_, static_cast<size_t>(header));
    p_.payload = c_.Rest().first(static_cast<size_t>(std::min<uint64_t>(c_.remaining(), length)));
    p_.wire_length = length;
    p_.status = ParseStatus::kUnsupported;
    StopAt(StopReason::kFragment, kFragmentAlone);
  }

  void Transport(uint8_t protocol, uint64_t length) {
    if (protocol == kProtocolUdp) return Udp(length);
    if (protocol == kProtocolTcp) return Tcp(length);
    Narrow(length);
    ip_protocol_ = protocol;
    if (!Take(IpProtocols(), protocol) && !IsLeaf(kLeafIpProtocols, protocol))
      StopAt(StopReason::kIpProtocol, protocol);
  }

  void IpInIp() {
    if (Enter(Tunnel::kIpInIp)) ip_protocol_ == kProtocolIpv4 ? Ipv4() : Ipv6();
  }

  // The authentication header in IPv4; in IPv6 it is one extension header of several.
  void Ah() {
    const size_t begin = c_.offset();
    const uint8_t next = c_.U8();
    const uint64_t length = 8 + uint64_t{c_.U8()} * 4;
    Skip(length - 2);
    Note(HeaderKind::kIpv6Extension, begin);
    if (!c_.ok()) return;
    // A second one behind it is what nobody sends.
    next == kProtocolAh ? StopAt(StopReason::kIpProtocol, next) : Transport(next, c_.wire_remaining());
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
    const bool vxlan = Contains(ports_.vxlan, to), geneve = Contains(ports_.geneve, to);
    const Step* by_port = to == kRoceV2Port || vxlan || geneve ? nullptr : Find(UdpPorts(), to);
    const bool tunnel = to != kRoceV2Port && (vxlan || geneve || by_port);
    if (!tunnel && !has_port(kRoceV2Port) && !has_port(kRpcbindPort)) return;
    if (!tunnel) p_.carrier = has_port(kRoceV2Port) ? Carrier::kRoceV2 : Carrier::kRpcbind;
    if (udp_length == 0) udp_length = length;
    if (udp_length < 8 || udp_length > length) return c_.Fail(ParseStatus::kMalformed);
    if (!tunnel) return Payload(udp_length - 8);
    Narrow(LengthOf(udp_length, length) - 8);
    if (vxlan) return Vxlan(false);
    if (geneve) return Geneve();
    (this->*by_port->decode)();
  }

  void VxlanGpe() { Vxlan(true); }

  // Locator/Identifier Separation (RFC 9300): flags, nonce and locator status, then IP.
  void Lisp() {
    const size_t begin = c_.offset();
    Skip(8);
    Note(HeaderKind::kShim, begin);
    if (Enter(Tunnel::kLisp)) RawIp();
  }

  // TaZmen Sniffer Protocol: version, type, protocol, then tags up to the one that ends them.
  void Tzsp() {
    constexpr uint8_t kVersion = 1, kReceived = 0, kToSend = 1, kPadding = 0, kEnd = 1;
    constexpr uint16_t kEthernetInTzsp = 1;
    const size_t begin = c_.offset();
    const uint8_t version = c_.U8(), type = c_.U8();
    const uint16_t protocol = c_.U16();
    if (c_.ok() && (version != kVersion || (type != kReceived && type != kToSend) || protocol != kEthernetInTzsp))
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kTzsp));
    for (uint8_t tag = kPadding; c_.ok() && tag != kEnd;) {
      tag = c_.U8();
      if (tag != kPadding && tag != kEnd) Skip(c_.U8());
    }
    Note(HeaderKind::kTzsp, begin);
    if (Enter(Tunnel::kTzsp)) Ethernet();
  }

  // The user plane of GPRS tunnels (3GPP TS 29.281): IP, or Ethernet.
  void GtpUser() {
    constexpr unsigned kOptional = 7, kExtension = 4;
    constexpr uint8_t kPacket = 255;
    const size_t begin = c_.offset();
    const unsigned flags = c_.U8();
    const uint8_t type = c_.U8();
    Skip(6);
    if (!c_.ok() || flags >> 5 != 1 || type != kPacket) return;  // signals
    if ((flags & kOptional) != 0) {
      Skip(3);
      uint8_t next = c_.U8();
      while (c_.ok() && (flags & kExtension) != 0 && next != 0) {
        const unsigned words = c_.U8();
        if (c_.ok() && words == 0) return c_.Fail(ParseStatus::kMalformed);
        Skip(uint64_t{words} * 4 - 2);
        next = c_.U8();
      }
    }
    Note(HeaderKind::kShim, begin);
    if (Enter(Tunnel::kGtp)) IpOrEthernet();
  }

  void Teredo() {
    if (c_.Rest().empty()) return Skip(1);
    if (std::to_integer<unsigned>(c_.Rest()[0]) >> 4 != 6) return;  // bubbles and authentication
    if (Enter(Tunnel::kTeredo)) Ipv6();
  }

  void JMirror() {  // two identifiers, then IP
    const size_t begin = c_.offset();
    Skip(8);
    Note(HeaderKind::kShim, begin);
    if (Enter(Tunnel::kJMirror)) RawIp();
  }

  // Layer 2 Tunneling Protocol, version 2 (RFC 2661): PPP. Version 3 does not say what it carries.
  void L2tp() {
    constexpr uint16_t kControl = 0x8000, kLength = 0x4000, kSequence = 0x0800, kOffset = 0x0200;
    const size_t begin = c_.offset();
    const uint16_t flags = c_.U16();
    if (!c_.ok() || (flags & kControl) != 0) return;
    if ((flags & 0xf) != 2) return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kL2tp));
    Skip((flags & kLength) != 0 ? 6 : 4);
    if ((flags & kSequence) != 0) Skip(4);
    if ((flags & kOffset) != 0) Skip(c_.U16());
    Note(HeaderKind::kShim, begin);
    if (Enter(Tunnel::kL2tp)) Ppp();
  }

  // sFlow version 5: the first frame that a sample has the beginning of. A sample says how long the frame was.
  void SFlow() {
    constexpr uint32_t kVersion = 5, kIpv4Agent = 1, kIpv6Agent = 2, kFlow = 1, kExpandedFlow = 3, kRawHeader = 1,
                       kEthernetInSFlow = 1;
    constexpr unsigned kMostSamples = 64, kMostRecords = 64;
    const size_t begin = c_.offset();
    const uint32_t version = c_.U32(), agent = c_.U32();
    if (!c_.ok()) return;
    if (version != kVersion || (agent != kIpv4Agent && agent != kIpv6Agent))
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kSFlow));
    Skip((agent == kIpv4Agent ? 4u : 16u) + 12);
    const uint32_t samples = c_.U32();
    Note(HeaderKind::kSFlow, begin);
    for (uint32_t i = 0; c_.ok() && i < std::min(samples, kMostSamples); ++i) {
      const size_t sample = c_.offset();
      const uint32_t kind = c_.U32(), length = c_.U32();
      if (kind != kFlow && kind != kExpandedFlow) {
        Skip(length);
        Note(HeaderKind::kSFlowRecord, sample);
        continue;
      }
      Skip(kind == kFlow ? 28 : 40);
      const uint32_t records = c_.U32();
      Note(HeaderKind::kShim, sample);
      for (uint32_t j = 0; c_.ok() && j < std::min(records, kMostRecords); ++j) {
        const size_t record = c_.offset();
        const uint32_t format = c_.U32(), size = c_.U32();
        if (format != kRawHeader) {
          Skip(size);
          Note(HeaderKind::kSFlowRecord, record);
          continue;
        }
        const uint32_t protocol = c_.U32(), frame_length = c_.U32(), stripped = c_.U32(), captured = c_.U32();
        Note(HeaderKind::kShim, record);
        if (!c_.ok()) return;
        if (protocol != kEthernetInSFlow) return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kSFlow));
        return Sampled(captured, frame_length < stripped ? 0 : frame_length - stripped);
      }
    }
  }
  // `captured` bytes of an Ethernet frame that was `length` long.
  void Sampled(uint32_t captured, uint32_t length) {
    if (captured > c_.wire_remaining()) return c_.Fail(ParseStatus::kMalformed);
    const size_t at = c_.offset();
    all_ = all_.first(static_cast<size_t>(std::min<uint64_t>(all_.size(), at + uint64_t{captured})));
    c_ = Cursor(all_, at + uint64_t{std::max(captured, length)});
    Skip(at);
    if (Enter(Tunnel::kSFlow)) Ethernet();
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

  // The length behind a header that states `stated` bytes, where there are `left`. A host captures segments before its
  // adapter cuts them (segmentation offload): the length is 0 then, where it does not fit, or, in a tunnel, that of one
  // of the segments. No trailer is as long as what comes behind that.
  static uint64_t LengthOf(uint64_t stated, uint64_t left) {
    constexpr uint64_t kLeastSegment = 576, kMostTrailer = 512;
    return stated == 0 || (stated >= kLeastSegment && left > stated + kMostTrailer) ? left : stated;
  }

  // What follows has `length` bytes at most: a header around it says so.
  void Narrow(uint64_t length) {
    if (length >= c_.wire_remaining()) return;
    const size_t at = c_.offset();
    all_ = all_.first(static_cast<size_t>(std::min<uint64_t>(all_.size(), at + length)));
    c_ = Cursor(all_, at + length);
    Skip(at);
  }

  void Count(Tunnel kind) { p_.tunnels |= 1u << static_cast<unsigned>(kind); }

  // The header of a tunnel was read. False: there is nothing to go on with.
  bool Enter(Tunnel kind) {
    if (!c_.ok()) return false;
    if (depth_ == kTunnelDepth) {
      StopAt(StopReason::kTooDeep, kTunnelDepth);
      return false;
    }
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
    Next(next, StopReason::kVxlanGpe);
  }

  void Geneve() {
    const size_t begin = c_.offset();
    const uint8_t first = c_.U8();
    Skip(1);
    const uint16_t type = c_.U16();
    Skip(4);
    if (c_.ok() && first >> 6 != 0) return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kGeneve));
    Skip(uint64_t{first & 0x3fu} * 4);
    Note(HeaderKind::kGeneve, begin);
    if (Enter(Tunnel::kGeneve)) type == kEthernetBridged ? Ethernet() : Ethertype(type);
  }

  void Gre() {
    constexpr uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 7;
    constexpr uint16_t kPptp = 0x3001, kPptpAcknowledgment = 0x0080, kPppInGre = 0x880b;
    const size_t begin = c_.offset();
    const uint16_t flags = c_.U16(), type = c_.U16();
    const bool pptp = type == kPppInGre && (flags & ~(kSequence | kPptpAcknowledgment)) == (kPptp & ~kSequence);
    if (c_.ok() && !pptp && (flags & (kRouting | kVersion)) != 0)  // RFC 1701's source routes
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kGre));
    for (const uint16_t field : {kChecksum, kKey, kSequence}) {
      if (flags & field) Skip(4);
    }
    if (pptp && (flags & kPptpAcknowledgment) != 0) Skip(4);
    Note(HeaderKind::kGre, begin);
    if (!c_.ok()) return;
    const bool type1 = type == kErspanInGre && (flags & kSequence) == 0;
    if (type1) {
      if (Enter(Tunnel::kErspan)) Ethernet();
    } else if (type == kErspanInGre || type == kErspan3InGre) {
      Erspan();
    } else if (Enter(Tunnel::kGre)) {
      GreCarries(type);
    }
  }

  void GreCarries(uint16_t type) {
    if (Take(GreProtocols(), type)) return;
    Ethertype(type);
    if (p_.stop.reason == StopReason::kEthertype && p_.stop.detail == type) p_.stop.reason = StopReason::kGre;
  }

  // Web Cache Communication Protocol: the redirect header of version 2 is there or not; its first byte is no version of
  // IP.
  void Wccp() {
    const size_t begin = c_.offset();
    if (!c_.Rest().empty() && std::to_integer<unsigned>(c_.Rest()[0]) >> 4 != 4) {
      Skip(4);
      Note(HeaderKind::kShim, begin);
    }
    if (c_.ok()) RawIp();
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
    } else if (c_.ok()) {
      return StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kErspan));
    }
    Note(HeaderKind::kErspan, begin);
    if (!Enter(Tunnel::kErspan)) return;
    if (content == kEthernetFrame) return Ethernet();
    if (content == kIpPacket) return RawIp();
    StopAt(StopReason::kForm, static_cast<unsigned>(Tunnel::kErspan));
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
    if (IsEthernet(rest)) return Ethernet();
    StopAt(StopReason::kMpls, 0);
  }

  void IpOrEthernet() {
    const Bytes rest = c_.Rest();
    if (rest.size() < kEthernetHead) return Skip(kEthernetHead);
    const unsigned first = std::to_integer<unsigned>(rest[0]) >> 4;
    (first == 4 || first == 6) && !IsEthernet(rest) ? RawIp() : Ethernet();
  }

  // Whether an Ethernet header with something that we follow begins here.
  static constexpr size_t kEthernetHead = 15;
  static bool IsEthernet(Bytes bytes) {
    if (bytes.size() < kEthernetHead) return false;
    const uint16_t type = LoadBe16(&bytes[12]);
    const unsigned version = std::to_integer<unsigned>(bytes[14]) >> 4;
    return (type == kEthertypeIpv4 && version == 4) || (type == kEthertypeIpv6 && version == 6) || IsVlan(type) ||
           Find(Ethertypes(), type);
  }

  void Pppoe() {
    const size_t begin = c_.offset();
    const uint16_t version_type_code = c_.U16();
    Skip(2);
    const uint64_t length = c_.U16();
    if (!c_.ok() || version_type_code != 0x1100) return;
    if (length < 1) return c_.Fail(ParseStatus::kMalformed);
    Note(HeaderKind::kPppoe, begin);
    Narrow(length);
    if (Enter(Tunnel::kPppoe)) Ppp();
  }

  // PPP (RFC 1661, 1662): address and control may be left out, and a protocol below 256 may have one byte.
  void Ppp() {
    constexpr uint16_t kAddressControl = 0xff03, kCiscoAddress = 0x0f00, kCiscoMulticast = 0x8f00;
    const size_t begin = c_.offset();
    const Bytes rest = c_.Rest();
    constexpr std::byte kLowestOfTwo{0x0f};
    if (rest.size() == 1 && (rest[0] & kLowestOfTwo) == kLowestOfTwo) return Skip(2);
    const uint16_t first = rest.size() < 2 ? 0 : LoadBe16(rest.data());
    if (begin == 0 && (first == kCiscoAddress || first == kCiscoMulticast)) return CiscoHdlc();
    if (first == kAddressControl) Skip(2);
    uint16_t protocol = c_.U8();
    if ((protocol & 1) == 0) protocol = static_cast<uint16_t>(protocol << 8 | c_.U8());
    Note(HeaderKind::kShim, begin);
    // Control protocols begin with a one bit.
    if (c_.ok() && !Take(PppProtocols(), protocol) && protocol < 0x8000) StopAt(StopReason::kPpp, protocol);
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
  const uint32_t interface_;
  size_t origin_ = 0;  // of `all_` within the frame
  size_t headers_begin_ = 0;
  unsigned depth_ = 0;  // tunnels around what is being read
  uint8_t ip_protocol_ = 0;
};

Decoding::Steps Decoding::Ethertypes() {
  static constexpr Step kSteps[] = {
      {kEthertypeMpls, &Decoding::Mpls},
      {0x8848, &Decoding::Mpls},  // multicast
      {kEthertypePppoe, &Decoding::Pppoe},
      {kRoceV1Ethertype, &Decoding::RoceV1},
      {kEthernetBridged, &Decoding::Bridged},
      {0x22f3, &Decoding::Trill},
      {0x4305, &Decoding::BatmanAdvanced},
      {0x8870, &Decoding::Llc},  // "jumbo" frames
      {0x88e5, &Decoding::MacSec},
      {0x88e7, &Decoding::BackboneBridge},
      {0x8903, &Decoding::FabricPath},
      {0x8909, &Decoding::CiscoMetaData},
      {0x8926, &Decoding::VnTag},
      {0x892f, &Decoding::Hsr},
      {0x893f, &Decoding::ETag},
      {0x894f, &Decoding::Nsh},
      {0xd28b, &Decoding::AristaTime},
      {0xf1c1, &Decoding::RTag},
  };
  return kSteps;
}

// Beside ethertypes.
Decoding::Steps Decoding::GreProtocols() {
  static constexpr Step kSteps[] = {
      {0x8949, &Decoding::MellanoxMirror},
      {0x6400, &Decoding::Ethernet},
      {kEthernetBridged, &Decoding::Ethernet},
      {0x880b, &Decoding::Ppp},
      {0x8881, &Decoding::Ppp},  // of mobile networks
      {0x88d2, &Decoding::Ppp},  // likewise
      {0x883e, &Decoding::Wccp},
  };
  return kSteps;
}

Decoding::Steps Decoding::IpProtocols() {
  static constexpr Step kSteps[] = {
      {kProtocolGre, &Decoding::Gre},          {kProtocolIpv4, &Decoding::IpInIp},
      {kProtocolIpv6, &Decoding::IpInIp},      {kProtocolAh, &Decoding::Ah},
      {kProtocolEtherIp, &Decoding::EtherIp},  {kProtocolMpls, &Decoding::Mpls},
      {kProtocolEthernet, &Decoding::Bridged},
  };
  return kSteps;
}

Decoding::Steps Decoding::UdpPorts() {
  static constexpr Step kSteps[] = {
      {kVxlanGpePort, &Decoding::VxlanGpe},
      {6635, &Decoding::Mpls},
      {4754, &Decoding::Gre},
      {4341, &Decoding::Lisp},
      {37008, &Decoding::Tzsp},
      {2152, &Decoding::GtpUser},
      {6343, &Decoding::SFlow},
      {3544, &Decoding::Teredo},
      {1701, &Decoding::L2tp},
      {30030, &Decoding::JMirror},
  };
  return kSteps;
}

Decoding::Steps Decoding::PppProtocols() {
  static constexpr Step kSteps[] = {
      {0x0021, &Decoding::Ipv4}, {0x0057, &Decoding::Ipv6},
      {0x0281, &Decoding::Mpls}, {0x0283, &Decoding::Mpls},  // multicast
      {0x004b, &Decoding::Llc},
  };
  return kSteps;
}

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
  p.stop = {};
  p.ip_id = LoadBe16(at + kIp + 4);
  std::memcpy(&p.way, at + 4, sizeof p.way);
  // Who sent it on, its time to live, and which interface of the capture had it.
  p.way ^= std::to_integer<uint64_t>(at[kIp + 8]) ^ uint64_t { frame.interface } << 8;
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
