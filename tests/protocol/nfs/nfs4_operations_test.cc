// SPDX-License-Identifier: GPL-2.0-or-later
//
// Every operation's arguments and results, written from the XDR of RFC 7530, RFC 8881, RFC 7862 and RFC 8276, in front
// of a WRITE or READ: its item is only found when all that precedes it was skipped exactly.
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;

struct Case {
  uint32_t op;
  std::vector<Xdr> bodies;
};

Xdr Implementation() { return W({1}) + O("example.org") + O("name") + Time(); }
Xdr ChannelAttributes(bool ird) { return W({0, 65536, 65536, 4096, 16, 64}) + (ird ? W({1, 8}) : W({0})); }
Xdr SecurityParameters() {
  return W({3, 0, 1, 9}) + O("box") + W({0, 0, 2, 4, 5}) + W({6, 1}) + O("from server") + O("from client");
}
Xdr NetLocations() { return W({3, 1}) + O("server") + W({2}) + O("nfs://s/p") + W({3}) + O("tcp") + O("10.0.0.1.8.1"); }
Xdr WriteResponse() { return W({1}) + S() + H({4096}) + W({2}) + H({77}); }
Xdr Ace() { return W({0, 0, 0x1f}) + O("OWNER@"); }

std::vector<Xdr> Delegations() {
  return {W({0}),
          W({1}) + S() + W({0}) + Ace(),
          W({2}) + S() + W({0, 1}) + H({1 << 20}) + Ace(),
          W({2}) + S() + W({1, 2, 10, 4096}) + Ace(),
          W({3, 0}),
          W({3, 1, 1}),
          W({3, 2, 0}),
          W({3, 8}),
          W({4}) + S() + W({0}) + Ace(),
          W({5}) + S() + W({0, 1}) + H({9}) + Ace()};
}

// Each of `a` followed by each of `b`.
std::vector<Xdr> Product(const std::vector<Xdr>& a, const std::vector<Xdr>& b) {
  std::vector<Xdr> out;
  for (const Xdr& x : a)
    for (const Xdr& y : b) out.push_back(x + y);
  return out;
}

std::vector<Case> ArgumentCases() {
  const Xdr open_start = W({1, 2, 0}) + H({9}) + O("owner");
  const std::vector<Xdr> open_how = {W({0}), W({1, 0}) + Fattr(), W({1, 1}) + Fattr(), W({1, 2}) + H({5}),
                                     W({1, 3}) + H({5}) + Fattr()};
  const std::vector<Xdr> claims = {W({0}) + O("f"), W({1, 1}), W({2}) + S() + O("f2"), W({3}) + O("f3"), W({4}),
                                   W({5}) + S(),    W({6})};
  const Xdr exchange_start = H({1}) + O("owner") + W({0x101});
  const std::vector<Xdr> protection = {
      W({0}), W({1}) + Bitmap() + Bitmap(),
      W({2}) + Bitmap() + Bitmap() + W({2}) + O("\x2a\x86\x48") + O("oid") + W({1}) + O("enc") + W({4, 8})};
  const std::vector<Xdr> offsets = {W({0}), W({1}) + H({4095})};
  const std::vector<Xdr> times = {W({0}), W({1}) + Time()};
  return {
      {3, {W({0x1f})}},
      {4, {W({1}) + S()}},
      {5, {H({0}) + W({4096})}},
      {6,
       {W({3, 8, 1}) + O("b") + Fattr(), W({4, 8, 1}) + O("c") + Fattr(), W({2}) + O("dir") + Fattr(),
        W({6}) + O("s") + Fattr(), W({7}) + O("fifo") + Fattr()}},
      {7, {H({1})}},
      {8, {S()}},
      {9, {Bitmap(), W({0})}},
      {10, {{}}},
      {11, {O("newname")}},
      {12,
       {W({2, 0}) + H({0, 100}) + W({1, 1}) + S() + W({2}) + H({9}) + O("owner"),
        W({1, 1}) + H({0, 100}) + W({0}) + S() + W({3})}},
      {13, {W({2}) + H({0, 100, 9}) + O("owner")}},
      {14, {W({2, 1}) + S() + H({0, 100})}},
      {15, {O("name")}},
      {16, {{}}},
      {17, {Fattr()}},
      {18, Product(Product({open_start}, open_how), claims)},
      {19, {W({1})}},
      {20, {S() + W({1})}},
      {21, {S() + W({1, 1, 0})}},
      {22, {O("handle")}},
      {23, {{}}},
      {24, {{}}},
      {25, {S() + H({0}) + W({4096})}},
      {26, {H({0, 0}) + W({1024, 4096}) + Bitmap()}},
      {27, {{}}},
      {28, {O("gone")}},
      {29, {O("a") + O("bb")}},
      {30, {H({1})}},
      {31, {{}}},
      {32, {{}}},
      {33, {O("dir")}},
      {34, {S() + Fattr()}},
      {35, {H({1}) + O("ident") + W({0x40000000}) + O("tcp") + O("10.0.0.2.1.2") + W({1})}},
      {36, {H({1, 2})}},
      {37, {Fattr()}},
      {39, {H({1}) + O("owner")}},
      {40, {W({0x40000000}) + SecurityParameters(), W({0x40000000, 0})}},
      {41, {S() + W({1, 0})}},
      {42, Product(Product({exchange_start}, protection), {W({0}), Implementation()})},
      {43,
       {H({1}) + W({1, 3}) + ChannelAttributes(false) + ChannelAttributes(true) + W({0x40000000}) +
        SecurityParameters()}},
      {44, {S()}},
      {45, {S()}},
      {46, {W({1}) + Bitmap() + Time() + Time() + Bitmap() + Bitmap()}},
      {47, {S() + W({1, 4096}) + Bitmap()}},
      {48, {W({1, 10}) + H({0, 0})}},
      {49, Product(Product(Product({H({0, 4096}) + W({0}) + S()}, offsets), times), {W({1}) + O("update")})},
      {50, {W({0, 1, 2}) + H({0, 1 << 20, 4096}) + S() + W({4096})}},
      {51, {W({0, 1, 2, 1}) + H({0, 100}) + S() + O("body"), W({0, 1, 2, 2}), W({0, 1, 2, 3})}},
      {52, {W({0})}},
      {53, {S() + W({1, 2, 3, 1})}},
      {54, {O("ssv") + O("digest")}},
      {55, {W({2}) + S() + S(), W({0})}},
      {56, {W({1, 1, 1}), W({2, 4}), W({2, 6})}},
      {57, {H({1})}},
      {58, {W({0})}},
      {59, {S() + H({0, 100})}},
      {60, {S() + S() + H({0, 1, 2}) + W({1, 0, 0}), S() + S() + H({0, 1, 2}) + W({1, 0}) + NetLocations()}},
      {61, {S() + W({1}) + O("server"), S() + W({3}) + O("tcp") + O("1.2.3.4.5.6")}},
      {62, {S() + H({0, 100})}},
      {63, {S() + H({0, 100}) + Bitmap()}},
      {64, {H({0, 100}) + S() + W({2}) + S() + W({5, 25}) + S() + W({5, 38})}},
      {65, {H({0, 100}) + S() + H({1, 2, 3, 4}) + S() + W({1}) + O("update")}},
      {66, {S()}},
      {67, {S()}},
      {68, {S() + H({0}) + W({4096})}},
      {69, {S() + H({0}) + W({1})}},
      {70, {S() + W({2}) + H({0, 4096, 3, 8}) + W({1}) + H({0}) + O("pattern")}},
      {71, {S() + S() + H({0, 0, 100})}},
      {72, {O("user.a")}},
      {73, {W({1}) + O("user.a") + O("value")}},
      {74, {H({0}) + W({4096})}},
      {75, {O("user.a")}},
      {10044, {{}}},
  };
}

std::vector<Case> ResultCases() {
  const std::vector<Xdr> protection = {W({0}), W({1}) + Bitmap() + Bitmap(),
                                       W({2}) + Bitmap() + Bitmap() + W({0, 1, 20, 8, 2}) + O("h1") + O("handle2")};
  return {
      {3, {W({3, 1})}},
      {4, {S()}},
      {5, {H({9})}},
      {6, {ChangeInfo() + Bitmap()}},
      {7, {{}}},
      {8, {{}}},
      {9, {Fattr()}},
      {10, {O("handle")}},
      {11, {ChangeInfo()}},
      {12, {S()}},
      {13, {{}}},
      {14, {S()}},
      {15, {{}}},
      {16, {{}}},
      {17, {{}}},
      {18, Product({S() + ChangeInfo() + W({4}) + Bitmap()}, Delegations())},
      {19, {{}}},
      {20, {S()}},
      {21, {S()}},
      {22, {{}}},
      {23, {{}}},
      {24, {{}}},
      {26,
       {H({3}) + W({1}) + H({1}) + O("one") + Fattr() + W({1}) + H({2}) + O("entry 2") + Fattr() + W({0, 1}),
        H({3}) + W({0, 0})}},
      {28, {ChangeInfo()}},
      {29, {ChangeInfo() + ChangeInfo()}},
      {30, {{}}},
      {31, {{}}},
      {32, {{}}},
      {33, {W({3, 1, 6}) + O("\x2a\x86\x48") + W({0, 1, 0})}},
      {34, {Bitmap()}},
      {35, {H({1, 2})}},
      {36, {{}}},
      {37, {{}}},
      {38, {W({64, 2}) + H({1})}},
      {39, {{}}},
      {40, {{}}},
      {41, {S() + W({3, 0})}},
      {42, Product(Product(Product({H({1}) + W({1, 0x20001})}, protection), {H({0}) + O("major") + O("scope")}),
                   {W({0}), Implementation()})},
      {43, {S() + W({1, 3}) + ChannelAttributes(false) + ChannelAttributes(true)}},
      {44, {{}}},
      {45, {{}}},
      {46, {W({0}) + H({1}) + S() + Bitmap() + Bitmap() + Bitmap(), W({1, 1})}},
      {47, {W({1}) + O("address") + Bitmap()}},
      {48, {H({1, 2}) + W({2}) + S() + S() + W({1})}},
      {49, {W({0}), W({1}) + H({4096})}},
      {50, {W({1}) + S() + W({2}) + H({0, 100}) + W({2, 9}) + O("layout") + H({100, 100}) + W({1, 9}) + O("")}},
      {51, {W({0}), W({1}) + S()}},
      {52, {W({1, 1})}},
      {53, {S() + W({1, 2, 3, 4, 0})}},
      {54, {O("digest")}},
      {55, {W({2, 0, 10025})}},
      {56, Delegations()},
      {57, {{}}},
      {58, {{}}},
      {59, {{}}},
      {60, {WriteResponse() + W({1, 1}), W({0}) + H({5}) + W({2}) + H({1}) + W({1, 1})}},
      {61, {Time() + S() + NetLocations()}},
      {62, {{}}},
      {63, {Bitmap()}},
      {64, {{}}},
      {65, {{}}},
      {66, {{}}},
      {67, {H({100}) + W({1, 0}), H({100}) + W({0})}},
      {68, {W({1, 2, 0}) + H({0}) + O("data bytes") + W({1}) + H({10, 4096}), W({1, 0})}},
      {69, {W({0}) + H({4096})}},
      {70, {WriteResponse()}},
      {71, {{}}},
      {72, {O("value")}},
      {73, {ChangeInfo()}},
      {74, {H({2}) + W({2}) + O("a") + O("bbbbb") + W({1})}},
      {75, {ChangeInfo()}},
  };
}

TEST(Nfs4Operations, EveryArgument) {
  std::set<uint32_t> covered;
  for (const Case& c : ArgumentCases()) {
    covered.insert(c.op);
    for (const Xdr& body : c.bodies) {
      const auto call = CallMessage(
          kNfsProgram, 4, 1, O("tag") + W({2, 2, c.op}) + body + W({38}) + S() + H({4096}) + W({2}) + O("the data"));
      const Recorder r = WalkCallToEnd(call);
      ASSERT_FALSE(HasFailure()) << OperationName(c.op);
      EXPECT_EQ(r.ops, (std::vector<uint32_t>{c.op, 38}));
      ASSERT_EQ(r.items.size(), 1u) << OperationName(c.op);
      EXPECT_EQ(r.items[0].offset, call.size() - 8);
      EXPECT_EQ(r.items[0].op_index, 1u);
      const Eligibility eligible = EligibleItems(Header(call), call, call.size());
      EXPECT_EQ(eligible.argument_items, 1u);
      EXPECT_EQ(eligible.result_items, c.op == 25 || c.op == 27);
    }
  }
  covered.insert(38);
  EXPECT_EQ(covered.size(), 74u);  // 3 to 75, and ILLEGAL
}

TEST(Nfs4Operations, EveryResult) {
  std::set<uint32_t> covered;
  for (const Case& c : ResultCases()) {
    covered.insert(c.op);
    for (const Xdr& body : c.bodies) {
      const auto call = CallMessage(kNfsProgram, 4, 1, O("tag") + W({2, 0}));
      const auto reply = ReplyMessage(W({0}) + O("tag") + W({2, c.op, 0}) + body + W({25, 0, 1}) + O("the data"));
      const Recorder r = WalkReplyToEnd(call, reply);
      ASSERT_FALSE(HasFailure()) << OperationName(c.op);
      EXPECT_EQ(r.results, (std::vector<Recorder::Result>{{c.op, 0}, {25, 0}}));
      ASSERT_EQ(r.items.size(), 1u) << OperationName(c.op);
      EXPECT_EQ(r.items[0].offset, reply.size() - 8);
      EXPECT_EQ(r.items[0].op_index, 1u);
    }
  }
  covered.insert({25, 27});  // READ and READLINK are in nfs4_test.cc
  EXPECT_EQ(covered.size(), 73u);
}

TEST(Nfs4Operations, FailuresEndTheResults) {
  const auto call = CallMessage(kNfsProgram, 4, 1, O("tag") + W({2, 0}));
  std::vector<std::pair<Recorder::Result, Xdr>> failures = {
      {{12, 10010}, H({0, 5}) + W({2}) + H({1}) + O("owner")},
      {{13, 10010}, H({0, 5}) + W({2}) + H({1}) + O("owner")},
      {{34, 1}, Bitmap()},
      {{34, 13}, W({0})},
      {{35, 10017}, O("tcp") + O("1.2.3.4.5.6")},
      {{47, 10005}, W({5000})},
      {{50, 10058}, W({1})},
      {{60, 10094}, W({1, 0})},
      {{10044, 10044}, {}},
  };
  for (uint32_t op = 3; op <= 75; ++op)
    if (op != 34) failures.push_back({{op, 10006}, {}});
  for (const auto& [result, body] : failures) {
    const auto reply = ReplyMessage(W({result.status}) + O("") + W({2, 24, 0, result.op, result.status}) + body);
    Walk walk;
    const Recorder r = WalkReplyToEnd(call, reply, {}, &walk);
    ASSERT_FALSE(HasFailure()) << result.op;
    EXPECT_EQ(r.results, (std::vector<Recorder::Result>{{24, 0}, result}));
    EXPECT_TRUE(r.items.empty());
    EXPECT_TRUE(walk.has_status);
    EXPECT_EQ(walk.nfs_status, result.status);
  }
}

TEST(Nfs4Operations, Callbacks) {
  const auto message = [](const Xdr& arguments) { return CallMessage(0x40000000, 1, 1, arguments); };
  const std::vector<Case> arguments = {
      {3, {O("fh") + Bitmap()}},
      {4, {S() + W({0}) + O("fh")}},
      {5, {W({1, 2, 0, 1}) + O("fh") + H({0, 100}) + S(), W({1, 2, 0, 2}) + H({1, 2}), W({1, 2, 0, 3})}},
      {6, {S() + O("fh") + W({1}) + Bitmap() + O("changes")}},
      {7, Product({O("fh")}, Delegations())},
      {8, {W({5}) + Bitmap()}},
      {9, {W({5}) + Bitmap()}},
      {10, {W({4})}},
      {11, {S() + W({1, 0, 0, 1, 0}), S() + W({1, 0, 0, 1, 2}) + S() + W({2, 1, 2, 3, 4}) + S() + W({0})}},
      {12, {W({1, 1})}},
      {13, {O("fh") + H({5}) + O("owner")}},
      {14, {W({2}) + Bitmap() + O("a") + Bitmap() + O("b")}},
      {15, {O("fh") + S() + W({0}) + WriteResponse(), O("fh") + S() + W({5}) + H({9})}},
  };
  for (const Case& c : arguments) {
    for (const Xdr& body : c.bodies) {
      const auto call = message(O("tag") + W({1, 7, 2, c.op}) + body + W({10044}));
      EXPECT_EQ(WalkCallToEnd(call).ops, (std::vector<uint32_t>{c.op, 10044}));
      const Xdr results = c.op == 3 ? Fattr() : c.op == 11 ? S() + W({1, 2, 3, 4}) : Xdr();
      const auto reply = ReplyMessage(W({0}) + O("tag") + W({2, c.op, 0}) + results + W({10044, 10044}));
      const Recorder r = WalkReplyToEnd(call, reply);
      EXPECT_EQ(r.results, (std::vector<Recorder::Result>{{c.op, 0}, {10044, 10044}}));
      ASSERT_FALSE(HasFailure()) << CallbackOperationName(c.op);
      const Eligibility eligible = EligibleItems(Header(call), call, call.size());
      EXPECT_TRUE(eligible.known);
      EXPECT_EQ(eligible.argument_items + eligible.result_items, 0u);
    }
  }
}

}  // namespace
}  // namespace stag::nfs
