// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "protocol/rpc/message.h"

namespace stag::rpc {
namespace {

TEST(Names, Programs) {
  EXPECT_STREQ(ProgramName(100003, 3), "NFS");
  EXPECT_STREQ(ProgramName(100003, 9), "NFS");
  EXPECT_STREQ(ProgramName(100005, 3), "MOUNT");
  EXPECT_STREQ(ProgramName(100021, 4), "NLM");
  EXPECT_STREQ(ProgramName(100024, 1), "NSM");
  EXPECT_STREQ(ProgramName(100227, 3), "NFSACL");
  EXPECT_STREQ(ProgramName(100000, 2), "PORTMAP");
  EXPECT_STREQ(ProgramName(100000, 4), "RPCBIND");
  EXPECT_STREQ(ProgramName(100400, 1), "CCP");
  EXPECT_STREQ(ProgramName(100417, 1), "CCP");
  EXPECT_STREQ(ProgramName(0x40000000, 1), "NFS_CB");
  EXPECT_STREQ(ProgramName(0x5fffffff, 4), "NFS_CB");
  EXPECT_EQ(ProgramName(0x60000000, 1), nullptr);
  EXPECT_EQ(ProgramName(100099, 4), nullptr);
}

TEST(Names, Procedures) {
  EXPECT_STREQ(ProcedureName(100003, 2, 8), "WRITE");
  EXPECT_STREQ(ProcedureName(100003, 2, 17), "STATFS");
  EXPECT_STREQ(ProcedureName(100003, 3, 6), "READ");
  EXPECT_STREQ(ProcedureName(100003, 3, 7), "WRITE");
  EXPECT_STREQ(ProcedureName(100003, 3, 17), "READDIRPLUS");
  EXPECT_STREQ(ProcedureName(100003, 3, 21), "COMMIT");
  EXPECT_EQ(ProcedureName(100003, 3, 22), nullptr);
  EXPECT_STREQ(ProcedureName(100003, 4, 1), "COMPOUND");
  EXPECT_EQ(ProcedureName(100003, 4, 2), nullptr);
  EXPECT_STREQ(ProcedureName(0x40000000, 1, 0), "NULL");
  EXPECT_STREQ(ProcedureName(0x40000000, 1, 1), "CB_COMPOUND");
  EXPECT_STREQ(ProcedureName(100227, 3, 2), "SETACL");
  EXPECT_STREQ(ProcedureName(100227, 2, 4), "ACCESS");
  EXPECT_STREQ(ProcedureName(100005, 3, 1), "MNT");
  EXPECT_STREQ(ProcedureName(100005, 2, 7), "PATHCONF");
  EXPECT_EQ(ProcedureName(100005, 3, 7), nullptr);
  EXPECT_STREQ(ProcedureName(100021, 4, 2), "LOCK");
  EXPECT_STREQ(ProcedureName(100021, 3, 23), "FREE_ALL");
  EXPECT_EQ(ProcedureName(100021, 4, 17), nullptr);
  EXPECT_STREQ(ProcedureName(100024, 1, 6), "NOTIFY");
  EXPECT_STREQ(ProcedureName(100000, 2, 3), "GETPORT");
  EXPECT_STREQ(ProcedureName(100000, 3, 3), "GETADDR");
  EXPECT_STREQ(ProcedureName(100000, 4, 12), "GETSTAT");
  EXPECT_STREQ(ProcedureName(100400, 1, 1), "CONF_RDMA");
  EXPECT_STREQ(ProcedureName(99, 1, 0), "NULL");
  EXPECT_EQ(ProcedureName(99, 1, 1), nullptr);
}

}  // namespace
}  // namespace stag::rpc
