// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/nfs/stream.h"

namespace stag::nfs {

bool Stream::Bool() {
  const uint32_t value = U32();
  if (value > 1) Malformed();
  return ok() && value == 1;
}

Bytes Stream::Opaque(uint32_t max) {
  const uint32_t size = U32();
  if (size > max) Malformed();
  const Bytes body = Take(size);
  Padding(size);
  return body;
}

void Stream::Padding(uint32_t size) {
  const uint64_t start = cursor_.offset();
  const Bytes padding = Take(RoundUp4(size) - size);
  if (nonzero_padding_ != 0) return;
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] == std::byte{0}) continue;
    nonzero_padding_ = start + i;
    return;
  }
}

uint32_t Stream::Count(uint64_t element_bytes, uint32_t max) {
  const uint32_t count = U32();
  if (count > max || count * element_bytes > cursor_.wire_remaining()) Malformed();
  return ok() ? count : 0;
}

void Stream::Fields(const char* layout) {
  for (; *layout != '\0' && ok(); ++layout) {
    switch (*layout) {
      case 'w': Skip(4); break;
      case 'h': Skip(8); break;
      case 's': Skip(16); break;
      case 't': Skip(12); break;
      case 'o': Opaque(); break;
      case 'm': SkipArray(4); break;
      case 'f':
        SkipArray(4);
        Opaque();
        break;
      case 'c':
        Bool();
        Skip(16);
        break;
      case 'b': Bool(); break;
      case 'n': Opaque(128); break;
      default: Unsupported();
    }
  }
}

uint32_t Stream::Status() {
  const uint32_t status = U32();
  if (ok() && !has_status_) {
    has_status_ = true;
    nfs_status_ = status;
  }
  return status;
}

}  // namespace stag::nfs
