// SPDX-License-Identifier: GPL-2.0-or-later
//
// Triggers as text, and what a capture says of a small connection and when its triggers fire.
#include "cli/live/capture_watch.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ParseTrigger, Words) {
  EXPECT_EQ(ParseTrigger("finding")->on, Trigger::On::kFinding);
  EXPECT_EQ(ParseTrigger("error")->on, Trigger::On::kError);
  EXPECT_EQ(ParseTrigger("rnr")->on, Trigger::On::kRnr);
  EXPECT_EQ(ParseTrigger("latency>20ms")->on, Trigger::On::kLatency);
  EXPECT_EQ(ParseTrigger("latency>20ms")->longer_than_ns, 20 * kMs);
  for (const char* text : {"", "latency", "latency>", "latency>soon", "latency<1s", "findings"})
    EXPECT_FALSE(ParseTrigger(text)) << text;
}

session::Connection ConnectionOne() {
  session::Connection connection;
  connection.info.id = 1;
  connection.proof = session::Proof::kRpcRdma;
  return connection;
}

fabric::Nak Refusal(fabric::NakKind kind) {
  fabric::Nak nak;
  nak.kind = kind;
  return nak;
}

session::Transaction Took(int64_t ns) {
  session::Transaction transaction;
  transaction.xid = 0x1234;
  transaction.call.frame = {1, 1000};
  transaction.reply.frame = {2, 1000 + ns};
  return transaction;
}

TEST(CaptureWatch, Latency) {
  CaptureWatch watch({{Trigger::On::kRnr, 0}, {Trigger::On::kLatency, 20 * kMs}}, true, nullptr);
  const session::Connection connection = ConnectionOne();
  watch.OnTransaction(connection, Took(20 * kMs));
  EXPECT_FALSE(watch.fired());
  watch.OnTransaction(connection, Took(21 * kMs));
  ASSERT_TRUE(watch.fired());
  EXPECT_EQ(*watch.fired(), "the RPC with xid 0x00001234 on connection 1 took 21.0ms");
  watch.OnTransaction(connection, Took(50 * kMs));  // once
  EXPECT_NE(watch.fired()->find("21.0ms"), std::string::npos);
}

TEST(CaptureWatch, AnUnansweredCallHasNoLatency) {
  CaptureWatch watch({{Trigger::On::kLatency, 0}}, true, nullptr);
  session::Transaction transaction = Took(kMs);
  transaction.reply.frame = {};
  watch.OnTransaction(ConnectionOne(), transaction);
  EXPECT_FALSE(watch.fired());
}

TEST(CaptureWatch, Naks) {
  CaptureWatch watch({{Trigger::On::kRnr, 0}}, true, nullptr);
  const session::Connection connection = ConnectionOne();
  fabric::Event event;
  event.what = Refusal(fabric::NakKind::kSequence);
  watch.OnNak(connection, event);
  event.what = Refusal(fabric::NakKind::kRemoteAccess);
  watch.OnNak(connection, event);
  EXPECT_FALSE(watch.fired());
  event.what = Refusal(fabric::NakKind::kRnr);
  watch.OnNak(connection, event);
  EXPECT_EQ(watch.fired(), "NAK: receiver not ready on connection 1");
  CaptureWatch errors({{Trigger::On::kError, 0}}, true, nullptr);
  errors.OnNak(connection, event);
  EXPECT_FALSE(errors.fired());
  event.what = Refusal(fabric::NakKind::kRemoteAccess);
  errors.OnNak(connection, event);
  EXPECT_EQ(errors.fired(), "NAK: remote access error on connection 1");
}

TEST(CaptureWatch, CommentsComeOnce) {
  CaptureWatch watch({}, true, nullptr);
  const session::Connection connection = ConnectionOne();
  watch.OnTransaction(connection, Took(kMs));
  EXPECT_NE(watch.TakeComment().find("inline thresholds"), std::string_view::npos);
  EXPECT_EQ(watch.TakeComment(), "");
  watch.OnTransaction(connection, Took(kMs));
  EXPECT_EQ(watch.TakeComment(), "");
  watch.OnConnectionClosed(connection, {});
  EXPECT_EQ(watch.TakeComment(), "connection 1 end of capture: 2 RPCs, 0 findings");
}

}  // namespace
}  // namespace stag::cli
