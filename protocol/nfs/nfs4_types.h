// SPDX-License-Identifier: GPL-2.0-or-later
//
// Types of NFSv4 that are more than a row of fields and that calls, replies or callbacks share. Internal to
// protocol/nfs. Each function skips one value.
#pragma once

#include "protocol/nfs/stream.h"

namespace stag::nfs {

inline constexpr uint32_t kNfs4HandleMax = 128;  // NFS4_FHSIZE

void SkipOpenDelegation(Stream& s);     // open_delegation4
void SkipChannelAttributes(Stream& s);  // channel_attrs4
void SkipImplementation(Stream& s);     // nfs_impl_id4<1>
void SkipNetLocation(Stream& s);        // netloc4
void SkipNetLocations(Stream& s);       // netloc4<>
Bytes SkipWriteResponse(Stream& s);     // write_response4; its wr_callback_id, empty: none
void SkipNotifications(Stream& s);      // notify4<>

enum StateProtection : uint32_t { kProtectNone = 0, kProtectMachineCredential = 1, kProtectSsv = 2 };
enum ClaimType : uint32_t {
  kClaimNull = 0,
  kClaimPrevious = 1,
  kClaimDelegateCur = 2,
  kClaimDelegatePrev = 3,
  kClaimFh = 4,
  kClaimDelegCurFh = 5,
  kClaimDelegPrevFh = 6
};
enum LayoutScope : uint32_t {
  kScopeFile = 1,
  kScopeFsid = 2,
  kScopeAll = 3
};  // layoutreturn_type4, layoutrecall_type4

}  // namespace stag::nfs
