// SPDX-License-Identifier: GPL-2.0-or-later
//
// RPC headers both ways. Fields are stored as they are read, so a message that is cut or wrong still shows what came
// before.
#include "protocol/rpc/message.h"

#include <array>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/rpc/rpcsec_gss.h"

namespace stag::rpc {
namespace {

constexpr uint32_t kRpcVersion = 2;
constexpr uint32_t kMaxAuthBytes = 400;    // RFC 5531 section 8.2
constexpr uint32_t kMaxMachineName = 255;  // RFC 5531 appendix A
constexpr uint32_t kMaxGids = 16;          // likewise
enum RejectStat : uint32_t { kRpcMismatch = 0, kAuthError = 1 };

// Reads words until one is missing; returns how many were there.
template <size_t N>
uint8_t ReadWords(Cursor& cursor, const std::array<uint32_t*, N>& words) {
  uint8_t read = 0;
  for (uint32_t* word : words) {
    *word = cursor.U32();
    if (!cursor.ok()) break;
    ++read;
  }
  return read;
}

Bytes ReadOpaque(Cursor& cursor, uint32_t limit) {
  const uint32_t size = cursor.U32();
  if (size > limit) cursor.Fail(ParseStatus::kMalformed);
  const Bytes body = cursor.Take(size);
  cursor.Skip(RoundUp4(size) - size);
  return cursor.ok() ? body : Bytes{};
}

void ReadAuth(Cursor& cursor, Auth& auth) {
  // At once where all of it is there.
  const Bytes rest = cursor.Rest();
  if (rest.size() >= 8) {
    const uint32_t size = LoadBe32(&rest[4]);
    const uint64_t whole = 8 + RoundUp4(size);
    if (size <= kMaxAuthBytes && whole <= rest.size()) {
      auth = {LoadBe32(&rest[0]), rest.subspan(8, size)};
      return cursor.Skip(whole);
    }
  }
  auth.flavor = cursor.U32();
  auth.body = ReadOpaque(cursor, kMaxAuthBytes);
}

// Versions 2 (RFC 5403) and 3 (RFC 7861) kept the layout.
void ReadGssCredential(CallHeader& header) {
  const GssCredential credential = DecodeGssCredential(header.credential.body);
  header.gss_proc = credential.proc;
  header.gss_sequence = credential.sequence;
  header.gss_service = credential.service;
  header.gss = credential.status == ParseStatus::kOk && credential.version >= 1 && credential.version <= 3;
}

void Move(Auth& auth, Bytes from, Bytes to) {
  if (!auth.body.empty()) auth.body = to.subspan(static_cast<size_t>(auth.body.data() - from.data()), auth.body.size());
}

void WriteAuth(const Auth& auth, Writer& w) {
  w.U32(auth.flavor);
  w.Opaque(auth.body);
}

}  // namespace

CallHeader DecodeCall(Bytes bytes, uint64_t length) {
  CallHeader h;
  Cursor cursor(bytes, length);
  if (bytes.size() >= 24) {
    const Bytes words = cursor.Take(24);
    h.xid = LoadBe32(&words[0]);
    h.msg_type = LoadBe32(&words[4]);
    h.rpc_version = LoadBe32(&words[8]);
    h.program = LoadBe32(&words[12]);
    h.version = LoadBe32(&words[16]);
    h.procedure = LoadBe32(&words[20]);
    h.words = 6;
  } else {
    h.words = ReadWords<6>(cursor, {&h.xid, &h.msg_type, &h.rpc_version, &h.program, &h.version, &h.procedure});
  }
  if (h.words >= 2 && h.msg_type != kCall) return h;  // kMalformed
  if (cursor.ok() && h.rpc_version != kRpcVersion) cursor.Fail(ParseStatus::kUnsupported);
  if (cursor.ok()) {
    h.has_flavor = cursor.remaining() >= 4;
    ReadAuth(cursor, h.credential);
  }
  if (cursor.ok() && h.credential.flavor == kRpcsecGss) ReadGssCredential(h);
  if (cursor.ok()) ReadAuth(cursor, h.verifier);
  if (cursor.ok()) h.length = static_cast<uint32_t>(cursor.offset());
  h.status = cursor.status();
  return h;
}

ReplyHeader DecodeReply(Bytes bytes, uint64_t length) {
  ReplyHeader h;
  Cursor cursor(bytes, length);
  if (bytes.size() >= 12) {
    const Bytes words = cursor.Take(12);
    h.xid = LoadBe32(&words[0]);
    h.msg_type = LoadBe32(&words[4]);
    h.reply_stat = LoadBe32(&words[8]);
    h.words = 3;
  } else {
    h.words = ReadWords<3>(cursor, {&h.xid, &h.msg_type, &h.reply_stat});
  }
  if (h.words >= 2 && h.msg_type != kReply) return h;  // kMalformed
  bool range = false;
  if (!cursor.ok()) {
    // Nothing more to read.
  } else if (h.reply_stat == kAccepted) {
    ReadAuth(cursor, h.verifier);
    h.accept_stat = cursor.U32();
    if (h.accept_stat > kSystemErr) cursor.Fail(ParseStatus::kMalformed);
    range = h.accept_stat == kProgMismatch;
  } else if (h.reply_stat == kDenied) {
    h.reject_stat = cursor.U32();
    if (h.reject_stat == kAuthError) h.auth_stat = cursor.U32();
    if (h.reject_stat > kAuthError) cursor.Fail(ParseStatus::kMalformed);
    range = h.reject_stat == kRpcMismatch;
  } else {
    cursor.Fail(ParseStatus::kMalformed);
  }
  if (range) {
    h.mismatch_low = cursor.U32();
    h.mismatch_high = cursor.U32();
  }
  if (cursor.ok()) h.length = static_cast<uint32_t>(cursor.offset());
  h.status = cursor.status();
  return h;
}

CallHeader OfCopy(const CallHeader& header, Bytes from, Bytes to) {
  CallHeader copy = header;
  Move(copy.credential, from, to);
  Move(copy.verifier, from, to);
  return copy;
}

ReplyHeader OfCopy(const ReplyHeader& header, Bytes from, Bytes to) {
  ReplyHeader copy = header;
  Move(copy.verifier, from, to);
  return copy;
}

void Encode(const CallHeader& header, std::vector<std::byte>& out) {
  Writer w(out);
  for (uint32_t word :
       {header.xid, header.msg_type, header.rpc_version, header.program, header.version, header.procedure})
    w.U32(word);
  WriteAuth(header.credential, w);
  WriteAuth(header.verifier, w);
}

void Encode(const ReplyHeader& header, std::vector<std::byte>& out) {
  Writer w(out);
  for (uint32_t word : {header.xid, header.msg_type, header.reply_stat}) w.U32(word);
  bool range = false;
  if (header.reply_stat == kAccepted) {
    WriteAuth(header.verifier, w);
    w.U32(header.accept_stat);
    range = header.accept_stat == kProgMismatch;
  } else if (header.reply_stat == kDenied) {
    w.U32(header.reject_stat);
    if (header.reject_stat == kAuthError) w.U32(header.auth_stat);
    range = header.reject_stat == kRpcMismatch;
  }
  if (range) {
    w.U32(header.mismatch_low);
    w.U32(header.mismatch_high);
  }
}

AuthSys DecodeAuthSys(Bytes credential_body) {
  AuthSys auth;
  Cursor cursor(credential_body);
  auth.stamp = cursor.U32();
  auth.machine = ReadOpaque(cursor, kMaxMachineName);
  auth.uid = cursor.U32();
  auth.gid = cursor.U32();
  auth.gid_count = cursor.U32();
  if (auth.gid_count > kMaxGids) cursor.Fail(ParseStatus::kMalformed);
  cursor.Skip(uint64_t{auth.gid_count} * 4);
  auth.status = cursor.status();
  return auth;
}

void EncodeAuthSys(uint32_t stamp, Bytes machine, uint32_t uid, uint32_t gid, std::span<const uint32_t> gids,
                   std::vector<std::byte>& out) {
  Writer w(out);
  w.U32(stamp);
  w.Opaque(machine);
  w.U32(uid);
  w.U32(gid);
  w.U32(static_cast<uint32_t>(gids.size()));
  for (uint32_t supplementary : gids) w.U32(supplementary);
}

void EncodeGssCredential(uint32_t gss_proc, uint32_t sequence, uint32_t service, Bytes handle,
                         std::vector<std::byte>& out) {
  Writer w(out);
  w.U32(1);  // version
  w.U32(gss_proc);
  w.U32(sequence);
  w.U32(service);
  w.Opaque(handle);
}

}  // namespace stag::rpc
