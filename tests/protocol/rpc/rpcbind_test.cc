// SPDX-License-Identifier: GPL-2.0-or-later
//
// rpcbind messages laid out by hand from RFC 1833 section 2.1.
#include "protocol/rpc/rpcbind.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/protocol/rpcrdma/words.h"

namespace stag::rpc {
namespace {

using test::Hex;
using test::Text;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Call of version 4: xid 7, procedure, AUTH_NONE; program 100003, version 3, netid "rdma", address "1.2.3.4.78.81".
std::string CallText(const char* procedure) {
  return "00000007 00000000 00000002 000186a0 00000004 " + std::string(procedure) +
         " 00000000 00000000 00000000 00000000 000186a3 00000003 "
         "00000004 72646d61 0000000d 312e322e332e342e37382e3831000000 00000000";
}
const char* const kReplyHead = "00000007 00000001 00000000 00000000 00000000 00000000 ";

ParseStatus VisitCall(Bytes bytes, uint64_t length, Pairs& out) {
  return VisitRpcbindCall(DecodeCall(bytes, length), bytes, length,
                          [&](Bytes netid, Bytes address) { out.emplace_back(Text(netid), Text(address)); });
}
ParseStatus VisitReply(uint32_t procedure, Bytes bytes, uint64_t length, Pairs& out) {
  return VisitRpcbindReply(procedure, DecodeReply(bytes, length), bytes, length,
                           [&](Bytes netid, Bytes address) { out.emplace_back(Text(netid), Text(address)); });
}

const Pairs kOne = {{"rdma", "1.2.3.4.78.81"}};

TEST(Rpcbind, Calls) {
  for (const char* procedure : {"00000001", "00000002", "00000003", "00000009", "0000000b"}) {
    const auto bytes = Hex(CallText(procedure));
    Pairs found;
    EXPECT_EQ(VisitCall(bytes, bytes.size(), found), ParseStatus::kOk);
    EXPECT_EQ(found, kOne) << procedure;
  }
  const auto dump = Hex(CallText("00000004"));
  Pairs found;
  EXPECT_EQ(VisitCall(dump, dump.size(), found), ParseStatus::kOk);
  EXPECT_TRUE(found.empty());
}

TEST(Rpcbind, OtherProgramsAndVersions) {
  auto bytes = Hex(CallText("00000003"));
  Pairs found;
  bytes[19] = std::byte{2};  // the portmapper has no netids
  EXPECT_EQ(VisitCall(bytes, bytes.size(), found), ParseStatus::kUnsupported);
  bytes[19] = std::byte{4};
  bytes[15] = std::byte{0xa3};
  EXPECT_EQ(VisitCall(bytes, bytes.size(), found), ParseStatus::kUnsupported);
  EXPECT_TRUE(found.empty());
}

TEST(Rpcbind, Replies) {
  const auto getaddr = Hex(std::string(kReplyHead) + "00000004 3a3a2e31");
  Pairs found;
  EXPECT_EQ(VisitReply(kRpcbGetaddr, getaddr, getaddr.size(), found), ParseStatus::kOk);
  EXPECT_EQ(found, (Pairs{{"", "::.1"}}));

  const std::string entry = "00000001 000186a3 00000003 00000005 72646d6136000000 00000004 3a3a2e31 00000000 ";
  const auto dump = Hex(kReplyHead + entry + entry + "00000000");
  found.clear();
  EXPECT_EQ(VisitReply(kRpcbDump, dump, dump.size(), found), ParseStatus::kOk);
  EXPECT_EQ(found, (Pairs{{"rdma6", "::.1"}, {"rdma6", "::.1"}}));

  // Address, netid, semantics, protocol family, protocol.
  const auto list = Hex(std::string(kReplyHead) +
                        "00000001 00000004 3a3a2e31 00000004 72646d61 00000003 00000004 696e6574 00000000 00000000");
  found.clear();
  EXPECT_EQ(VisitReply(kRpcbGetaddrlist, list, list.size(), found), ParseStatus::kOk);
  EXPECT_EQ(found, (Pairs{{"rdma", "::.1"}}));

  const auto failed = Hex("00000007 00000001 00000000 00000000 00000000 00000001");
  found.clear();
  EXPECT_EQ(VisitReply(kRpcbGetaddr, failed, failed.size(), found), ParseStatus::kOk);
  EXPECT_TRUE(found.empty());
}

TEST(Rpcbind, EveryByteOfTruncation) {
  const auto call = Hex(CallText("00000003"));
  const auto dump = Hex(std::string(kReplyHead) +
                        "00000001 000186a3 00000003 00000005 72646d6136000000 00000004 3a3a2e31 00000000 00000000");
  for (size_t n = 0; n < call.size(); ++n) {
    Pairs found;
    const Bytes part = Bytes(call).first(n);
    EXPECT_EQ(VisitCall(part, call.size(), found),
              n < call.size() - 4 ? ParseStatus::kTruncatedByCapture : ParseStatus::kOk);
    EXPECT_NE(VisitCall(part, n, found), n < call.size() - 4 ? ParseStatus::kOk : ParseStatus::kMalformed);
  }
  for (size_t n = 0; n < dump.size(); ++n) {
    Pairs found;
    const Bytes part = Bytes(dump).first(n);
    EXPECT_EQ(VisitReply(kRpcbDump, part, dump.size(), found), ParseStatus::kTruncatedByCapture) << n;
    EXPECT_NE(VisitReply(kRpcbDump, part, n, found), ParseStatus::kOk) << n;
  }
}

}  // namespace
}  // namespace stag::rpc
