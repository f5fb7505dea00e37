// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/rpc/rpcsec_gss.h"

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::rpc {
namespace {

Bytes GetOpaque(Cursor& in) {
  const uint32_t size = in.U32();
  const Bytes body = in.Take(size);
  in.Skip(RoundUp4(size) - size);
  return in.ok() ? body : Bytes{};
}

void ExpectEnd(Cursor& in) {
  if (in.remaining() > 0) in.Fail(ParseStatus::kMalformed);
}

}  // namespace

GssCredential DecodeGssCredential(Bytes body) {
  GssCredential c;
  Cursor in(body);
  c.version = in.U32();
  c.proc = in.U32();
  c.sequence = in.U32();
  c.service = in.U32();
  c.handle = GetOpaque(in);
  c.status = in.status();
  return c;
}

GssInitResults DecodeGssInitResults(Bytes results) {
  GssInitResults r;
  Cursor in(results);
  r.handle = GetOpaque(in);
  r.major = in.U32();
  r.minor = in.U32();
  r.window = in.U32();
  r.token = GetOpaque(in);
  ExpectEnd(in);
  r.status = in.status();
  return r;
}

void Encode(const GssInitResults& results, std::vector<std::byte>& out) {
  Writer w(out);
  w.Opaque(results.handle);
  for (const uint32_t word : {results.major, results.minor, results.window}) w.U32(word);
  w.Opaque(results.token);
}

std::optional<Bytes> DecodeGssToken(Bytes arguments) {
  Cursor in(arguments);
  const Bytes token = GetOpaque(in);
  ExpectEnd(in);
  return in.ok() ? std::optional(token) : std::nullopt;
}

GssIntegrity DecodeGssIntegrity(Bytes body) {
  GssIntegrity i;
  Cursor in(body);
  i.data = GetOpaque(in);
  i.checksum = GetOpaque(in);
  if (i.data.size() < kGssDataHeader) in.Fail(ParseStatus::kMalformed);
  ExpectEnd(in);
  i.status = in.status();
  return i;
}

void Encode(const GssIntegrity& body, std::vector<std::byte>& out) {
  Writer w(out);
  w.Opaque(body.data);
  w.Opaque(body.checksum);
}

}  // namespace stag::rpc
