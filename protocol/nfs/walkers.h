// SPDX-License-Identifier: GPL-2.0-or-later
//
// The walkers behind WalkCall and WalkReply, one pair for each protocol. Internal to protocol/nfs. Each starts at the
// arguments or results and leaves the Stream where it ended; an unknown procedure makes it kUnsupported.
#pragma once

#include "protocol/nfs/stream.h"

namespace stag::nfs {

void WalkNfs2Call(uint32_t procedure, Stream& s);  // RFC 1094
void WalkNfs2Reply(uint32_t procedure, Stream& s);
void WalkNfs3Call(uint32_t procedure, Stream& s);  // RFC 1813
void WalkNfs3Reply(uint32_t procedure, Stream& s);
void WalkCompoundCall(Stream& s);  // RFC 7530, RFC 8881, RFC 7862, RFC 8276
void WalkCompoundReply(Stream& s);
void WalkCallbackCall(Stream& s);  // CB_COMPOUND
void WalkCallbackReply(Stream& s);
void WalkMountCall(uint32_t version, uint32_t procedure, Stream& s);  // RFC 1094 appendix A, RFC 1813 section 5
void WalkMountReply(uint32_t version, uint32_t procedure, Stream& s);
void WalkNlmCall(uint32_t version, uint32_t procedure, Stream& s);  // RFC 1813 section 6 and X/Open XNFS
void WalkNlmReply(uint32_t version, uint32_t procedure, Stream& s);
void WalkNsmCall(uint32_t procedure, Stream& s);  // X/Open XNFS
void WalkNsmReply(uint32_t procedure, Stream& s);
void WalkNfsAclCall(uint32_t version, uint32_t procedure, Stream& s);
void WalkNfsAclReply(uint32_t version, uint32_t procedure, Stream& s);

// Pieces of versions 2 and 3 that NFSACL shares.
inline constexpr uint32_t kNfs3HandleMax = 64;  // NFS3_FHSIZE
inline constexpr uint32_t kNfs2HandleBytes = 32;
void SkipNfs2Attributes(Stream& s);    // fattr
void SkipPostOpAttributes(Stream& s);  // post_op_attr

}  // namespace stag::nfs
