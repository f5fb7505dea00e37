// SPDX-License-Identifier: GPL-2.0-or-later
//
// From messages of a queue pair to packets, and from packets to frames: opcodes, how many packets, and RoCE framing.
// For recordings of live peers and for captures that tests make.
#pragma once

#include <vector>

#include "protocol/ib/transport.h"
#include "protocol/link/encode.h"

namespace stag::ib {

// What one packet or several carry on a reliable connection.
enum class MessageKind : uint8_t { kSend, kSendImmediate, kSendInvalidate, kWrite, kWriteImmediate, kReadResponse };

// The opcode of a packet that is the first, the last, both or neither of its message (IBA table 38).
uint8_t OpcodeOf(MessageKind kind, bool first, bool last);

// How many packets a message of `length` bytes takes: an empty one is a packet, too.
constexpr uint32_t PacketCount(uint64_t length, uint32_t mtu) {
  return length == 0 ? 1 : static_cast<uint32_t>((length - 1) / mtu + 1);
}

// The packet with which one general services agent sends `mad` to another (IBA section 13.5).
Transport ManagementPacket(Bytes mad);

// Appends a whole Ethernet frame with its ICRC: RoCEv2 between IPv4 or IPv6 addresses, RoCEv1 between GIDs.
// `udp_source`: the source port of RoCEv2.
void AppendRoceFrame(std::vector<std::byte>& out, const link::Host& from, const link::Host& to, uint16_t udp_source,
                     const Transport& transport);
// The same but for the data: what stands before them, and the padding and ICRC behind them.
void AppendRoceEnds(std::vector<std::byte>& head, std::vector<std::byte>& tail, const link::Host& from,
                    const link::Host& to, uint16_t udp_source, const Transport& transport);

}  // namespace stag::ib
