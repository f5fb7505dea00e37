// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "protocol/nfs/walk.h"

namespace stag::nfs {
namespace {

TEST(Names, Operations) {
  EXPECT_STREQ(OperationName(3), "ACCESS");
  EXPECT_STREQ(OperationName(18), "OPEN");
  EXPECT_STREQ(OperationName(22), "PUTFH");
  EXPECT_STREQ(OperationName(25), "READ");
  EXPECT_STREQ(OperationName(38), "WRITE");
  EXPECT_STREQ(OperationName(39), "RELEASE_LOCKOWNER");
  EXPECT_STREQ(OperationName(40), "BACKCHANNEL_CTL");
  EXPECT_STREQ(OperationName(52), "SECINFO_NO_NAME");
  EXPECT_STREQ(OperationName(53), "SEQUENCE");
  EXPECT_STREQ(OperationName(58), "RECLAIM_COMPLETE");
  EXPECT_STREQ(OperationName(59), "ALLOCATE");
  EXPECT_STREQ(OperationName(68), "READ_PLUS");
  EXPECT_STREQ(OperationName(71), "CLONE");
  EXPECT_STREQ(OperationName(72), "GETXATTR");
  EXPECT_STREQ(OperationName(73), "SETXATTR");
  EXPECT_STREQ(OperationName(74), "LISTXATTRS");
  EXPECT_STREQ(OperationName(75), "REMOVEXATTR");
  EXPECT_STREQ(OperationName(10044), "ILLEGAL");
  for (uint32_t op : {0u, 1u, 2u, 76u, 10043u, 0xffffffffu}) EXPECT_EQ(OperationName(op), nullptr);
}

TEST(Names, CallbackOperations) {
  EXPECT_STREQ(CallbackOperationName(3), "CB_GETATTR");
  EXPECT_STREQ(CallbackOperationName(4), "CB_RECALL");
  EXPECT_STREQ(CallbackOperationName(11), "CB_SEQUENCE");
  EXPECT_STREQ(CallbackOperationName(15), "CB_OFFLOAD");
  EXPECT_STREQ(CallbackOperationName(10044), "CB_ILLEGAL");
  for (uint32_t op : {0u, 2u, 16u, 0xffffffffu}) EXPECT_EQ(CallbackOperationName(op), nullptr);
}

TEST(Names, StatusFlags) {
  EXPECT_STREQ(StatusFlagName(0x1), "SEQ4_STATUS_CB_PATH_DOWN");
  EXPECT_STREQ(StatusFlagName(0x100), "SEQ4_STATUS_RESTART_RECLAIM_NEEDED");
  EXPECT_STREQ(StatusFlagName(0x400), "SEQ4_STATUS_BACKCHANNEL_FAULT");
  EXPECT_STREQ(StatusFlagName(0x1000), "SEQ4_STATUS_DEVID_DELETED");
  for (uint32_t flag : {0u, 3u, 0x2000u, 0x80000000u}) EXPECT_EQ(StatusFlagName(flag), nullptr);
}

TEST(Names, Statuses) {
  EXPECT_STREQ(StatusName(2, 0), "NFS_OK");
  EXPECT_STREQ(StatusName(2, 99), "NFSERR_WFLUSH");
  EXPECT_STREQ(StatusName(3, 0), "NFS3_OK");
  EXPECT_STREQ(StatusName(3, 2), "NFS3ERR_NOENT");
  EXPECT_STREQ(StatusName(3, 10008), "NFS3ERR_JUKEBOX");
  EXPECT_STREQ(StatusName(4, 0), "NFS4_OK");
  EXPECT_STREQ(StatusName(4, 70), "NFS4ERR_STALE");
  EXPECT_STREQ(StatusName(4, 10052), "NFS4ERR_BADSESSION");
  EXPECT_STREQ(StatusName(4, 10087), "NFS4ERR_DELEG_REVOKED");
  EXPECT_STREQ(StatusName(4, 10096), "NFS4ERR_XATTR2BIG");
  EXPECT_EQ(StatusName(4, 10073), nullptr);
  EXPECT_EQ(StatusName(3, 3), nullptr);
  EXPECT_EQ(StatusName(5, 0), nullptr);
}

}  // namespace
}  // namespace stag::nfs
