// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/link/tcp_checksum.h"

#include "protocol/link/encode.h"
#include "protocol/link/ip_protocol.h"

namespace stag::link {

bool HasWrongTcpChecksum(const Packet& packet) {
  constexpr size_t kChecksum = 16;  // where it stands in the header
  if (packet.status != ParseStatus::kOk || packet.tcp_header_length == 0 || packet.payload.size() != packet.wire_length)
    return false;
  const Bytes segment(packet.payload.data() - packet.tcp_header_length,
                      packet.tcp_header_length + packet.payload.size());
  const uint16_t stored = LoadBe16(segment.data() + kChecksum);
  const uint32_t pseudo = PseudoHeaderSum(segment.size(), kProtocolTcp, packet.source, packet.destination);
  if (stored == 0 || stored == static_cast<uint16_t>(~ChecksumFinish(pseudo))) return false;
  return ChecksumFinish(ChecksumSum(pseudo, segment)) != 0;
}

}  // namespace stag::link
