// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_trouble.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

#include "tests/support/messages.h"

namespace stag::endpoint {
namespace {

using Kind = Trouble::Kind;

TEST(VerbsTrouble, OfWork) {
  const auto kind = [](ibv_wc_status status) { return TroubleOfWork(status, Work::kWrite, false).kind; };
  EXPECT_EQ(kind(IBV_WC_SUCCESS), Kind::kNone);
  EXPECT_EQ(kind(IBV_WC_WR_FLUSH_ERR), Kind::kNone);
  EXPECT_EQ(kind(IBV_WC_REM_ACCESS_ERR), Kind::kRemoteAccess);
  EXPECT_EQ(kind(IBV_WC_RNR_RETRY_EXC_ERR), Kind::kNoReceive);
  EXPECT_EQ(kind(IBV_WC_RETRY_EXC_ERR), Kind::kPeerVanished);
  EXPECT_EQ(kind(IBV_WC_REM_OP_ERR), Kind::kRemoteError);
  EXPECT_EQ(kind(IBV_WC_REM_INV_REQ_ERR), Kind::kRemoteError);
  EXPECT_EQ(kind(IBV_WC_LOC_PROT_ERR), Kind::kLocal);
  EXPECT_NE(TroubleOfWork(IBV_WC_REM_ACCESS_ERR, Work::kRead, false).text.find("RDMA Read"), std::string::npos);
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    const auto trouble = TroubleOfWork(static_cast<ibv_wc_status>(status), Work::kSend, true);
    EXPECT_EQ(trouble.text.empty(), trouble.kind == Kind::kNone) << status;
    // What shows on the wire as a refusal is a trouble of the peer's making.
    if (NakOf(static_cast<ibv_wc_status>(status))) {
      EXPECT_TRUE(trouble.kind == Kind::kRemoteAccess || trouble.kind == Kind::kRemoteError ||
                  trouble.kind == Kind::kNoReceive)
          << status;
    }
  }
  EXPECT_EQ(NakOf(IBV_WC_RNR_RETRY_EXC_ERR), fabric::NakKind::kRnr);
  EXPECT_EQ(NakOf(IBV_WC_WR_FLUSH_ERR), std::nullopt);
}

TEST(VerbsTrouble, OfReceivesAndOfTheDevice) {
  EXPECT_EQ(TroubleOfReceive(IBV_WC_WR_FLUSH_ERR).kind, Kind::kNone);
  EXPECT_EQ(TroubleOfReceive(IBV_WC_LOC_LEN_ERR).kind, Kind::kPeerProtocol);
  EXPECT_EQ(TroubleOfReceive(IBV_WC_LOC_ACCESS_ERR).kind, Kind::kLocalAccess);
  EXPECT_EQ(TroubleOfEvent(IBV_EVENT_QP_ACCESS_ERR).kind, Kind::kLocalAccess);
  EXPECT_EQ(TroubleOfEvent(IBV_EVENT_QP_REQ_ERR).kind, Kind::kPeerProtocol);
  EXPECT_EQ(TroubleOfEvent(IBV_EVENT_QP_FATAL).kind, Kind::kLocal);
  EXPECT_EQ(TroubleOfEvent(IBV_EVENT_COMM_EST).kind, Kind::kNone);
}

TEST(VerbsTrouble, WhyNotConnected) {
  const auto data = stag::test::Words({0xf6ab0e18, 0});
  // IBA section 12.6.7.2: 8 is an invalid service id, 28 the consumer's own refusal.
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_REJECTED, 8, {}, false), "it rejected the connection: nothing listens there");
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_REJECTED, 28, data, false),
            "it rejected the connection: its program refused, private data f6ab0e18");
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_REJECTED, 77, {}, false), "it rejected the connection: CM REJ reason 77");
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, {}, true),
            "nothing listens there (connection refused)");
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, {}, false), "no answer in time");
  EXPECT_EQ(WhyNotConnected(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, {}, false), "no RDMA device reaches it");
}

TEST(VerbsTrouble, SaysWhichLimitToRaise) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64 * 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &low), 0);
  const std::string text = WhyNoMemory(1u << 20, ENOMEM);
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  EXPECT_NE(text.find("1048576 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("64 KiB"), std::string::npos) << text;
  EXPECT_NE(text.find("ulimit -l"), std::string::npos) << text;
  EXPECT_EQ(WhyNoMemory(1, EFAULT).find("ulimit"), std::string::npos);
  EXPECT_NE(WhyNoChannel(ENODEV).find("rdma_ucm"), std::string::npos);
}

}  // namespace
}  // namespace stag::endpoint
