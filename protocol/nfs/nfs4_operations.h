// SPDX-License-Identifier: GPL-2.0-or-later
//
// The operations of NFSv4.0 to 4.2: numbers, names and the layouts of those whose arguments or results are a fixed row
// of fields. The layouts are for the walkers of protocol/nfs; the numbers also for who encodes COMPOUNDs.
#pragma once

#include <cstdint>

namespace stag::nfs {

enum Op : uint32_t {
  kOpAccess = 3,
  kOpClose = 4,
  kOpCommit = 5,
  kOpCreate = 6,
  kOpDelegpurge = 7,
  kOpDelegreturn = 8,
  kOpGetattr = 9,
  kOpGetfh = 10,
  kOpLink = 11,
  kOpLock = 12,
  kOpLockt = 13,
  kOpLocku = 14,
  kOpLookup = 15,
  kOpLookupp = 16,
  kOpNverify = 17,
  kOpOpen = 18,
  kOpOpenattr = 19,
  kOpOpenConfirm = 20,
  kOpOpenDowngrade = 21,
  kOpPutfh = 22,
  kOpPutpubfh = 23,
  kOpPutrootfh = 24,
  kOpRead = 25,
  kOpReaddir = 26,
  kOpReadlink = 27,
  kOpRemove = 28,
  kOpRename = 29,
  kOpRenew = 30,
  kOpRestorefh = 31,
  kOpSavefh = 32,
  kOpSecinfo = 33,
  kOpSetattr = 34,
  kOpSetclientid = 35,
  kOpSetclientidConfirm = 36,
  kOpVerify = 37,
  kOpWrite = 38,
  kOpReleaseLockowner = 39,
  kOpBackchannelCtl = 40,
  kOpBindConnToSession = 41,
  kOpExchangeId = 42,
  kOpCreateSession = 43,
  kOpDestroySession = 44,
  kOpFreeStateid = 45,
  kOpGetDirDelegation = 46,
  kOpGetdeviceinfo = 47,
  kOpGetdevicelist = 48,
  kOpLayoutcommit = 49,
  kOpLayoutget = 50,
  kOpLayoutreturn = 51,
  kOpSecinfoNoName = 52,
  kOpSequence = 53,
  kOpSetSsv = 54,
  kOpTestStateid = 55,
  kOpWantDelegation = 56,
  kOpDestroyClientid = 57,
  kOpReclaimComplete = 58,
  kOpAllocate = 59,
  kOpCopy = 60,
  kOpCopyNotify = 61,
  kOpDeallocate = 62,
  kOpIoAdvise = 63,
  kOpLayouterror = 64,
  kOpLayoutstats = 65,
  kOpOffloadCancel = 66,
  kOpOffloadStatus = 67,
  kOpReadPlus = 68,
  kOpSeek = 69,
  kOpWriteSame = 70,
  kOpClone = 71,
  kOpGetxattr = 72,
  kOpSetxattr = 73,
  kOpListxattrs = 74,
  kOpRemovexattr = 75,
  kOpIllegal = 10044
};

enum CallbackOp : uint32_t {
  kCbGetattr = 3,
  kCbRecall = 4,
  kCbLayoutrecall = 5,
  kCbNotify = 6,
  kCbPushDeleg = 7,
  kCbRecallAny = 8,
  kCbRecallableObjAvail = 9,
  kCbRecallSlot = 10,
  kCbSequence = 11,
  kCbWantsCancelled = 12,
  kCbNotifyLock = 13,
  kCbNotifyDeviceid = 14,
  kCbOffload = 15
};

// Statuses whose results have a body, or that walkers test for.
enum Status4 : uint32_t {
  kNfs4Ok = 0,
  kNfs4ErrTooSmall = 10005,
  kNfs4ErrDenied = 10010,
  kNfs4ErrClidInUse = 10017,
  kNfs4ErrLayoutTryLater = 10058,
  kNfs4ErrOffloadNoReqs = 10094
};

struct Operation {
  const char* name;
  // Fields (see Stream::Fields) of the arguments, and of the results of NFS4_OK after the status. nullptr: not a plain
  // row; the walkers have a case for it.
  const char* arguments;
  const char* results;
};

const Operation* FindOperation(uint32_t op);          // nullptr when unknown
const Operation* FindCallbackOperation(uint32_t op);  // nullptr when unknown

}  // namespace stag::nfs
