// SPDX-License-Identifier: GPL-2.0-or-later
//
// The options of a TCP segment (RFC 9293 section 3.1).
#pragma once

#include "protocol/link/packet.h"

namespace stag::link {

inline constexpr uint8_t kTcpOptionSack = 5;  // RFC 2018

// Calls fn(kind, contents) for each option that is whole, in order, but for padding. `packet` is a TCP segment that
// Decode read (carrier kTcp, status kOk), and its frame is still there.
template <typename Fn>
void ForEachTcpOption(const Packet& packet, Fn fn) {
  constexpr size_t kFixed = 20;
  constexpr uint8_t kEnd = 0, kNoOperation = 1;
  if (packet.tcp_header_length <= kFixed || packet.payload.data() == nullptr) return;
  const size_t size = packet.tcp_header_length - kFixed;
  const Bytes options(packet.payload.data() - size, size);
  for (size_t at = 0; at < size;) {
    const auto kind = std::to_integer<uint8_t>(options[at]);
    if (kind == kEnd) return;
    if (kind == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 2 > size) return;
    const auto length = std::to_integer<size_t>(options[at + 1]);
    if (length < 2 || length > size - at) return;
    fn(kind, options.subspan(at + 2, length - 2));
    at += length;
  }
}

}  // namespace stag::link
