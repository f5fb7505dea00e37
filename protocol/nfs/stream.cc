// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/nfs/stream.h"

#include <bit>

namespace stag::nfs {

Bytes Stream::Opaque(uint32_t max) {
  const uint32_t size = U32();
  if (size > max) Malformed();
  const Bytes body = Take(size);
  Padding(size);
  return body;
}

Bytes Stream::Value(ValueKind kind, uint64_t size) {
  const uint64_t at = cursor_.offset();
  const Bytes value = Take(size);
  Report(kind, at, size);
  return value;
}

Bytes Stream::OpaqueValue(ValueKind kind, uint32_t max) {
  const uint64_t at = cursor_.offset() + 4;
  const Bytes value = Opaque(max);
  Report(kind, at, value.size());
  return value;
}

void Stream::Attributes(Bytes name) {
  constexpr uint32_t kFileHandle = 19;  // RFC 8881 section 5.8: attributes stand in the order of their numbers
  const uint32_t words = Count(4);
  const uint32_t first = words > 0 ? U32() : 0;
  if (words > 0) Skip(uint64_t{words - 1} * 4);
  const uint64_t at = cursor_.offset() + 4;
  const Bytes values = Opaque();
  if (!ok() || !(first >> kFileHandle & 1)) return;
  Cursor value(values);
  for (uint32_t before = first & ((1u << kFileHandle) - 1); before != 0; before &= before - 1) {
    switch (std::countr_zero(before)) {
      case 0: value.Skip(uint64_t{value.U32()} * 4); break;  // supported_attrs
      case 3:                                                // change
      case 4: value.Skip(8); break;                          // size
      case 8: value.Skip(16); break;                         // fsid
      case 12:                                               // acl
        for (uint32_t entries = value.U32(); entries > 0 && value.ok(); --entries) {
          value.Skip(12);
          value.Skip(RoundUp4(value.U32()));
        }
        break;
      default: value.Skip(4); break;  // enumerations, booleans, lease_time, rdattr_error
    }
  }
  const uint64_t handle_at = at + value.offset() + 4;
  const Bytes handle = value.Take(value.U32());
  if (value.ok()) Report(ValueKind::kHandle, handle_at, handle.size(), name);
}

void Stream::CookieAndVerifier() {
  const uint64_t at = cursor_.offset(), cookie = U64();
  Skip(8);
  if (cookie == 0) return;
  Report(ValueKind::kCookie, at, 8);
  Report(ValueKind::kCookieVerifier, at + 8, 8);
}

void Stream::PaddingOf(uint32_t size) {
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
      case 'i': Value(ValueKind::kStateid, 16); break;
      case 'k': Value(ValueKind::kClientId, 8); break;
      case 'v': Value(ValueKind::kConfirmVerifier, 8); break;
      case 'x': Value(ValueKind::kSession, 16); break;
      case 'a': Attributes(); break;
      case 'q': Value(ValueKind::kSlot, 12); break;
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
