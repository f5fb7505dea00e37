// SPDX-License-Identifier: GPL-2.0-or-later
//
// ONC RPC version 2 call and reply headers (RFC 5531 sections 9 and 8.2), with what AUTH_SYS and RPCSEC_GSS (RFC 2203)
// credentials say. Pure; views point into the message.
#pragma once

#include <vector>

#include "protocol/base/bytes.h"

namespace stag::rpc {

enum MessageType : uint32_t { kCall = 0, kReply = 1 };
enum AuthFlavor : uint32_t { kAuthNone = 0, kAuthSys = 1, kAuthShort = 2, kAuthDh = 3, kRpcsecGss = 6 };
enum ReplyStat : uint32_t { kAccepted = 0, kDenied = 1 };
enum AcceptStat : uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,
  kProgMismatch = 2,
  kProcUnavail = 3,
  kGarbageArgs = 4,
  kSystemErr = 5
};
enum GssProc : uint32_t { kGssData = 0, kGssInit = 1, kGssContinueInit = 2, kGssDestroy = 3 };
enum GssService : uint32_t { kGssNone = 1, kGssIntegrity = 2, kGssPrivacy = 3 };

// Bytes of the smallest Call: with an empty credential and verifier (RFC 5531 section 9).
inline constexpr uint32_t kSmallestCall = 40;

struct Auth {
  uint32_t flavor = 0;
  Bytes body;  // at most 400 bytes (RFC 5531 section 8.2)
};

struct CallHeader {
  ParseStatus status = ParseStatus::kMalformed;
  uint8_t words = 0;  // how many of the six words below were there
  uint32_t xid = 0, msg_type = 0, rpc_version = 0, program = 0, version = 0, procedure = 0;
  Auth credential, verifier;
  bool has_flavor = false;  // credential.flavor was there
  uint32_t length = 0;      // bytes up to the arguments; valid when status is kOk

  // RPCSEC_GSS credential (flavor 6, versions 1 to 3); valid when `gss`.
  bool gss = false;
  uint32_t gss_proc = 0, gss_sequence = 0, gss_service = 0;
  // The arguments are wrapped (integrity, privacy), a GSS control exchange, or unreadable for lack of a credential that
  // makes sense: no upper-layer decode of them.
  bool opaque_arguments() const {
    if (!gss) return credential.flavor == kRpcsecGss;
    return gss_proc != kGssData || gss_service != kGssNone;
  }
};

struct ReplyHeader {
  ParseStatus status = ParseStatus::kMalformed;
  uint8_t words = 0;  // how many of xid, msg_type, reply_stat were there
  uint32_t xid = 0, msg_type = 0, reply_stat = 0;
  Auth verifier;
  uint32_t accept_stat = 0;  // when accepted
  uint32_t mismatch_low = 0, mismatch_high = 0;
  uint32_t reject_stat = 0, auth_stat = 0;  // when denied
  uint32_t length = 0;                      // bytes up to the results; valid when status is kOk
  bool success() const { return accepted(kSuccess); }
  // Accepted, with that accept_stat.
  bool accepted(AcceptStat stat) const {
    return status == ParseStatus::kOk && reply_stat == kAccepted && accept_stat == stat;
  }
};

// `bytes`: the captured prefix of the RPC message; `length`: its bytes on the wire. A message of the other type is
// kMalformed with the words filled; a call whose rpc_version is not 2 is kUnsupported (its six words are filled);
// values outside the protocol's enumerations and authentication bodies over 400 bytes are kMalformed. Fields that were
// there are filled even when the status is not kOk.
CallHeader DecodeCall(Bytes bytes, uint64_t length);
ReplyHeader DecodeReply(Bytes bytes, uint64_t length);

// The same header when `to` is a copy of the message `from`: its views point into that.
CallHeader OfCopy(const CallHeader& header, Bytes from, Bytes to);
ReplyHeader OfCopy(const ReplyHeader& header, Bytes from, Bytes to);

// Inverses (for tests, generators and the replay engine). The gss_* fields are taken from credential.body as it is.
void Encode(const CallHeader& header, std::vector<std::byte>& out);
void Encode(const ReplyHeader& header, std::vector<std::byte>& out);
// Bodies of credentials.
void EncodeAuthSys(uint32_t stamp, Bytes machine, uint32_t uid, uint32_t gid, std::span<const uint32_t> gids,
                   std::vector<std::byte>& out);
void EncodeGssCredential(uint32_t gss_proc, uint32_t sequence, uint32_t service, Bytes handle,
                         std::vector<std::byte>& out);

struct AuthSys {
  ParseStatus status = ParseStatus::kMalformed;
  uint32_t stamp = 0, uid = 0, gid = 0, gid_count = 0;
  Bytes machine;
};
AuthSys DecodeAuthSys(Bytes credential_body);

// "NFS", "MOUNT", "NLM", "NSM", "NFSACL", "NFS_CB", "CCP", "PORTMAP", ...; nullptr when unknown.
// True for the programs of GlusterFS, which borrows the header of RPC-over-RDMA version 1 and does not keep its rules.
bool IsGluster(uint32_t program);
const char* ProgramName(uint32_t program, uint32_t version);
// The protocol documents' procedure name ("READ", "COMPOUND", "CB_COMPOUND"); "NULL" for procedure 0 of any program;
// nullptr when unknown. NFSv4 callback programs (0x40000000 to 0x5fffffff) are recognised by range.
const char* ProcedureName(uint32_t program, uint32_t version, uint32_t procedure);

}  // namespace stag::rpc
