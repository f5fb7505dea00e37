// SPDX-License-Identifier: GPL-2.0-or-later
//
// In what Calls may differ and still ask for the same, and how a Reply is fitted to another Call. Layouts of NFSv4.1:
// RFC 8881 sections 18.35, 18.36, 18.46; of OPEN: 18.16.
#include "replay/serve/call_key.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/messages.h"

namespace stag::serve {
namespace {

using namespace stag::test;

constexpr uint32_t kNfs = 100003;

Buffer KeyOf(const Buffer& call) {
  CallKey key;
  const Bytes bytes = key.Of(rpc::DecodeCall(call, call.size()), call);
  return {bytes.begin(), bytes.end()};
}
Buffer Compound(uint32_t operations, const Buffer& arguments, uint32_t xid = 1) {
  return MakeCall(xid, kNfs, 4, 1, Join({Words({0, 1, operations}), arguments}));
}
Buffer Sequence(uint32_t session, uint32_t number, uint32_t slot) {
  return Words({53, session, 2, 3, 4, number, slot, 9, 0});
}
Buffer ExchangeId(uint32_t verifier, size_t owner) {
  return Join({Words({42, verifier, 0}), Opaque(Pattern(owner)), Words({0x101, 0, 0})});
}
Buffer CreateSession(uint32_t client, uint32_t sequence, uint32_t callback) {
  const Buffer channel = Words({0, 1, 2, 3, 4, 5, 0});
  return Join({Words({43, 0, client, sequence, 0}), channel, channel, Words({callback, 1, 0})});
}
Buffer Open(uint32_t seqid, size_t owner, uint32_t name) {
  return Join({Words({18, seqid, 1, 0, 77, 78}), Opaque(Pattern(owner)), Words({0, 0}), Opaque(Words({name}))});
}

TEST(CallKey, NamesWhatIsAskedFor) {
  const Buffer call = MakeCall(1, kNfs, 3, 1, Words({8, 1, 2}));
  EXPECT_EQ(KeyOf(call), KeyOf(MakeCall(2, kNfs, 3, 1, Words({8, 1, 2})))) << "xid";
  EXPECT_NE(KeyOf(call), KeyOf(MakeCall(1, kNfs, 3, 1, Words({8, 1, 3})))) << "handle";
  EXPECT_NE(KeyOf(call), KeyOf(MakeCall(1, kNfs, 3, 4, Words({8, 1, 2})))) << "procedure";
  EXPECT_NE(KeyOf(call), KeyOf(MakeCall(1, kNfs, 2, 1, Words({8, 1, 2})))) << "version";
  EXPECT_NE(KeyOf(call), KeyOf(MakeCall(1, 100227, 3, 1, Words({8, 1, 2})))) << "program";
}

TEST(CallKey, CredentialsMayDiffer) {
  rpc::CallHeader header;
  header.xid = 5, header.rpc_version = 2, header.program = kNfs, header.version = 3, header.procedure = 1;
  std::vector<std::byte> body;
  rpc::EncodeAuthSys(1234, Pattern(7), 1000, 1000, {}, body);
  header.credential = {rpc::kAuthSys, body};
  Buffer call;
  rpc::Encode(header, call);
  EXPECT_EQ(KeyOf(Join({call, Words({8, 1, 2})})), KeyOf(MakeCall(1, kNfs, 3, 1, Words({8, 1, 2}))));
}

TEST(CallKey, SessionsAndSlotsMayDiffer) {
  const Buffer putfh = Join({Words({22}), Opaque(Pattern(8)), Words({9, 1, 0x18})});
  const Buffer call = Compound(3, Join({Sequence(1, 10, 0), putfh}));
  EXPECT_EQ(KeyOf(call), KeyOf(Compound(3, Join({Sequence(7, 2, 5), putfh}))));
  EXPECT_NE(KeyOf(call),
            KeyOf(Compound(3, Join({Sequence(1, 10, 0), Words({22}), Opaque(Pattern(8, 2)), Words({9, 1, 0x18})}))));
}

TEST(CallKey, ClientsMayDiffer) {
  EXPECT_EQ(KeyOf(Compound(1, ExchangeId(1, 20))), KeyOf(Compound(1, ExchangeId(2, 33))));
  EXPECT_EQ(KeyOf(Compound(1, CreateSession(1, 1, 0x40000000))), KeyOf(Compound(1, CreateSession(2, 3, 0x40000001))));
  EXPECT_NE(KeyOf(Compound(1, ExchangeId(1, 20))), KeyOf(Compound(1, CreateSession(1, 1, 0x40000000))));
}

TEST(CallKey, OwnersMayDiffer) {
  EXPECT_EQ(KeyOf(Compound(1, Open(0, 20, 5))), KeyOf(Compound(1, Open(3, 9, 5))));
  // share_access: the delegation that is wanted does not matter, READ and WRITE do. The operation, its seqid, the word.
  Buffer wants = Open(0, 20, 5), writes = wants;
  wants[10] ^= std::byte{0x04};
  writes[11] ^= std::byte{0x02};
  EXPECT_EQ(KeyOf(Compound(1, wants)), KeyOf(Compound(1, Open(0, 20, 5))));
  EXPECT_NE(KeyOf(Compound(1, writes)), KeyOf(Compound(1, Open(0, 20, 5))));
  EXPECT_NE(KeyOf(Compound(1, Open(0, 20, 5))), KeyOf(Compound(1, Open(0, 20, 6)))) << "the name";
}

// RFC 7530 sections 16.2 (CLOSE), 16.10 (LOCK), 16.12 (LOCKU), 16.18 (OPEN_CONFIRM), 16.19 (OPEN_DOWNGRADE).
TEST(CallKey, OwnersCountTheirRequests) {
  const Buffer state = Pattern(16);
  const auto close = [&](uint32_t n, const Buffer& stateid) { return Join({Words({4, n}), stateid}); };
  const auto confirm = [&](uint32_t n) { return Join({Words({20}), state, Words({n})}); };
  const auto downgrade = [&](uint32_t n, uint32_t access) { return Join({Words({21}), state, Words({n, access, 0})}); };
  const auto lock = [&](uint32_t n, uint32_t length) {
    return Join({Words({12, 1, 0, 0, 0, 0, length, 0}), state, Words({n})});
  };
  const auto lock_of_new_owner = [&](uint32_t open, uint32_t n) {
    return Join({Words({12, 1, 0, 0, 0, 0, 9, 1, open}), state, Words({n, 0, 7}), Opaque(Pattern(4, n))});
  };
  const auto unlock = [&](uint32_t n, uint32_t offset) {
    return Join({Words({14, 1, n}), state, Words({0, offset, 0, 9})});
  };
  const auto same = [](const Buffer& a, const Buffer& b) { return KeyOf(Compound(1, a)) == KeyOf(Compound(1, b)); };
  EXPECT_TRUE(same(close(1, state), close(7, state)));
  EXPECT_FALSE(same(close(1, state), close(1, Pattern(16, 5)))) << "another state";
  EXPECT_TRUE(same(confirm(1), confirm(2)));
  EXPECT_TRUE(same(downgrade(1, 1), downgrade(2, 1)));
  EXPECT_FALSE(same(downgrade(1, 1), downgrade(1, 2))) << "other access";
  EXPECT_TRUE(same(lock(1, 9), lock(2, 9)));
  EXPECT_FALSE(same(lock(1, 9), lock(1, 8))) << "another range";
  EXPECT_TRUE(same(lock_of_new_owner(1, 0), lock_of_new_owner(4, 3)));
  EXPECT_FALSE(same(lock_of_new_owner(1, 0), lock(1, 9)));
  EXPECT_TRUE(same(unlock(1, 5), unlock(2, 5)));
  EXPECT_FALSE(same(unlock(1, 5), unlock(1, 6))) << "another range";
}

TEST(CallKey, EveryCutCallHasOne) {
  for (const Buffer& call : {Compound(2, Join({Sequence(1, 2, 3), Open(0, 20, 5)})), Compound(1, ExchangeId(1, 20)),
                             Compound(1, CreateSession(1, 1, 1))}) {
    for (size_t size = 40; size < call.size(); ++size) {
      const Buffer cut(call.begin(), call.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_GE(KeyOf(cut).size(), 12u);
      EXPECT_NE(KeyOf(cut), KeyOf(MakeCall(1, kNfs, 4, 0)));
    }
  }
}

TEST(CallKey, FitsRepliesToTheCall) {
  CallKey key;
  const Buffer call = Compound(2, Join({Sequence(7, 2, 5), Words({24})}), 99);
  (void)key.Of(rpc::DecodeCall(call, call.size()), call);
  EXPECT_EQ(key.operations(), (std::vector<uint32_t>{53, 24}));
  Buffer reply = MakeReply(1, Words({0, 0, 2, 53, 0, 1, 2, 3, 4, 10, 0, 63, 63, 0, 24, 0}));
  key.Fit(reply);
  EXPECT_EQ(reply, MakeReply(99, Words({0, 0, 2, 53, 0, 7, 2, 3, 4, 2, 5, 63, 63, 0, 24, 0})));
  // SEQUENCE failed: nothing repeats the arguments.
  reply = MakeReply(1, Words({10052, 0, 1, 53, 10052}));
  key.Fit(reply);
  EXPECT_EQ(reply, MakeReply(99, Words({10052, 0, 1, 53, 10052})));

  const Buffer create = Compound(1, CreateSession(2, 3, 0x40000001), 98);
  (void)key.Of(rpc::DecodeCall(create, create.size()), create);
  reply = MakeReply(1, Words({0, 0, 1, 43, 0, 1, 2, 3, 4, 1, 0}));
  key.Fit(reply);
  EXPECT_EQ(reply, MakeReply(98, Words({0, 0, 1, 43, 0, 1, 2, 3, 4, 3, 0})));
}

}  // namespace
}  // namespace stag::serve
