// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/filter.h"

#include <gtest/gtest.h>

namespace stag::analysis {
namespace {

TEST(Filter, FramesAsTheyAreWritten) {
  const auto one = ParseNumberRange("17"), some = ParseNumberRange("17-40"), rest = ParseNumberRange("17-");
  ASSERT_TRUE(one && some && rest);
  EXPECT_EQ(one->last, 17u);
  EXPECT_EQ(some->first, 17u);
  EXPECT_EQ(some->last, 40u);
  EXPECT_EQ(rest->last, UINT64_MAX);
  for (const char* text : {"", "-", "-5", "0", "5-4", "a", "1-b", "1..2", "99999999999999999999"})
    EXPECT_FALSE(ParseNumberRange(text)) << text;
}

TEST(Filter, TimesAsTheyAreWritten) {
  const auto iso = ParseTimeRange("2024-01-31T12:00:00.5Z..2024-01-31 12:01");
  ASSERT_TRUE(iso && iso->from && iso->to);
  EXPECT_EQ(iso->from->ns, 1706702400500000000);  // date -u -d 2024-01-31T12:00:00 +%s
  EXPECT_EQ(iso->to->ns, 1706702460000000000);
  EXPECT_FALSE(iso->from->relative);
  const auto relative = ParseTimeRange("200ms..1.5");
  ASSERT_TRUE(relative && relative->from && relative->to);
  EXPECT_TRUE(relative->from->relative);
  EXPECT_EQ(relative->from->At(1000), 200001000);
  EXPECT_EQ(relative->to->ns, 1500000000);
  const auto epoch = ParseTimeRange("1706702400.25..");
  ASSERT_TRUE(epoch && epoch->from);
  EXPECT_FALSE(epoch->from->relative);
  EXPECT_EQ(epoch->from->At(5), 1706702400250000000);
  EXPECT_FALSE(epoch->to);
  for (const char* text : {"", "..", "5", "2..1", "2024-02-30T00:00..", "2024-01-31T24:00..", "2024-01-31T12:00:0..",
                           "2024-01-31T12:00:00.1234567890..", "x..", "..y", "-1.."})
    EXPECT_FALSE(ParseTimeRange(text)) << text;
}

TEST(Filter, XidsAsTheyAreWritten) {
  EXPECT_EQ(ParseXid("0x1a2b3c4d"), 0x1a2b3c4du);
  EXPECT_EQ(ParseXid("17"), 17u);
  for (const char* text : {"", "0x", "1a", "0x100000000", "-1"}) EXPECT_FALSE(ParseXid(text)) << text;
}

session::Connection Between(const char* client, const char* server, uint32_t id = 1) {
  session::Connection c;
  c.info.id = id;
  c.info.endpoint[0].address = ParseAddress(client)->address;
  c.info.endpoint[1].address = ParseAddress(server)->address;
  c.client = 0;
  return c;
}

TEST(Filter, AddressesAsTheyAreWritten) {
  EXPECT_EQ(ParseAddress("10.1.2.3")->address.kind, Address::Kind::kIpv4);
  EXPECT_EQ(ParseAddress("fe80::1")->address.kind, Address::Kind::kIpv6);
  EXPECT_EQ(ParseAddress("LID 7")->address.kind, Address::Kind::kLid);
  for (const char* text : {"", "10.1.2", "10.1.2.3/33", "10.1.2.3/", "host", "fe80::1/129", "LID", "LID 65536"})
    EXPECT_FALSE(ParseAddress(text)) << text;
}

TEST(Filter, ConnectionsByTheirEnds) {
  const session::Connection c = Between("10.1.2.3", "10.1.3.4", 7);
  const auto fits = [&c](const char* client, const char* server) {
    Filter filter;
    if (client) filter.clients.push_back(*ParseAddress(client));
    if (server) filter.servers.push_back(*ParseAddress(server));
    return filter.HasConnection(c);
  };
  EXPECT_TRUE(fits("10.1.2.3", nullptr));
  EXPECT_TRUE(fits("10.1.2.3", "10.1.3.4"));
  EXPECT_FALSE(fits("10.1.3.4", nullptr));
  EXPECT_TRUE(fits("10.1.2.0/24", nullptr));
  EXPECT_FALSE(fits(nullptr, "10.1.2.0/24"));
  EXPECT_TRUE(fits(nullptr, "10.1.2.0/23"));
  EXPECT_TRUE(fits("0.0.0.0/0", nullptr));
  EXPECT_FALSE(fits("::/0", nullptr));
  Filter numbers;
  numbers.connections = {{3, 5}, {7, 7}};
  EXPECT_TRUE(numbers.HasConnection(c));
  EXPECT_FALSE(numbers.HasConnection(6));
  EXPECT_TRUE(numbers.HasConnection(4));
  EXPECT_TRUE(Filter().HasConnection(c));
}

session::Transaction Rpc(uint32_t procedure, std::optional<uint32_t> status) {
  session::Transaction t;
  t.xid = 0x10;
  t.call.frame = {20, 2000};
  t.call.first_frame = {18, 1800};
  t.call.rpc.status = ParseStatus::kOk;
  t.call.rpc.program = 100003;
  t.call.rpc.version = 3;
  t.call.rpc.procedure = procedure;
  if (!status) return t;
  t.reply.form = session::ReplyForm::kShort;
  t.reply.frame = {30, 3000};
  t.reply.rpc.status = ParseStatus::kOk;
  t.reply.rpc.reply_stat = 0;
  t.reply.rpc.accept_stat = 0;
  t.reply.walk.has_status = true;
  t.reply.walk.nfs_status = *status;
  return t;
}

TEST(Filter, RpcsByWhatTheyAre) {
  const session::Transaction read = Rpc(6, 0), stale = Rpc(6, 70), open = Rpc(1, std::nullopt);
  const auto fits = [](const session::Transaction& t, std::vector<std::string> statuses) {
    Filter filter;
    filter.statuses = std::move(statuses);
    return filter.HasKind(t);
  };
  EXPECT_TRUE(fits(read, {}));
  EXPECT_TRUE(fits(read, {"ok"}));
  EXPECT_TRUE(fits(read, {"0"}));
  EXPECT_TRUE(fits(read, {"nfs3_ok"}));
  EXPECT_FALSE(fits(read, {"error", "none", "70"}));
  EXPECT_TRUE(fits(stale, {"error"}));
  EXPECT_TRUE(fits(stale, {"70"}));
  EXPECT_TRUE(fits(stale, {"nfs3err_stale"}));
  EXPECT_FALSE(fits(stale, {"ok"}));
  EXPECT_TRUE(fits(open, {"none"}));
  EXPECT_FALSE(fits(open, {"ok", "error"}));
  Filter slow;
  slow.slower_than_ns = 999;
  EXPECT_TRUE(slow.HasKind(read));  // 1,000 ns from its Call to its Reply
  slow.slower_than_ns = 1000;
  EXPECT_FALSE(slow.HasKind(read));
  EXPECT_FALSE(slow.HasKind(open));
}

TEST(Filter, RpcsByWhereTheyAre) {
  const session::Transaction read = Rpc(6, 0);
  const auto fits = [&read](uint64_t first, uint64_t last) {
    Filter filter;
    filter.frames = {{first, last}};
    return filter.HasRpc(read, 0);
  };
  EXPECT_TRUE(fits(1, 18));
  EXPECT_TRUE(fits(30, 40));
  EXPECT_TRUE(fits(22, 23));
  EXPECT_FALSE(fits(1, 17));
  EXPECT_FALSE(fits(31, 40));
  Filter times;
  times.times = {*ParseTimeRange("1us..")};
  EXPECT_TRUE(times.HasRpc(read, 2000));
  EXPECT_FALSE(times.HasRpc(read, 2001));
}

}  // namespace
}  // namespace stag::analysis
