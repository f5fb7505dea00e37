// SPDX-License-Identifier: GPL-2.0-or-later
//
// Management datagrams (IBA section 13.4): 256 bytes, a common header of 24 and the class's data.
#pragma once

#include <vector>

#include "protocol/base/bytes.h"

namespace stag::ib {

inline constexpr size_t kMadLength = 256, kMadHeaderLength = 24, kMadDataLength = kMadLength - kMadHeaderLength;
inline constexpr uint8_t kMadClassCm = 0x07;  // Communication Management
inline constexpr uint8_t kMadMethodSend = 0x03;
inline constexpr uint32_t kGsiQp = 1;  // the queue pair of general services
inline constexpr uint32_t kGsiQueueKey = 0x80010000;

struct MadHeader {
  uint8_t base_version = 1;
  uint8_t management_class = 0;
  uint8_t class_version = 1;
  uint8_t method = 0;
  uint16_t status = 0;
  uint16_t class_specific = 0;
  uint64_t transaction = 0;
  uint16_t attribute = 0;
  uint32_t attribute_modifier = 0;

  friend bool operator==(const MadHeader&, const MadHeader&) = default;
};

struct Mad {
  ParseStatus status = ParseStatus::kMalformed;
  MadHeader header;
  Bytes data;                // the captured part of what follows the header; a view of the input
  uint64_t data_length = 0;  // its bytes on the wire
};

// `captured`, `wire_length`: the data of a UD Send. kUnsupported: a base version other than 1.
Mad ParseMad(Bytes captured, uint64_t wire_length);

void AppendMadHeader(std::vector<std::byte>& out, const MadHeader& header);

}  // namespace stag::ib
