// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/ip_frames.h"

namespace stag::evidence {

using test::Buffer;

namespace {

constexpr uint8_t kTcp = 6, kUdp = 17;
constexpr size_t kTcpHeader = 20, kUdpHeader = 8;

Address Ip(fabric::Side side) { return link::Ipv4Address(192, 0, 2, static_cast<uint8_t>(side + 1)); }
link::Mac MacOf(fabric::Side side) { return {std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(side + 1)}; }

Buffer Start(fabric::Side from, uint8_t protocol, size_t length) {
  const auto to = fabric::Side(1 - from);
  Buffer out;
  link::AppendEthernet(out, MacOf(to), MacOf(from), {}, 0x0800);
  link::AppendIpv4(out, Ip(from), Ip(to), protocol, length);
  return out;
}

}  // namespace

Buffer TcpFrame(fabric::Side from, Ports ports, TcpFields fields, Bytes payload) {
  Buffer out = Start(from, kTcp, kTcpHeader + payload.size());
  const size_t tcp = out.size();
  link::AppendTcp(out, ports.source, ports.destination, fields.sequence, fields.acknowledgment, fields.flags, 0xffff);
  out.insert(out.end(), payload.begin(), payload.end());
  link::SealTcp(out, tcp, Ip(from), Ip(fabric::Side(1 - from)));
  return out;
}

Buffer UdpFrame(fabric::Side from, Ports ports, Bytes payload) {
  Buffer out = Start(from, kUdp, kUdpHeader + payload.size());
  const size_t udp = out.size();
  link::AppendUdp(out, ports.source, ports.destination, payload.size());
  out.insert(out.end(), payload.begin(), payload.end());
  link::SealUdp(out, udp, Ip(from), Ip(fabric::Side(1 - from)));
  return out;
}

}  // namespace stag::evidence
