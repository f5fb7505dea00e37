// SPDX-License-Identifier: GPL-2.0-or-later
//
// RPC headers: RFC 5531 section 9, RFC 2203 section 5.3, and messages of a Linux client and server.
#include "protocol/rpc/message.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/protocol/rpcrdma/words.h"

namespace stag::rpc {
namespace {

using test::Hex;
using test::Text;
using test::Words;

CallHeader Call(Bytes bytes) { return DecodeCall(bytes, bytes.size()); }
ReplyHeader Reply(Bytes bytes) { return DecodeReply(bytes, bytes.size()); }

// NFSv3 READ of a Linux client: AUTH_SYS with the machine name "client".
const char* const kReadCall =
    "4353f12e 00000000 00000002 000186a3 00000003 00000006 00000001 0000001c 00000000 00000006 636c69656e740000 "
    "00000000 "
    "00000000 00000000 00000000 00000000";
const char* const kProgUnavailReply = "00001004 00000001 00000000 00000000 00000000 00000001";

TEST(Call, AuthSys) {
  const auto bytes = Hex(kReadCall);
  const CallHeader h = Call(bytes);
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.words, 6);
  EXPECT_EQ(h.xid, 0x4353f12eu);
  EXPECT_EQ(h.program, 100003u);
  EXPECT_EQ(h.version, 3u);
  EXPECT_EQ(h.procedure, 6u);
  EXPECT_EQ(h.credential.flavor, kAuthSys);
  EXPECT_EQ(h.credential.body.size(), 28u);
  EXPECT_EQ(h.verifier.flavor, kAuthNone);
  EXPECT_EQ(h.length, 68u);
  EXPECT_FALSE(h.opaque_arguments());
  const AuthSys sys = DecodeAuthSys(h.credential.body);
  ASSERT_EQ(sys.status, ParseStatus::kOk);
  EXPECT_EQ(Text(sys.machine), "client");
  EXPECT_EQ(sys.uid, 0u);
  EXPECT_EQ(sys.gid_count, 0u);
}

TEST(Call, LengthLeavesTheArguments) {
  auto bytes = Hex(kReadCall);
  bytes.resize(bytes.size() + 100);
  EXPECT_EQ(Call(bytes).length, 68u);
}

TEST(Call, EveryFlavor) {
  for (uint32_t flavor : {kAuthNone, kAuthSys, kAuthShort, kAuthDh, AuthFlavor{77}}) {
    const auto bytes = Words({1, 0, 2, 100003, 3, 1, flavor, 3, 0x61626300, 2, 4, 9});
    const CallHeader h = Call(bytes);
    EXPECT_EQ(h.status, ParseStatus::kOk);
    EXPECT_EQ(h.credential.flavor, flavor);
    EXPECT_EQ(Text(h.credential.body), "abc");
    EXPECT_EQ(h.verifier.flavor, kAuthShort);
    EXPECT_EQ(h.verifier.body.size(), 4u);
    EXPECT_FALSE(h.opaque_arguments());
  }
}

TEST(Call, GssCredential) {
  const auto handle = Hex("0102030405");
  for (uint32_t service : {kGssNone, kGssIntegrity, kGssPrivacy}) {
    std::vector<std::byte> credential, bytes;
    EncodeGssCredential(kGssData, 42, service, handle, credential);
    EXPECT_EQ(credential.size(), 28u);
    CallHeader in;
    in.xid = 1, in.rpc_version = 2, in.program = 100003, in.version = 4, in.procedure = 1;
    in.credential = {kRpcsecGss, credential};
    in.verifier = {kRpcsecGss, handle};
    Encode(in, bytes);
    const CallHeader h = Call(bytes);
    ASSERT_EQ(h.status, ParseStatus::kOk);
    ASSERT_TRUE(h.gss);
    EXPECT_EQ(h.gss_proc, kGssData);
    EXPECT_EQ(h.gss_sequence, 42u);
    EXPECT_EQ(h.gss_service, service);
    EXPECT_EQ(h.opaque_arguments(), service != kGssNone);
  }
}

TEST(Call, GssControlAndBrokenCredentialsAreOpaque) {
  for (uint32_t proc : {kGssInit, kGssContinueInit, kGssDestroy}) {
    const auto bytes = Words({1, 0, 2, 100003, 4, 0, 6, 20, 1, proc, 0, 1, 0, 0, 0});
    const CallHeader h = Call(bytes);
    ASSERT_EQ(h.status, ParseStatus::kOk);
    EXPECT_TRUE(h.gss);
    EXPECT_TRUE(h.opaque_arguments());
  }
  const CallHeader unknown_version = Call(Words({1, 0, 2, 100003, 4, 0, 6, 20, 9, 0, 0, 1, 0, 0, 0}));
  EXPECT_FALSE(unknown_version.gss);
  EXPECT_TRUE(unknown_version.opaque_arguments());
  const CallHeader cut = Call(Words({1, 0, 2, 100003, 4, 0, 6, 8, 1, 0, 0, 0}));
  EXPECT_EQ(cut.status, ParseStatus::kOk);
  EXPECT_FALSE(cut.gss);
  EXPECT_TRUE(cut.opaque_arguments());
}

TEST(Call, Defects) {
  EXPECT_EQ(Call(Hex(kProgUnavailReply)).status, ParseStatus::kMalformed);
  EXPECT_EQ(Call(Hex(kProgUnavailReply)).xid, 0x1004u);
  const CallHeader version = Call(Words({1, 0, 3, 100003, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(version.status, ParseStatus::kUnsupported);
  EXPECT_EQ(version.program, 100003u);
  EXPECT_EQ(version.words, 6);
  auto long_auth = Words({1, 0, 2, 100003, 4, 0, 1, 404});
  long_auth.resize(600);
  EXPECT_EQ(Call(long_auth).status, ParseStatus::kMalformed);
  EXPECT_EQ(Call(Words({1, 0, 2, 100003, 4, 0, 1, 0xffffffff})).status, ParseStatus::kMalformed);
  auto largest = Words({1, 0, 2, 100003, 4, 0, 1, 400});
  largest.resize(largest.size() + 400 + 8);
  EXPECT_EQ(Call(largest).status, ParseStatus::kOk);
}

TEST(Call, Truncation) {
  const auto bytes = Hex(kReadCall);
  for (size_t n = 0; n < bytes.size(); ++n) {
    const CallHeader captured = DecodeCall(Bytes(bytes).first(n), bytes.size());
    EXPECT_EQ(captured.status, ParseStatus::kTruncatedByCapture) << n;
    EXPECT_EQ(captured.words, std::min<size_t>(n / 4, 6));
    EXPECT_EQ(captured.has_flavor, n >= 28);
    EXPECT_EQ(DecodeCall(Bytes(bytes).first(n), n).status, ParseStatus::kMalformed) << n;
  }
}

TEST(Call, EncodeIsTheInverse) {
  const auto bytes = Hex(kReadCall);
  std::vector<std::byte> out;
  Encode(Call(bytes), out);
  EXPECT_EQ(out, bytes);
  std::vector<std::byte> credential;
  const std::array<uint32_t, 2> gids{10, 20};
  EncodeAuthSys(9, Hex("616263"), 1000, 100, gids, credential);
  EXPECT_EQ(credential, Words({9, 3, 0x61626300, 1000, 100, 2, 10, 20}));
  const AuthSys sys = DecodeAuthSys(credential);
  EXPECT_EQ(sys.status, ParseStatus::kOk);
  EXPECT_EQ(sys.uid, 1000u);
  EXPECT_EQ(sys.gid, 100u);
  EXPECT_EQ(sys.gid_count, 2u);
  for (size_t n = 0; n < credential.size(); ++n)
    EXPECT_EQ(DecodeAuthSys(Bytes(credential).first(n)).status, ParseStatus::kMalformed);
  EXPECT_EQ(DecodeAuthSys(Words({9, 0, 0, 0, 17})).status, ParseStatus::kMalformed);
}

TEST(Reply, EveryArm) {
  const struct {
    std::vector<std::byte> bytes;
    bool success;
  } cases[] = {
      {Words({1, 1, 0, 0, 0, 0}), true},        {Words({1, 1, 0, 6, 4, 7, 0}), true},  // a verifier of RPCSEC_GSS
      {Words({1, 1, 0, 0, 0, 1}), false},                                              // PROG_UNAVAIL
      {Words({1, 1, 0, 0, 0, 2, 3, 4}), false},                                        // PROG_MISMATCH
      {Words({1, 1, 0, 0, 0, 3}), false},                                              // PROC_UNAVAIL
      {Words({1, 1, 0, 0, 0, 4}), false},                                              // GARBAGE_ARGS
      {Words({1, 1, 0, 0, 0, 5}), false},                                              // SYSTEM_ERR
      {Words({1, 1, 1, 0, 2, 2}), false},                                              // RPC_MISMATCH
      {Words({1, 1, 1, 1, 13}), false},                                                // AUTH_ERROR
  };
  for (const auto& c : cases) {
    auto longer = c.bytes;
    longer.resize(longer.size() + 16);
    const ReplyHeader h = Reply(longer);
    ASSERT_EQ(h.status, ParseStatus::kOk);
    EXPECT_EQ(h.length, c.bytes.size());
    EXPECT_EQ(h.words, 3);
    EXPECT_EQ(h.success(), c.success);
    std::vector<std::byte> out;
    Encode(h, out);
    EXPECT_EQ(out, c.bytes);
    for (size_t n = 0; n < c.bytes.size(); ++n) {
      EXPECT_EQ(DecodeReply(Bytes(c.bytes).first(n), c.bytes.size()).status, ParseStatus::kTruncatedByCapture);
      EXPECT_EQ(DecodeReply(Bytes(c.bytes).first(n), n).status, ParseStatus::kMalformed);
    }
  }
  EXPECT_EQ(Reply(cases[3].bytes).mismatch_low, 3u);
  EXPECT_EQ(Reply(cases[3].bytes).mismatch_high, 4u);
  EXPECT_EQ(Reply(cases[7].bytes).mismatch_high, 2u);
  EXPECT_EQ(Reply(cases[8].bytes).auth_stat, 13u);
}

TEST(Reply, Defects) {
  EXPECT_EQ(Reply(Hex(kReadCall)).status, ParseStatus::kMalformed);
  EXPECT_EQ(Reply(Words({1, 1, 2, 0, 0, 0})).status, ParseStatus::kMalformed);
  EXPECT_EQ(Reply(Words({1, 1, 0, 0, 0, 6})).status, ParseStatus::kMalformed);
  EXPECT_EQ(Reply(Words({1, 1, 1, 2, 0, 0})).status, ParseStatus::kMalformed);
  EXPECT_EQ(Reply(Words({1, 1, 0, 0, 401, 0})).status, ParseStatus::kMalformed);
}

TEST(Reply, ProgUnavailOfLinux) {
  const ReplyHeader h = Reply(Hex(kProgUnavailReply));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.xid, 0x1004u);
  EXPECT_EQ(h.accept_stat, kProgUnavail);
  EXPECT_FALSE(h.success());
}

}  // namespace
}  // namespace stag::rpc
