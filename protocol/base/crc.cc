// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/crc.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace stag {
namespace {
constexpr size_t kPiece = size_t{1} << 30;  // crc32_iscsi counts in int

const unsigned char* Raw(Bytes b) { return reinterpret_cast<const unsigned char*>(b.data()); }
}  // namespace

uint32_t Crc32(uint32_t crc, Bytes bytes) {
  while (!bytes.empty()) {
    Bytes piece = bytes.first(std::min(bytes.size(), kPiece));
    crc = crc32_gzip_refl(crc, Raw(piece), piece.size());
    bytes = bytes.subspan(piece.size());
  }
  return crc;
}

uint32_t Crc32c(uint32_t crc, Bytes bytes) {
  while (!bytes.empty()) {
    Bytes piece = bytes.first(std::min(bytes.size(), kPiece));
    // ISA-L does not write through this pointer, and does not complement.
    crc = ~crc32_iscsi(const_cast<unsigned char*>(Raw(piece)), static_cast<int>(piece.size()), ~crc);
    bytes = bytes.subspan(piece.size());
  }
  return crc;
}

}  // namespace stag
