// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/feed.h"

#include <algorithm>
#include <cstring>

#include "plugin/pipeline.h"
#include "protocol/link/packet.h"

namespace stag::plugin {
namespace {

uint32_t fed_early = 0;  // the frame that was fed before its postdissector's turn
int ipv4_protocol = -1, ipv6_protocol = -1;

// Record types of the ERF format. Wireshark has taken off the record header, and the two bytes before Ethernet.
LinkType LinkOfErf(uint8_t type) {
  switch (type & 0x7f) {
    case 2:   // TYPE_ETH
    case 11:  // TYPE_COLOR_ETH
    case 16:  // TYPE_DSM_COLOR_ETH
    case 20:  // TYPE_COLOR_HASH_ETH
      return LinkType::kEthernet;
    case 21:  // TYPE_INFINIBAND
    case 25:  // TYPE_INFINIBAND_LINK
      return LinkType::kErfInfiniBand;
    case 22:  // TYPE_IPV4
    case 23:  // TYPE_IPV6
      return LinkType::kRawIp;
    default: return LinkType::kUnsupported;
  }
}

LinkType LinkOf(const packet_info* pinfo) {
  if (!pinfo->rec || pinfo->rec->rec_type != REC_TYPE_PACKET) return LinkType::kUnsupported;
  switch (pinfo->rec->rec_header.packet_header.pkt_encap) {
    case WTAP_ENCAP_ETHERNET: return LinkType::kEthernet;
    case WTAP_ENCAP_SLL: return LinkType::kLinuxSll;
    case WTAP_ENCAP_SLL2: return LinkType::kLinuxSll2;
    case WTAP_ENCAP_RAW_IP:
    case WTAP_ENCAP_RAW_IP4:
    case WTAP_ENCAP_RAW_IP6: return LinkType::kRawIp;
    case WTAP_ENCAP_NULL:
    case WTAP_ENCAP_LOOP: return LinkType::kNull;
    case WTAP_ENCAP_PPP: return LinkType::kPpp;
    case WTAP_ENCAP_CHDLC: return LinkType::kCiscoHdlc;
    case WTAP_ENCAP_INFINIBAND: return LinkType::kInfiniBand;
    case WTAP_ENCAP_ERF:
      return pinfo->pseudo_header ? LinkOfErf(pinfo->pseudo_header->erf.phdr.type) : LinkType::kUnsupported;
    default: return LinkType::kUnsupported;
  }
}

Bytes BytesOf(const address& a) { return {static_cast<const std::byte*>(a.data), static_cast<size_t>(a.len)}; }

bool Same(const Address& ours, const address& theirs) {
  const bool ip = (ours.kind == Address::Kind::kIpv4 && theirs.type == AT_IPv4) ||
                  (ours.kind == Address::Kind::kIpv6 && theirs.type == AT_IPv6);
  return ip && std::memcmp(ours.bytes.data(), theirs.data, static_cast<size_t>(theirs.len)) == 0;
}

// How far into a frame the inner headers of a tunnel are looked for.
constexpr size_t kDeepest = 512;

// Where the IP header with the innermost addresses that Wireshark has seen stands, for a TCP or UDP packet; 0: nowhere.
size_t FindInnerIp(Bytes bytes, const packet_info* pinfo) {
  const address &source = pinfo->net_src, &destination = pinfo->net_dst;
  if (source.type != destination.type || (source.type != AT_IPv4 && source.type != AT_IPv6)) return 0;
  const bool v4 = source.type == AT_IPv4;
  const size_t header = v4 ? 20 : 40, addresses = v4 ? 12 : 8, protocol_at = v4 ? 9 : 6;
  const auto length = static_cast<size_t>(source.len);
  size_t found = 0;
  for (size_t at = 1; at + header <= std::min(bytes.size(), kDeepest); ++at) {
    const std::byte* ip = bytes.data() + at;
    const auto protocol_number = static_cast<uint8_t>(ip[protocol_at]);
    if (static_cast<uint8_t>(ip[0]) >> 4 != (v4 ? 4 : 6) || (protocol_number != 6 && protocol_number != 17)) continue;
    if (std::memcmp(ip + addresses, source.data, length) == 0 &&
        std::memcmp(ip + addresses + length, destination.data, length) == 0) {
      found = at;
    }
  }
  return found;
}

// Where the innermost Ethernet header stands, when RoCEv1 is in it; 0: nowhere.
size_t FindInnerRoce(Bytes bytes, const packet_info* pinfo) {
  const address &source = pinfo->dl_src, &destination = pinfo->dl_dst;
  if (source.type != AT_ETHER || destination.type != AT_ETHER) return 0;
  constexpr size_t kMac = 6;
  size_t found = 0;
  for (size_t at = 1; at + 14 <= std::min(bytes.size(), kDeepest); ++at) {
    const std::byte* ethernet = bytes.data() + at;
    const bool ethertype = static_cast<uint8_t>(ethernet[12]) == link::kRoceV1Ethertype >> 8 &&
                           static_cast<uint8_t>(ethernet[13]) == (link::kRoceV1Ethertype & 0xff);
    if (ethertype && std::memcmp(ethernet, BytesOf(destination).data(), kMac) == 0 &&
        std::memcmp(ethernet + kMac, BytesOf(source).data(), kMac) == 0) {
      found = at;
    }
  }
  return found;
}

// How many IP headers Wireshark has found in the frame.
unsigned CountIpHeaders(const packet_info* pinfo) {
  unsigned count = 0;
  for (wmem_list_frame_t* layer = wmem_list_head(pinfo->layers); layer; layer = wmem_list_frame_next(layer)) {
    const int id = GPOINTER_TO_INT(wmem_list_frame_data(layer));
    if (id == ipv4_protocol || id == ipv6_protocol) ++count;
  }
  return count;
}

// Whether nothing that we could follow is left to be unwrapped.
bool IsInnermost(const link::Packet& packet, const packet_info* pinfo) {
  if (packet.carrier == link::Carrier::kInfiniBand || packet.carrier == link::Carrier::kRoceV1) return true;
  if (!Same(packet.source, pinfo->net_src) || !Same(packet.destination, pinfo->net_dst)) return false;
  return packet.carrier != link::Carrier::kOther || CountIpHeaders(pinfo) == 1;
}

// The packet that the frame carries. Where Wireshark unwrapped a tunnel that link::Decode does not know, as by Decode
// As, the packet is decoded from the inner header on.
link::Packet PacketOf(const Frame& frame, const packet_info* pinfo) {
  const link::Packet packet = link::Decode(frame);
  if (packet.ip_fragment || IsInnermost(packet, pinfo)) return packet;
  // An ICMP error quotes a packet that was seen elsewhere.
  if (proto_is_frame_protocol(pinfo->layers, "icmp") || proto_is_frame_protocol(pinfo->layers, "icmpv6")) return packet;
  Frame inner = frame;
  size_t at = FindInnerIp(frame.bytes, pinfo);
  inner.link = LinkType::kRawIp;
  if (at == 0) {
    at = FindInnerRoce(frame.bytes, pinfo);
    inner.link = LinkType::kEthernet;
  }
  if (at == 0) return packet;
  inner.bytes = frame.bytes.subspan(at);
  inner.wire_length -= static_cast<uint32_t>(at);
  return link::Decode(inner);
}

void FeedFrame(tvbuff_t* tvb, const packet_info* pinfo) {
  const unsigned captured = tvb_captured_length(tvb);
  Frame frame;
  frame.ref = {pinfo->num, ClampTime(__int128{pinfo->abs_ts.secs} * 1'000'000'000 + pinfo->abs_ts.nsecs)};
  frame.link = LinkOf(pinfo);
  frame.wire_length = tvb_reported_length(tvb);
  if (captured != 0) {
    const uint8_t* bytes = tvb_get_ptr(tvb, 0, static_cast<int>(captured));
    frame.bytes = {reinterpret_cast<const std::byte*>(bytes), captured};
  }
  Feed(frame, PacketOf(frame, pinfo));
}

}  // namespace

void StartFeed() {
  fed_early = 0;
  ipv4_protocol = proto_get_id_by_filter_name("ip");
  ipv6_protocol = proto_get_id_by_filter_name("ipv6");
}

void FeedEarly(packet_info* pinfo) {
  if (PINFO_FD_VISITED(pinfo) || fed_early == pinfo->num || !pinfo->data_src) return;
  fed_early = pinfo->num;
  FeedFrame(get_data_source_tvb(static_cast<const data_source*>(pinfo->data_src->data)), pinfo);
}

void FinishFrame(tvbuff_t* frame, packet_info* pinfo) {
  const bool fed = fed_early == pinfo->num;
  fed_early = 0;
  if (!PINFO_FD_VISITED(pinfo) && !fed) FeedFrame(frame, pinfo);
}

}  // namespace stag::plugin
