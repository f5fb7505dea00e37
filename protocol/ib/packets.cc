// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/packets.h"

#include "protocol/base/crc.h"
#include "protocol/ib/icrc.h"
#include "protocol/ib/mad.h"
#include "protocol/link/ip_protocol.h"

namespace stag::ib {
namespace {

constexpr size_t kEthernetHeader = 14, kUdpHeader = 8;

struct Opcodes {
  uint8_t first, middle, last, only;
};
constexpr Opcodes kOpcodes[] = {
    {kSendFirst, kSendMiddle, kSendLast, kSendOnly},
    {kSendFirst, kSendMiddle, kSendLastImmediate, kSendOnlyImmediate},
    {kSendFirst, kSendMiddle, kSendLastInvalidate, kSendOnlyInvalidate},
    {kWriteFirst, kWriteMiddle, kWriteLast, kWriteOnly},
    {kWriteFirst, kWriteMiddle, kWriteLastImmediate, kWriteOnlyImmediate},
    {kReadResponseFirst, kReadResponseMiddle, kReadResponseLast, kReadResponseOnly},
};

size_t LengthOf(const Transport& t) {
  const OpcodeInfo& info = LookUpOpcode(t.bth.opcode);
  return kBthLength + info.extended + static_cast<size_t>(RoundUp4(t.data.size())) + kIcrcLength;
}

}  // namespace

uint8_t OpcodeOf(MessageKind kind, bool first, bool last) {
  const Opcodes& o = kOpcodes[static_cast<size_t>(kind)];
  return first ? (last ? o.only : o.first) : last ? o.last : o.middle;
}

Transport ManagementPacket(Bytes mad) {
  Transport t;
  t.bth.opcode = kUdSendOnly;
  t.bth.destination_qp = kGsiQp;
  t.deth = {kGsiQueueKey, kGsiQp};
  t.data = mad;
  return t;
}

void AppendRoceFrame(std::vector<std::byte>& out, const link::Host& from, const link::Host& to, uint16_t udp_source,
                     const Transport& transport) {
  std::vector<std::byte> tail;
  AppendRoceEnds(out, tail, from, to, udp_source, transport);
  out.insert(out.end(), transport.data.begin(), transport.data.end());
  out.insert(out.end(), tail.begin(), tail.end());
}

void AppendRoceEnds(std::vector<std::byte>& head, std::vector<std::byte>& tail, const link::Host& from,
                    const link::Host& to, uint16_t udp_source, const Transport& transport) {
  const size_t begin = head.size() + kEthernetHeader, length = LengthOf(transport);
  const bool v1 = from.address.kind == Address::Kind::kGid;
  if (v1) {
    link::AppendEthernet(head, to.mac, from.mac, {}, link::kRoceV1Ethertype);
    link::AppendGrh(head, from.address, to.address, length);
  } else {
    link::AppendIpHeaders(head, from, to, link::kProtocolUdp, length + kUdpHeader);
    link::AppendUdp(head, udp_source, link::kRoceV2Port, length);
  }
  const size_t bth = head.size();
  AppendTransportHeaders(head, transport);
  const size_t pad = static_cast<size_t>(RoundUp4(transport.data.size())) - transport.data.size();
  tail.resize(tail.size() + pad + kIcrcLength);
  const MutableBytes end = MutableBytes(tail).last(pad + kIcrcLength);
  const Bytes all(head);
  const uint32_t of_headers = ComputeIcrc(v1 ? link::Carrier::kRoceV1 : link::Carrier::kRoceV2,
                                          all.subspan(begin, bth - begin), all.subspan(bth));
  StoreLe32(end.data() + pad, Crc32(Crc32(of_headers, transport.data), end.first(pad)));
}

}  // namespace stag::ib
