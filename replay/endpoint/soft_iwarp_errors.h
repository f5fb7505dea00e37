// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a Terminate says: layer, error type and code (RFC 5040 section 4.8; RFC 5041 section 7; RFC 5044 section 8; RFC
// 6581 section 9).
#pragma once

#include <cstdint>
#include <string_view>

namespace stag::endpoint {

struct TerminateCode {
  uint8_t layer = 0, type = 0, code = 0;
  friend bool operator==(const TerminateCode&, const TerminateCode&) = default;
};

// RDMAP: remote protection errors
inline constexpr TerminateCode kRdmapInvalidStag{0, 1, 0x00}, kRdmapOutOfBounds{0, 1, 0x01}, kRdmapNoAccess{0, 1, 0x02},
    kRdmapWraps{0, 1, 0x04}, kRdmapCannotInvalidate{0, 1, 0x09};
// RDMAP: remote operation errors
inline constexpr TerminateCode kRdmapVersion{0, 2, 0x05}, kRdmapOpcode{0, 2, 0x06}, kRdmapUnspecified{0, 2, 0xff};
// DDP: tagged buffer errors
inline constexpr TerminateCode kTaggedInvalidStag{1, 1, 0x00}, kTaggedOutOfBounds{1, 1, 0x01}, kTaggedWraps{1, 1, 0x03},
    kTaggedVersion{1, 1, 0x04};
// DDP: untagged buffer errors
inline constexpr TerminateCode kUntaggedQueue{1, 2, 0x01}, kUntaggedNoBuffer{1, 2, 0x02}, kUntaggedSequence{1, 2, 0x03},
    kUntaggedOffset{1, 2, 0x04}, kUntaggedTooLong{1, 2, 0x05}, kUntaggedVersion{1, 2, 0x06};
// LLP: MPA
inline constexpr TerminateCode kMpaCrc{2, 0, 0x02}, kMpaLength{2, 0, 0x03}, kMpaInsufficientIrd{2, 0, 0x06},
    kMpaNoMatchingRtr{2, 0, 0x07};

// "remote protection error, base or bounds violation".
std::string_view Meaning(const TerminateCode& code);

}  // namespace stag::endpoint
