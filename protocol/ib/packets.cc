// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/packets.h"

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
  const size_t begin = out.size(), length = LengthOf(transport);
  const bool v1 = from.address.kind == Address::Kind::kGid;
  if (v1) {
    link::AppendEthernet(out, to.mac, from.mac, {}, link::kRoceV1Ethertype);
    link::AppendGrh(out, from.address, to.address, length);
  } else {
    link::AppendIpHeaders(out, from, to, link::kProtocolUdp, length + kUdpHeader);
    link::AppendUdp(out, udp_source, link::kRoceV2Port, length);
  }
  const size_t bth = out.size();
  AppendTransport(out, transport);
  AppendIcrc(out, v1 ? link::Carrier::kRoceV1 : link::Carrier::kRoceV2, begin + kEthernetHeader, bth);
}

}  // namespace stag::ib
