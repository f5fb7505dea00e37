// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where messages have what a server gives out and what names a client: written from the XDR of RFC 1094, RFC 1813,
// RFC 7530, RFC 8881 and RFC 7862, each value marked as it is written.
#include <algorithm>

#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;
using enum ValueKind;

struct Told {
  ValueKind kind;
  uint64_t offset;
  std::string bytes, name;
  friend bool operator==(const Told&, const Told&) = default;
};

void PrintTo(const Told& told, std::ostream* out) {
  *out << "kind " << static_cast<int>(told.kind) << " at " << told.offset << ", " << told.bytes.size() << " bytes of '"
       << told.bytes.substr(0, 1) << "', name '" << told.name << "'";
}

// XDR, and the values in it.
class Marked {
 public:
  explicit Marked(size_t header) : header_(header) {}
  Marked& X(const Xdr& xdr) {
    xdr_ += xdr;
    return *this;
  }
  // A value of `n` bytes; as an opaque.
  Marked& V(ValueKind kind, size_t n, std::string name = {}) {
    const std::string bytes(n, static_cast<char>('A' + told.size()));
    told.push_back({kind, header_ + xdr_.bytes.size(), bytes, std::move(name)});
    for (const char c : bytes) xdr_.bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Marked& O(ValueKind kind, size_t n, const std::string& name = {}) {
    xdr_.W({static_cast<uint32_t>(n)});
    V(kind, n, name);
    while (xdr_.bytes.size() % 4 != 0) xdr_.bytes.push_back({});
    return *this;
  }
  const Xdr& xdr() const { return xdr_; }
  std::vector<Told> told;

 private:
  size_t header_;
  Xdr xdr_;
};

class Listener : public Visitor {
 public:
  void OnValue(const Value& value) override {
    told.push_back({value.kind, value.offset, Text(message.subspan(value.offset, value.length)), Text(value.name)});
    last_op = value.op_index;
  }
  Bytes message;
  std::vector<Told> told;
  uint32_t last_op = 0;
};

constexpr size_t kCallHeader = 40, kReplyHeader = 24;
Marked Args() { return Marked(kCallHeader); }
Marked Results() { return Marked(kReplyHeader); }

std::vector<Told> OfCall(uint32_t program, uint32_t version, uint32_t procedure, const Marked& marked) {
  const auto message = CallMessage(program, version, procedure, marked.xdr());
  Listener listener;
  listener.message = message;
  const Walk walk = WalkCall(rpc::DecodeCall(message, message.size()), message, message.size(), listener);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, message.size());
  return listener.told;
}

std::vector<Told> OfReply(uint32_t program, uint32_t version, uint32_t procedure, const Marked& marked) {
  const auto call = CallMessage(program, version, procedure, {});
  const auto message = ReplyMessage(marked.xdr());
  Listener listener;
  listener.message = message;
  const Walk walk = WalkReply(rpc::DecodeCall(call, call.size()), rpc::DecodeReply(message, message.size()), message,
                              message.size(), listener);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, message.size());
  return listener.told;
}

void ExpectCall(uint32_t program, uint32_t version, uint32_t procedure, const Marked& marked) {
  EXPECT_EQ(OfCall(program, version, procedure, marked), marked.told) << procedure;
}
void ExpectReply(uint32_t program, uint32_t version, uint32_t procedure, const Marked& marked) {
  EXPECT_EQ(OfReply(program, version, procedure, marked), marked.told) << procedure;
}

Xdr Fattr3() { return Fixed(84); }
Xdr NoSattr3() { return W({0, 0, 0, 0, 0, 0}); }

TEST(Values, Nfs3Calls) {
  const auto call = [](uint32_t procedure, const Marked& m) { ExpectCall(kNfsProgram, 3, procedure, m); };
  for (const uint32_t procedure : {1u, 5u, 18u, 19u, 20u}) call(procedure, Args().O(kHandle, 28));
  call(2, Args().O(kHandle, 64).X(NoSattr3() + W({0})));
  call(3, Args().O(kHandle, 5).X(O("name")));
  call(4, Args().O(kHandle, 28).X(W({31})));
  call(6, Args().O(kHandle, 28).X(H({0}) + W({4096})));
  call(7, Args().O(kHandle, 28).X(H({0}) + W({3, 2}) + O("abc")));
  call(8, Args().O(kHandle, 28).X(O("f") + W({2}) + H({7})));
  call(9, Args().O(kHandle, 28).X(O("d") + NoSattr3()));
  call(10, Args().O(kHandle, 28).X(O("l") + NoSattr3() + O("target")));
  call(11, Args().O(kHandle, 28).X(O("n") + W({7}) + NoSattr3()));
  call(12, Args().O(kHandle, 28).X(O("f")));
  call(14, Args().O(kHandle, 28).X(O("a")).O(kHandle, 32).X(O("b")));
  call(15, Args().O(kHandle, 28).O(kHandle, 32).X(O("b")));
  call(21, Args().O(kHandle, 28).X(H({0}) + W({0})));
}

TEST(Values, TheStartOfAListingHasNoCookie) {
  ExpectCall(kNfsProgram, 3, 16, Args().O(kHandle, 28).V(kCookie, 8).V(kCookieVerifier, 8).X(W({4096})));
  ExpectCall(kNfsProgram, 3, 17, Args().O(kHandle, 28).V(kCookie, 8).V(kCookieVerifier, 8).X(W({512, 4096})));
  ExpectCall(kNfsProgram, 3, 16, Args().O(kHandle, 28).X(H({0, 77}) + W({4096})));
  ExpectCall(kNfsProgram, 2, 16, Args().V(kHandle, 32).V(kCookie, 4).X(W({4096})));
  ExpectCall(kNfsProgram, 2, 16, Args().V(kHandle, 32).X(W({0, 4096})));
}

TEST(Values, Nfs3Replies) {
  const auto reply = [](uint32_t procedure, const Marked& m) { ExpectReply(kNfsProgram, 3, procedure, m); };
  reply(3, Results().X(W({0})).O(kHandle, 28).X(W({1}) + Fattr3() + W({0})));
  for (const uint32_t procedure : {8u, 9u, 10u, 11u})
    reply(procedure, Results().X(W({0, 1})).O(kHandle, 28).X(W({0, 0, 0})));
  reply(8, Results().X(W({0, 0, 0, 0, 0})));
  reply(16, Results()
                .X(W({0, 0}))
                .V(kCookieVerifier, 8)
                .X(W({1}) + H({5}) + O("a"))
                .V(kCookie, 8, "a")
                .X(W({1}) + H({6}) + O("bb"))
                .V(kCookie, 8, "bb")
                .X(W({0, 1})));
  reply(17, Results()
                .X(W({0, 0}))
                .V(kCookieVerifier, 8)
                .X(W({1}) + H({5}) + O("a"))
                .V(kCookie, 8, "a")
                .X(W({0, 1}))
                .O(kHandle, 28, "a")
                .X(W({0, 1})));
}

TEST(Values, OtherPrograms) {
  ExpectCall(kNfsProgram, 2, 1, Args().V(kHandle, 32));
  ExpectCall(kNfsProgram, 2, 4, Args().V(kHandle, 32).X(O("f")));
  ExpectCall(kNfsProgram, 2, 8, Args().V(kHandle, 32).X(W({0, 0, 0}) + O("data")));
  ExpectCall(kNfsProgram, 2, 11, Args().V(kHandle, 32).X(O("a")).V(kHandle, 32).X(O("b")));
  ExpectCall(kNfsProgram, 2, 12, Args().V(kHandle, 32).V(kHandle, 32).X(O("b")));
  ExpectReply(kNfsProgram, 2, 4, Results().X(W({0})).V(kHandle, 32).X(Fixed(68)));
  ExpectReply(kNfsProgram, 2, 16, Results().X(W({0, 1, 5}) + O("a")).V(kCookie, 4, "a").X(W({0, 1})));
  ExpectReply(kMountProgram, 3, 1, Results().X(W({0})).O(kHandle, 28).X(W({1, 1})));
  ExpectReply(kMountProgram, 1, 1, Results().X(W({0})).V(kHandle, 32));
  ExpectCall(kNfsAclProgram, 3, 1, Args().O(kHandle, 28).X(W({15})));
  ExpectCall(kNfsAclProgram, 2, 1, Args().V(kHandle, 32).X(W({15})));
}

// One operation behind PUTROOTFH, so that its index shows.
Marked Op(uint32_t op) { return Args().X(O("tag") + W({1, 2, 24, op})); }
Marked Result(uint32_t op) { return Results().X(W({0}) + O("tag") + W({2, 24, 0, op, 0})); }
void Call4(const Marked& m) { ExpectCall(kNfsProgram, 4, 1, m); }
void Reply4(const Marked& m) { ExpectReply(kNfsProgram, 4, 1, m); }

TEST(Values, Nfs4States) {
  Call4(Op(4).X(W({1})).V(kStateid, 16));  // CLOSE
  Call4(Op(7).V(kClientId, 8));            // DELEGPURGE
  Call4(Op(8).V(kStateid, 16));            // DELEGRETURN
  Call4(Op(12).X(W({1, 0}) + H({0, 9}) + W({1, 5})).V(kStateid, 16).X(W({6})).V(kClientId, 8).X(O("owner")));  // LOCK
  Call4(Op(12).X(W({1, 0}) + H({0, 9}) + W({0})).V(kStateid, 16).X(W({6})));
  Call4(Op(13).X(W({1}) + H({0, 9})).V(kClientId, 8).X(O("owner")));                      // LOCKT
  Call4(Op(14).X(W({1, 2})).V(kStateid, 16).X(H({0, 9})));                                // LOCKU
  Call4(Op(20).V(kStateid, 16).X(W({3})));                                                // OPEN_CONFIRM
  Call4(Op(21).V(kStateid, 16).X(W({3, 1, 0})));                                          // OPEN_DOWNGRADE
  Call4(Op(25).V(kStateid, 16).X(H({0}) + W({512})));                                     // READ
  Call4(Op(30).V(kClientId, 8));                                                          // RENEW
  Call4(Op(34).V(kStateid, 16).X(Fattr()));                                               // SETATTR
  Call4(Op(38).V(kStateid, 16).X(H({0}) + W({2}) + O("abc")));                            // WRITE
  Call4(Op(39).V(kClientId, 8).X(O("owner")));                                            // RELEASE_LOCKOWNER
  Call4(Op(45).V(kStateid, 16));                                                          // FREE_STATEID
  Call4(Op(49).X(H({0, 9}) + W({0})).V(kStateid, 16).X(W({0, 0, 4}) + O("x")));           // LAYOUTCOMMIT
  Call4(Op(50).X(W({0, 1, 2}) + H({0, 9, 1})).V(kStateid, 16).X(W({4096})));              // LAYOUTGET
  Call4(Op(51).X(W({0, 1, 2, 1}) + H({0, 9})).V(kStateid, 16).X(O("x")));                 // LAYOUTRETURN
  Call4(Op(55).X(W({2})).V(kStateid, 16).V(kStateid, 16));                                // TEST_STATEID
  Call4(Op(59).V(kStateid, 16).X(H({0, 9})));                                             // ALLOCATE
  Call4(Op(60).V(kStateid, 16).V(kStateid, 16).X(H({0, 0, 9}) + W({1, 1, 0})));           // COPY
  Call4(Op(61).V(kStateid, 16).X(W({1}) + O("server")));                                  // COPY_NOTIFY
  Call4(Op(62).V(kStateid, 16).X(H({0, 9})));                                             // DEALLOCATE
  Call4(Op(63).V(kStateid, 16).X(H({0, 9}) + Bitmap()));                                  // IO_ADVISE
  Call4(Op(64).X(H({0, 9})).V(kStateid, 16).X(W({0})));                                   // LAYOUTERROR
  Call4(Op(65).X(H({0, 9})).V(kStateid, 16).X(H({1, 2, 3, 4}) + S() + W({1}) + O("x")));  // LAYOUTSTATS
  Call4(Op(66).V(kStateid, 16));                                                          // OFFLOAD_CANCEL
  Call4(Op(67).V(kStateid, 16));                                                          // OFFLOAD_STATUS
  Call4(Op(68).V(kStateid, 16).X(H({0}) + W({9})));                                       // READ_PLUS
  Call4(Op(69).V(kStateid, 16).X(H({0}) + W({1})));                                       // SEEK
  Call4(Op(71).V(kStateid, 16).V(kStateid, 16).X(H({0, 0, 9})));                          // CLONE
}

TEST(Values, Nfs4StatesInReplies) {
  const Xdr rest_of_open = ChangeInfo() + W({4}) + Bitmap();
  Reply4(Result(4).V(kStateid, 16));                            // CLOSE
  Reply4(Result(12).V(kStateid, 16));                           // LOCK
  Reply4(Result(14).V(kStateid, 16));                           // LOCKU
  Reply4(Result(18).V(kStateid, 16).X(rest_of_open + W({0})));  // OPEN, no delegation
  Reply4(Result(18).V(kStateid, 16).X(rest_of_open + W({1})).V(kStateid, 16).X(W({0, 0, 0, 0}) + O("EVERYONE@")));
  Reply4(Result(18)
             .V(kStateid, 16)
             .X(rest_of_open + W({2}))
             .V(kStateid, 16)
             .X(W({0, 1}) + H({9}) + W({0, 0, 0}) + O("x")));
  Reply4(Result(20).V(kStateid, 16));                                                            // OPEN_CONFIRM
  Reply4(Result(21).V(kStateid, 16));                                                            // OPEN_DOWNGRADE
  Reply4(Result(50).X(W({1})).V(kStateid, 16).X(W({1}) + H({0, 9}) + W({1, 4}) + O("layout")));  // LAYOUTGET
  Reply4(Result(51).X(W({1})).V(kStateid, 16));                                                  // LAYOUTRETURN
  Reply4(Result(60).X(W({1})).V(kStateid, 16).X(H({9}) + W({2}) + H({7}) + W({1, 1})));          // COPY
  Reply4(Result(61).X(Time()).V(kStateid, 16).X(W({0})));                                        // COPY_NOTIFY
}

TEST(Values, Nfs4ClientsAndSessions) {
  const Xdr channel = W({0, 65536, 65536, 4096, 16, 64, 0});
  Call4(Op(35).V(kClientVerifier, 8).O(kClientOwner, 30).X(W({0x40000000}) + O("tcp") + O("10.0.0.1.8.1") + W({1})));
  Call4(Op(36).V(kClientId, 8).V(kConfirmVerifier, 8));
  Call4(Op(42).V(kClientVerifier, 8).O(kClientOwner, 33).X(W({0x101, 0, 0})));
  Call4(Op(43).V(kClientId, 8).V(kClientSequence, 4).X(W({3}) + channel + channel + W({0x40000000, 1, 0})));
  Call4(Op(41).V(kSession, 16).X(W({3, 0})));
  Call4(Op(44).V(kSession, 16));
  Call4(Op(53).V(kSession, 16).V(kSlot, 12).X(W({1})));
  Call4(Op(57).V(kClientId, 8));
  Reply4(Result(35).V(kClientId, 8).V(kConfirmVerifier, 8));
  Reply4(
      Result(42).V(kClientId, 8).V(kClientSequence, 4).X(W({0x20103, 0}) + H({0}) + O("major") + O("scope") + W({0})));
  Reply4(Result(43).V(kSession, 16).X(W({1, 3, 0, 65536, 65536, 4096, 16})).V(kSlotCount, 4).X(W({0}) + channel));
  // What SEQUENCE's result says of its session is no news.
  Reply4(Result(53).X(S() + W({1, 0, 0, 31, 0})));
}

TEST(Values, Nfs4FilesAndDirectories) {
  Call4(Op(22).O(kHandle, 128));                                                   // PUTFH
  Reply4(Result(10).O(kHandle, 21));                                               // GETFH
  Call4(Op(26).V(kCookie, 8).V(kCookieVerifier, 8).X(W({512, 4096}) + Bitmap()));  // READDIR
  Call4(Op(26).X(H({0, 0}) + W({512, 4096}) + Bitmap()));
  Reply4(Result(26).V(kCookieVerifier, 8).X(W({1})).V(kCookie, 8, "name").X(O("name") + Fattr() + W({0, 1})));
  // The file handle among attributes: supported_attrs, type, change, fsid, rdattr_error, acl, aclsupport before it,
  // fileid behind it.
  const Xdr before = W({2, 1, 2, 1}) + H({7, 1, 2}) + W({0, 1, 0, 0, 7}) + O("EVERYONE@") + W({15});
  const auto attributes = [&](uint32_t length) {
    return W({1, 1u << 0 | 1u << 1 | 1u << 3 | 1u << 8 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20, length});
  };
  const auto size = static_cast<uint32_t>(before.bytes.size() + 4 + 24 + 8);
  Reply4(Result(9).X(attributes(size) + before).O(kHandle, 22).X(H({5})));  // GETATTR
  Reply4(Result(26)
             .V(kCookieVerifier, 8)
             .X(W({1}))
             .V(kCookie, 8, "name")
             .X(O("name") + attributes(size) + before)
             .O(kHandle, 22, "name")
             .X(H({5}) + W({0, 1})));
  const Xdr open = W({1, 2, 0});
  Call4(Op(18).X(open).V(kClientId, 8).X(O("owner") + W({0, 0}) + O("file")));                   // OPEN, CLAIM_NULL
  Call4(Op(18).X(open).V(kClientId, 8).X(O("owner") + W({0, 2})).V(kStateid, 16).X(O("file")));  // DELEGATE_CUR
  Call4(Op(18).X(open).V(kClientId, 8).X(O("owner") + W({0, 5})).V(kStateid, 16));               // DELEG_CUR_FH
}

TEST(Values, BelongToTheirOperation) {
  const Marked m = Op(22).O(kHandle, 8);
  const auto message = CallMessage(kNfsProgram, 4, 1, m.xdr());
  Listener listener;
  listener.message = message;
  WalkCall(rpc::DecodeCall(message, message.size()), message, message.size(), listener);
  EXPECT_EQ(listener.last_op, 1u);
}

// What a server says of its attributes may be nonsense: nothing is told, and the walk goes on.
TEST(Values, AttributesThatAreNotThere) {
  for (const Xdr& values : {Xdr(), W({7}), W({1000, 5})}) {
    const Marked m = Result(9).X(W({1, 1u << 1 | 1u << 19, static_cast<uint32_t>(values.bytes.size())}) + values);
    EXPECT_TRUE(OfReply(kNfsProgram, 4, 1, m).empty());
  }
}

// A value is told of only when all of it is there.
TEST(Values, CutOnesAreNotTold) {
  const Marked m = Op(53).V(kSession, 16).V(kSlot, 12).X(W({1}));
  const auto message = CallMessage(kNfsProgram, 4, 1, m.xdr());
  for (size_t n = 0; n < message.size(); ++n) {
    Listener listener;
    listener.message = Bytes(message).first(n);
    WalkCall(rpc::DecodeCall(message, message.size()), listener.message, message.size(), listener);
    for (const Told& told : listener.told) EXPECT_LE(told.offset + told.bytes.size(), n);
    const auto whole = static_cast<size_t>(
        std::ranges::count_if(m.told, [&](const Told& told) { return told.offset + told.bytes.size() <= n; }));
    EXPECT_EQ(listener.told.size(), whole) << n;
  }
}

}  // namespace
}  // namespace stag::nfs
