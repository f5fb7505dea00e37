// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/nfs/stream.h"

#include <algorithm>

namespace stag::nfs {

Bytes Stream::Opaque(uint32_t max, FieldKind kind) {
  const uint32_t size = U32();
  if (size > max) Malformed();
  const Bytes body = cursor_.Take(size);
  Mark(kind, size);
  Padding(size);
  return body;
}

Bytes Stream::Value(ValueKind kind, uint64_t size) {
  const uint64_t at = cursor_.offset();
  const Bytes value = cursor_.Take(size);
  Report(kind, at, size);
  return value;
}

Bytes Stream::OpaqueValue(ValueKind kind, uint32_t max) {
  const uint64_t at = cursor_.offset() + 4;
  const Bytes value = Opaque(max);
  Report(kind, at, value.size());
  return value;
}

Bytes Stream::Stateid() {
  constexpr uint64_t kSize = 16;
  const uint64_t at = cursor_.offset();
  const Bytes stateid = cursor_.Take(kSize);
  if (wants_fields_ && ok()) MarkValue(ValueKind::kStateid, at, kSize);
  return stateid;
}

void Stream::CookieAndVerifier() {
  const uint64_t at = cursor_.offset(), cookie = U64();
  Skip(FieldKind::kOpaque, 8);
  if (cookie == 0) return;
  Report(ValueKind::kCookie, at, 8);
  Report(ValueKind::kCookieVerifier, at + 8, 8);
}

void Stream::PaddingOf(uint32_t size) {
  const uint64_t start = cursor_.offset();
  const Bytes padding = cursor_.Take(RoundUp4(size) - size);
  Mark(FieldKind::kPadding, padding.size());
  if (nonzero_padding_ != 0) return;
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] == std::byte{0}) continue;
    nonzero_padding_ = start + i;
    return;
  }
}

void Stream::SkipWords(uint32_t max) {
  const uint64_t bytes = uint64_t{Count(4, max)} * 4, plain = std::min<uint64_t>(bytes, 12);
  Skip(plain);
  cursor_.Skip(bytes - plain);
}

void Stream::MarkValue(ValueKind kind, uint64_t at, uint64_t size) {
  constexpr uint64_t kStateidSequence = 4;
  switch (kind) {
    case ValueKind::kClientSequence:
    case ValueKind::kSlot:
    case ValueKind::kSlotCount: return visitor.OnField(FieldKind::kPlain, at, size);
    case ValueKind::kStateid:
      visitor.OnField(FieldKind::kPlain, at, kStateidSequence);
      return visitor.OnField(FieldKind::kOpaque, at + kStateidSequence, size - kStateidSequence);
    default: return visitor.OnField(FieldKind::kOpaque, at, size);
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
      case 'u': Skip(FieldKind::kNumber, 4); break;
      case 'U': Skip(FieldKind::kNumber, 8); break;
      case 'y': Skip(FieldKind::kOpaque, 8); break;
      case 's': Skip(FieldKind::kOpaque, 16); break;
      case 'S': Stateid(); break;
      case 'd': Skip(FieldKind::kTime, 8); break;
      case 't': Skip(FieldKind::kTime, 12); break;
      case 'N': Name(); break;
      case 'A':
        Opaque(0xffffffffu, FieldKind::kNetId);
        Opaque(0xffffffffu, FieldKind::kNetAddress);
        break;
      case 'o': Opaque(); break;
      case 'm': SkipWords(); break;
      case 'f': AttributeValues(); break;
      case 'c':
        Bool();
        Skip(FieldKind::kOpaque, 8);
        Skip(FieldKind::kOpaque, 8);
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
