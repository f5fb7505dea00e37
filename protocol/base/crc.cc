// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/crc.h"

#include <isa-l/crc.h>
#include <zlib.h>

#include <algorithm>

namespace stag {
namespace {
constexpr size_t kPiece = size_t{1} << 30;  // both libraries count in int
}

uint32_t Crc32(uint32_t crc, Bytes bytes) {
  while (!bytes.empty()) {
    Bytes piece = bytes.first(std::min(bytes.size(), kPiece));
    crc = static_cast<uint32_t>(
        crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size())));
    bytes = bytes.subspan(piece.size());
  }
  return crc;
}

uint32_t Crc32c(uint32_t crc, Bytes bytes) {
  while (!bytes.empty()) {
    Bytes piece = bytes.first(std::min(bytes.size(), kPiece));
    // ISA-L neither writes through the pointer nor complements.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    crc = ~crc32_iscsi(data, static_cast<int>(piece.size()), ~crc);
    bytes = bytes.subspan(piece.size());
  }
  return crc;
}

}  // namespace stag
