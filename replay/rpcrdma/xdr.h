// SPDX-License-Identifier: GPL-2.0-or-later
//
// XDR (RFC 4506) that RPC programs share, between Cursor and Writer. A reader that meets what the type does not allow
// fails the Cursor.
#pragma once

#include <string_view>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::rpcrdma {

// At most `limit` bytes, with their padding skipped.
inline Bytes GetOpaque(Cursor& in, uint32_t limit = UINT32_MAX) {
  const uint32_t size = in.U32();
  if (size > limit) in.Fail(ParseStatus::kMalformed);
  const Bytes bytes = in.Take(size);
  in.Skip(RoundUp4(size) - size);
  return bytes;
}

inline std::string_view GetString(Cursor& in, uint32_t limit = UINT32_MAX) {
  const Bytes bytes = GetOpaque(in, limit);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline bool GetBool(Cursor& in) {
  const uint32_t value = in.U32();
  if (value > 1) in.Fail(ParseStatus::kMalformed);
  return value == 1;
}

inline void PutBool(Writer& out, bool value) { out.U32(value ? 1 : 0); }
inline void PutString(Writer& out, std::string_view text) { out.Opaque(std::as_bytes(std::span(text))); }

}  // namespace stag::rpcrdma
