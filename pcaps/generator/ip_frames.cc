// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/ip_frames.h"

namespace stag::evidence {

using test::Buffer;

namespace {

link::Host HostOf(fabric::Side side) {
  return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(side + 1)},
          link::Ipv4Address(192, 0, 2, static_cast<uint8_t>(side + 1))};
}

}  // namespace

Buffer TcpFrame(fabric::Side from, Ports ports, TcpFields fields, Bytes payload) {
  Buffer out;
  link::AppendTcpFrame(out, HostOf(from), HostOf(fabric::Side(1 - from)),
                       {ports.source, ports.destination, fields.sequence, fields.acknowledgment, fields.flags},
                       payload);
  return out;
}

Buffer UdpFrame(fabric::Side from, Ports ports, Bytes payload) {
  Buffer out;
  link::AppendUdpFrame(out, HostOf(from), HostOf(fabric::Side(1 - from)), ports.source, ports.destination, payload);
  return out;
}

}  // namespace stag::evidence
