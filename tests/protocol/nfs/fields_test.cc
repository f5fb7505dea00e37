// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a walk says of each field. That it says something of every byte is looked at in walk_helper.h, for every message
// of the other tests.
#include "protocol/nfs/nfs4_operations.h"
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs::test {
namespace {

constexpr uint32_t kCallHeader = 40, kReplyHeader = 24;

Covering CallFields(const std::vector<std::byte>& call) {
  Covering fields(call.size(), {});
  EXPECT_EQ(WalkCall(Header(call), call, call.size(), fields).status, ParseStatus::kOk);
  return fields;
}
Covering ReplyFields(const std::vector<std::byte>& call, const std::vector<std::byte>& reply) {
  Covering fields(reply.size(), {});
  EXPECT_EQ(WalkReply(Header(call), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), fields).status,
            ParseStatus::kOk);
  return fields;
}

// RFC 1813 section 3.3.3
TEST(NfsFields, Lookup3) {
  const Covering fields = CallFields(CallMessage(kNfsProgram, 3, 3, O("handle!!") + O("name.c")));
  EXPECT_EQ(fields.Kind(kCallHeader, 4), FieldKind::kPlain);
  EXPECT_EQ(fields.Kind(kCallHeader + 4, 8), FieldKind::kOpaque);
  EXPECT_EQ(fields.Kind(kCallHeader + 12, 4), FieldKind::kPlain);
  EXPECT_EQ(fields.Kind(kCallHeader + 16, 6), FieldKind::kName);
  EXPECT_EQ(fields.Kind(kCallHeader + 22, 2), FieldKind::kPadding);
}

// fattr3 (RFC 1813 section 2.6): type, mode, nlink, uid, gid, size, used, rdev, fsid, fileid, three times.
TEST(NfsFields, Attributes3) {
  const auto call = CallMessage(kNfsProgram, 3, 1, O("handle!!"));
  const Covering fields = ReplyFields(call, ReplyMessage(W({0}) + Fixed(84)));
  const uint32_t attributes = kReplyHeader + 4;
  EXPECT_EQ(fields.Kind(attributes, 12), FieldKind::kPlain);
  EXPECT_EQ(fields.Kind(attributes + 12, 48), FieldKind::kNumber);
  EXPECT_EQ(fields.Kind(attributes + 60, 24), FieldKind::kTime);
}

// RFC 8881 section 5.8: size is 4, fileid 20, mode 33, owner 36, time_modify 53.
TEST(NfsFields, Attributes4) {
  const auto call = CallMessage(kNfsProgram, 4, 1, O("") + W({0, 1, kOpGetattr}) + Bitmap());
  const Xdr values = H({4096, 77}) + W({0644}) + O("alice@example.org") + Time();
  const Xdr attributes = W({2, 1u << 4 | 1u << 20, 1u << 1 | 1u << 4 | 1u << 21}) + O(Text(values.bytes));
  const auto reply = ReplyMessage(W({0}) + O("") + W({1, kOpGetattr, 0}) + attributes);
  const Covering fields = ReplyFields(call, reply);
  const uint64_t at = reply.size() - values.bytes.size();
  EXPECT_EQ(fields.Kind(at, 16), FieldKind::kNumber);
  EXPECT_EQ(fields.Kind(at + 16, 8), FieldKind::kPlain);
  EXPECT_EQ(fields.Kind(at + 24, 17), FieldKind::kName);
  EXPECT_EQ(fields.Kind(at + 44, 12), FieldKind::kTime);
}

// An attribute that nobody knows, and what is behind it: opaque.
TEST(NfsFields, UnknownAttributes) {
  const auto call = CallMessage(kNfsProgram, 4, 1, O("") + W({0, 1, kOpGetattr}) + Bitmap());
  const Xdr attributes = W({3, 1u << 4, 0, 1u << 31}) + O(Text((H({4096}) + Fixed(40)).bytes));
  const auto reply = ReplyMessage(W({0}) + O("") + W({1, kOpGetattr, 0}) + attributes);
  const Covering fields = ReplyFields(call, reply);
  EXPECT_EQ(fields.Kind(reply.size() - 48, 8), FieldKind::kNumber);
  EXPECT_EQ(fields.Kind(reply.size() - 40, 40), FieldKind::kOpaque);
}

// RFC 8881 section 3.3.12: the sequence of a stateid counts, the rest is the server's.
TEST(NfsFields, Stateid) {
  const auto call = CallMessage(kNfsProgram, 4, 1, O("") + W({0, 1, kOpRead}) + S() + H({8192}) + W({4096}));
  const Covering fields = CallFields(call);
  const uint64_t at = call.size() - 28;
  EXPECT_EQ(fields.Kind(at, 4), FieldKind::kPlain);
  EXPECT_EQ(fields.Kind(at + 4, 12), FieldKind::kOpaque);
  EXPECT_EQ(fields.Kind(at + 16, 12), FieldKind::kPlain);
}

// RFC 7530 section 16.33: verifier, id, callback program, netid, address, ident.
TEST(NfsFields, CallbackAddress) {
  const Xdr arguments = Fixed(8) + O("client 1") + W({0x40000000}) + O("tcp6") + O("192.0.2.1.3.4...") + W({1});
  const auto call = CallMessage(kNfsProgram, 4, 1, O("") + W({0, 1, kOpSetclientid}) + arguments);
  const Covering fields = CallFields(call);
  const uint64_t end = call.size();
  EXPECT_EQ(fields.Kind(end - 20, 16), FieldKind::kNetAddress);
  EXPECT_EQ(fields.Kind(end - 28, 4), FieldKind::kNetId);
  EXPECT_EQ(fields.Kind(end - 44, 8), FieldKind::kOpaque);
}

// More of a bitmap than anybody knows is not said to be plain.
TEST(NfsFields, LongBitmap) {
  const auto call = CallMessage(kNfsProgram, 4, 1, O("") + W({0, 1, kOpGetattr, 8}) + Fixed(32));
  const Covering fields = CallFields(call);
  EXPECT_EQ(fields.Kind(call.size() - 32, 12), FieldKind::kPlain);
  EXPECT_EQ(fields.FirstUnknown(kCallHeader, call.size()), call.size() - 20);
}

}  // namespace
}  // namespace stag::nfs::test
