// SPDX-License-Identifier: GPL-2.0-or-later
//
// Header: where one header of a frame stands. Decode lists them for those who rewrite frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stag::link {

// What stands in the bytes that a Header names.
enum class HeaderKind : uint8_t {
  kErf,            // ERF record header with its extension headers
  kErfPadding,     // two bytes between an ERF record header and Ethernet
  kLinuxSll,       // 16 bytes, with the protocol
  kLinuxSll2,      // 20 bytes, with the protocol
  kEthernet,       // 14 bytes, with the ethertype
  kVlan,           // 4 bytes: tag control information and the ethertype behind it
  kIpv4,           // with its options
  kIpv6,           // 40 bytes
  kIpv6Extension,  // one extension header
  kUdp,            // 8 bytes
  kTcp,            // with its options
  kGrh,            // 40 bytes
  kLrh,            // 8 bytes
  // Of tunnels:
  kGre,              // with checksum, key and sequence number, where present
  kVxlan,            // 8 bytes; also VXLAN-GPE
  kGeneve,           // with its options
  kErspan,           // of type II or III, with the platform specific subheader; type I has none
  kMpls,             // the whole stack of labels
  kMplsControlWord,  // 4 bytes between the labels and Ethernet
  kPppoe,            // 6 bytes; PPP's own are a kShim
  kMacSec,           // with the identifier of the secure channel, where present
  kNsh,              // with its metadata
  kTzsp,             // with its tags
  kBatmanAdvanced,   // 10 bytes: 4, then a MAC address
  kSFlow,            // of the datagram, with the address of the agent
  kSFlowRecord,      // type, length and contents of a sample or record that has no frame
  kTag,              // nothing but numbers, the last two bytes an ethertype
  kShim,             // nothing but numbers
  kOpaque,           // nobody knows what is in it
};

struct Header {
  HeaderKind kind{};
  size_t offset = 0;  // within the frame's captured bytes
  size_t length = 0;

  size_t end() const { return offset + length; }
};

}  // namespace stag::link
