// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a message becomes DDP segments (RFC 5041 section 5). For recordings of live peers and for captures that tests
// make.
#pragma once

#include <algorithm>

#include "protocol/iwarp/ddp.h"

namespace stag::iwarp {

// Calls emit(header, at, size) for each segment of a message of `length` bytes, with at most `part` bytes of payload
// each: those that begin `at` bytes into the message. Message or tagged offset and the L flag are filled in: the last
// segment gets that of `header`.
template <typename Emit>
void ForEachSegment(DdpHeader header, uint64_t length, size_t part, Emit emit) {
  const bool last = header.last;
  const uint64_t offset = header.offset;
  uint64_t at = 0;
  do {
    const auto size = static_cast<size_t>(std::min<uint64_t>(part, length - at));
    header.tagged ? header.offset = offset + at : header.message_offset = static_cast<uint32_t>(at);
    header.last = last && at + size == length;
    emit(header, at, size);
    at += size;
  } while (at < length);
}

}  // namespace stag::iwarp
