// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/nfs/nfs4_types.h"

namespace stag::nfs {

void SkipOpenDelegation(Stream& s) {
  enum : uint32_t { kNone, kRead, kWrite, kNoneExt, kReadAttributes, kWriteAttributes };  // the last two: RFC 9754
  enum : uint32_t { kContention = 1, kResource = 2 };                                     // why_no_delegation4
  enum : uint32_t { kLimitSize = 1, kLimitBlocks = 2 };                                   // nfs_space_limit4
  switch (s.U32()) {
    case kNone: return;
    case kRead:
    case kReadAttributes: return s.Fields("ibwwwN");
    case kWrite:
    case kWriteAttributes: {
      s.Fields("ib");
      const uint32_t limit_by = s.U32();
      if (limit_by != kLimitSize && limit_by != kLimitBlocks) s.Malformed();
      return s.Fields("hwwwN");
    }
    case kNoneExt: {
      const uint32_t why = s.U32();
      if (why == kContention || why == kResource) s.Bool();
      return;
    }
    default: return s.Unsupported();
  }
}

void SkipChannelAttributes(Stream& s) {
  s.Fields("wwwwww");
  s.SkipWords(1);  // ca_rdma_ird<1>
}

void SkipImplementation(Stream& s) {
  if (s.Count(4, 1) == 1) s.Fields("NNt");
}

void SkipNetLocation(Stream& s) {
  enum : uint32_t { kName = 1, kUrl = 2, kNetAddress = 3 };
  switch (s.U32()) {
    case kName:
    case kUrl: return s.Fields("N");
    case kNetAddress: return s.Fields("A");
    default: return s.Unsupported();
  }
}

void SkipNetLocations(Stream& s) {
  const uint32_t count = s.Count(8);
  for (uint32_t i = 0; i < count && s.ok(); ++i) SkipNetLocation(s);
}

Bytes SkipWriteResponse(Stream& s) {
  Bytes callback;
  if (s.Count(16, 1) == 1) callback = s.Value(ValueKind::kStateid, 16);  // wr_callback_id<1>
  s.Fields("hwy");
  return callback;
}

void SkipNotifications(Stream& s) {
  const uint32_t count = s.Count(8);
  for (uint32_t i = 0; i < count && s.ok(); ++i) s.Fields("mo");
}

}  // namespace stag::nfs
