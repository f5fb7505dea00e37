// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/nfs3_calls.h"

#include "replay/nfs_client/read_data.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::nfs_client::nfs3 {
namespace {

Attributes GetAttributes(Cursor& in) {
  Attributes attributes;
  attributes.type = in.U32();
  in.Skip(4 * 4);  // mode, nlink, uid, gid
  attributes.size = in.U64();
  in.Skip(kAttributesSize - 4 * 5 - 8);
  return attributes;
}

void SkipPostAttributes(Cursor& in) {
  if (rpcrdma::GetBool(in)) in.Skip(kAttributesSize);
}

void SkipWcc(Cursor& in) {
  if (rpcrdma::GetBool(in)) in.Skip(24);  // size, mtime, ctime
  SkipPostAttributes(in);
}

// The status first: whether the rest is that of a success.
bool Begin(Cursor& in, Status& result) {
  result.status = in.U32();
  result.ok = in.ok();
  return result.ok && result.status == 0;
}

template <typename R>
R End(const Cursor& in, R result) {
  result.ok = in.ok();
  return result;
}

}  // namespace

void PutHandle(Writer& out, Bytes handle) { out.Opaque(handle); }

void PutName(Writer& out, Bytes directory, std::string_view name) {
  out.Opaque(directory);
  rpcrdma::PutString(out, name);
}

void PutRead(Writer& out, Bytes handle, uint64_t offset, uint32_t count) {
  out.Opaque(handle);
  out.U64(offset);
  out.U32(count);
}

void PutWrite(Writer& out, Bytes handle, uint64_t offset, uint32_t count, Stable stable) {
  PutRead(out, handle, offset, count);
  out.U32(stable);
  out.U32(count);
}

void PutCreate(Writer& out, Bytes directory, std::string_view name, uint32_t mode) {
  constexpr uint32_t kUnchecked = 0, kDontChange = 0;
  PutName(out, directory, name);
  out.U32(kUnchecked);
  rpcrdma::PutBool(out, true);
  out.U32(mode);
  rpcrdma::PutBool(out, false);  // uid
  rpcrdma::PutBool(out, false);  // gid
  rpcrdma::PutBool(out, true);
  out.U64(0);            // size
  out.U32(kDontChange);  // atime
  out.U32(kDontChange);  // mtime
}

void PutReaddirplus(Writer& out, Bytes directory, uint32_t name_bytes, uint32_t all_bytes) {
  out.Opaque(directory);
  out.U64(0);  // cookie
  out.U64(0);  // its verifier
  out.U32(name_bytes);
  out.U32(all_bytes);
}

GetattrResult DecodeGetattr(Bytes results) {
  Cursor in(results);
  GetattrResult result;
  if (Begin(in, result)) result.attributes = GetAttributes(in);
  return End(in, result);
}

HandleResult DecodeLookup(Bytes results) {
  Cursor in(results);
  HandleResult result;
  if (!Begin(in, result)) return result;
  result.handle = rpcrdma::GetOpaque(in, kHandleMax);
  SkipPostAttributes(in);
  SkipPostAttributes(in);
  return End(in, result);
}

LinkResult DecodeReadlink(Bytes results) {
  Cursor in(results);
  LinkResult result;
  if (!Begin(in, result)) return result;
  SkipPostAttributes(in);
  result.target = rpcrdma::GetOpaque(in);
  return End(in, result);
}

ReadResult DecodeRead(Bytes results, std::span<const Bytes> chunks) {
  Cursor in(results);
  ReadResult result;
  if (!Begin(in, result)) return result;
  SkipPostAttributes(in);
  const uint32_t count = in.U32();
  result.eof = rpcrdma::GetBool(in);
  result.data = TakeReadData(in, chunks);
  if (result.data.size() != count) in.Fail(ParseStatus::kMalformed);
  return End(in, result);
}

WriteResult DecodeWrite(Bytes results) {
  Cursor in(results);
  WriteResult result;
  if (!Begin(in, result)) return result;
  SkipWcc(in);
  result.count = in.U32();
  in.Skip(4);  // committed
  result.verifier = in.U64();
  return End(in, result);
}

HandleResult DecodeCreate(Bytes results) {
  Cursor in(results);
  HandleResult result;
  if (!Begin(in, result)) return result;
  if (rpcrdma::GetBool(in)) result.handle = rpcrdma::GetOpaque(in, kHandleMax);
  SkipPostAttributes(in);
  SkipWcc(in);
  return End(in, result);
}

Status DecodeRemove(Bytes results) {
  Cursor in(results);
  Status result;
  if (Begin(in, result)) SkipWcc(in);
  return End(in, result);
}

ListResult DecodeReaddirplus(Bytes results) {
  Cursor in(results);
  ListResult result;
  if (!Begin(in, result)) return result;
  SkipPostAttributes(in);
  in.Skip(8);  // verifier
  while (rpcrdma::GetBool(in)) {
    in.Skip(8);  // fileid
    (void)rpcrdma::GetOpaque(in);
    in.Skip(8);  // cookie
    SkipPostAttributes(in);
    if (rpcrdma::GetBool(in)) (void)rpcrdma::GetOpaque(in, kHandleMax);
    ++result.entries;
  }
  result.eof = rpcrdma::GetBool(in);
  return End(in, result);
}

FsinfoResult DecodeFsinfo(Bytes results) {
  Cursor in(results);
  FsinfoResult result;
  if (!Begin(in, result)) return result;
  SkipPostAttributes(in);
  result.read_max = in.U32();
  in.Skip(8);  // rtpref, rtmult
  result.write_max = in.U32();
  in.Skip(8 + 4 + 8 + 8 + 4);  // wtpref, wtmult; dtpref; maxfilesize; time_delta; properties
  return End(in, result);
}

}  // namespace stag::nfs_client::nfs3
