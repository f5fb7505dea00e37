// SPDX-License-Identifier: GPL-2.0-or-later
//
// Initiator and Acceptor against each other: what RFC 2203 asks of a server, whatever is cut or changed on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "protocol/base/writer.h"
#include "replay/gss/acceptor.h"
#include "replay/gss/initiator.h"

namespace stag::gss {
namespace {

using Verdict = Acceptor::Verdict;

constexpr rpc::GssService kServices[] = {rpc::kGssNone, rpc::kGssIntegrity, rpc::kGssPrivacy};
constexpr Target kCall = {0x1234, 100003, 3, 6}, kNull = {0x1234, 100003, 3, 0};

std::string Keytab(const char* variable = "STAG_KEYTAB") {
  const char* const path = std::getenv(variable);
  EXPECT_NE(path, nullptr) << "runs in a realm: with_realm.py";
  return path ? path : "";
}

Buffer Text(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A Call of context creation whose token's last byte is another.
Buffer WithWrongToken(Buffer call) {
  const Bytes token = rpc::DecodeGssToken(Bytes(call).subspan(rpc::DecodeCall(call, call.size()).length)).value();
  call[static_cast<size_t>(token.data() - call.data()) + token.size() - 1] ^= std::byte{1};
  return call;
}

struct Contexts : testing::Test {
  Contexts() {
    auto initiates = OpenInitiator({Keytab(), "", "nfs@localhost"});
    auto accepts = OpenAcceptor(Keytab());
    EXPECT_TRUE(initiates) << initiates.error().message;
    EXPECT_TRUE(accepts) << accepts.error().message;
    credentials = *initiates;
    acceptor.emplace(*accepts);
  }
  Acceptor::Taken Take(Bytes call) { return acceptor->Take(call, rpc::DecodeCall(call, call.size())); }
  void Establish(Initiator& client) {
    const auto call = client.Create(kNull);
    ASSERT_TRUE(call) << call.error().message;
    const Acceptor::Taken taken = Take(*call);
    ASSERT_EQ(taken.verdict, Verdict::kAnswer);
    const auto created = client.Created(taken.reply);
    ASSERT_TRUE(created) << created.error().message;
    ASSERT_TRUE(client.established());
    EXPECT_EQ(client.window(), Acceptor::kWindow);
  }
  // A Reply that has an empty verifier and these results.
  static Buffer Reply(Bytes results) {
    rpc::ReplyHeader header;
    header.xid = kCall.xid;
    header.msg_type = rpc::kReply;
    Buffer reply;
    rpc::Encode(header, reply);
    reply.insert(reply.end(), results.begin(), results.end());
    return reply;
  }
  static uint32_t AuthStat(const Acceptor::Taken& taken) {
    const rpc::ReplyHeader reply = rpc::DecodeReply(taken.reply, taken.reply.size());
    return taken.verdict == Verdict::kAnswer && reply.reply_stat == rpc::kDenied ? reply.auth_stat : 0;
  }
  Verdict Ask(Initiator& client, uint32_t sequence) {
    return Take(*client.Call(kCall, {sequence, rpc::kGssNone}, {})).verdict;
  }

  std::shared_ptr<Credentials> credentials;
  std::optional<Acceptor> acceptor;
};

TEST_F(Contexts, CallsAndReplies) {
  Initiator client(*credentials);
  Establish(client);
  const Buffer arguments = Text("arguments"), results = Text("and results.");
  for (const rpc::GssService service : kServices) {
    const Protection protection{client.NextSequence(), service};
    const auto call = client.Call(kCall, protection, arguments);
    ASSERT_TRUE(call) << call.error().message;
    const bool in_clear = std::search(call->begin(), call->end(), arguments.begin(), arguments.end()) != call->end();
    EXPECT_EQ(in_clear, service != rpc::kGssPrivacy);
    const Acceptor::Taken taken = Take(*call);
    ASSERT_EQ(taken.verdict, Verdict::kExecute);
    EXPECT_EQ(taken.arguments, arguments);
    Buffer reply = Reply(results);
    const size_t before = reply.size();
    const auto moved = acceptor->Finish(taken, reply);
    EXPECT_EQ(moved.has_value(), service == rpc::kGssNone);
    EXPECT_EQ(moved.value_or(0), moved ? reply.size() - before : 0);
    const auto came = client.Results(reply, protection);
    ASSERT_TRUE(came) << came.error().message;
    EXPECT_EQ(*came, results);
    EXPECT_FALSE(client.Results(reply, {protection.sequence + 1, service}));
  }
}

// A Call that is cut or changed anywhere is not executed, nor is a changed Reply believed.
TEST_F(Contexts, WhatIsCutOrChanged) {
  Initiator client(*credentials);
  Establish(client);
  for (const rpc::GssService service : kServices) {
    const Protection protection{client.NextSequence(), service};
    const auto call = client.Call(kCall, protection, Text("arguments..."));
    const size_t header = rpc::DecodeCall(*call, call->size()).length;
    // Without integrity what arguments are cut or changed to is not known.
    const size_t end = service == rpc::kGssNone ? header : call->size();
    for (size_t n = 0; n < end; ++n) {
      const rpc::CallHeader cut = rpc::DecodeCall(Bytes(*call).first(n), n);
      ASSERT_EQ(cut.status == ParseStatus::kOk, n >= header);
      if (n < header) continue;
      EXPECT_NE(acceptor->Take(Bytes(*call).first(n), cut).verdict, Verdict::kExecute) << n;
    }
    // Arguments that are wrong use the sequence number up: each has another.
    for (size_t at = 0; at < end; ++at) {
      const auto whole = client.Call(kCall, {client.NextSequence(), service}, Text("arguments..."));
      Buffer changed = *whole;
      changed[at] ^= std::byte{0x10};
      const rpc::CallHeader read = rpc::DecodeCall(changed, changed.size());
      if (read.status != ParseStatus::kOk || read.credential.flavor != rpc::kRpcsecGss) continue;
      EXPECT_EQ(acceptor->Take(changed, read).verdict, Verdict::kAnswer) << at;
    }

    const Protection last{client.NextSequence(), service};
    const Acceptor::Taken taken = Take(*client.Call(kCall, last, {}));
    ASSERT_EQ(taken.verdict, Verdict::kExecute);
    Buffer reply = Reply(Text("the results."));
    (void)acceptor->Finish(taken, reply);
    ASSERT_TRUE(client.Results(reply, last));
    const size_t reply_header = rpc::DecodeReply(reply, reply.size()).length;
    const size_t reply_end = service == rpc::kGssNone ? reply_header : reply.size();
    for (size_t n = 0; n < reply_end; ++n) EXPECT_FALSE(client.Results(Bytes(reply).first(n), last)) << n;
    for (size_t at = 4; at < reply_end; ++at) {  // behind the xid, which RPC looks at
      Buffer changed = reply;
      changed[at] ^= std::byte{0x10};
      EXPECT_FALSE(client.Results(changed, last)) << at;
    }
  }
}

TEST_F(Contexts, CreationThatIsCutOrChanged) {
  Initiator client(*credentials);
  const auto call = client.Create(kNull);
  const size_t header = rpc::DecodeCall(*call, call->size()).length;
  for (size_t n = header; n < call->size(); ++n) {
    const Acceptor::Taken taken = Take(Bytes(*call).first(n));
    EXPECT_TRUE(rpc::DecodeReply(taken.reply, taken.reply.size()).accepted(rpc::kGarbageArgs)) << n;
  }
  const Acceptor::Taken refused = Take(WithWrongToken(*call));
  const rpc::ReplyHeader reply = rpc::DecodeReply(refused.reply, refused.reply.size());
  ASSERT_TRUE(reply.success());
  const rpc::GssInitResults results = rpc::DecodeGssInitResults(Bytes(refused.reply).subspan(reply.length));
  EXPECT_EQ(results.status, ParseStatus::kOk);
  EXPECT_EQ(results.major, rpc::kGssFailure);
  EXPECT_TRUE(results.handle.empty());

  const Acceptor::Taken taken = Take(*call);
  for (size_t n = 0; n < taken.reply.size(); ++n) {
    Initiator other(*credentials);
    ASSERT_TRUE(other.Create(kNull));
    EXPECT_FALSE(other.Created(Bytes(taken.reply).first(n))) << n;
    EXPECT_FALSE(other.established());
  }
}

TEST_F(Contexts, Refusals) {
  Initiator client(*credentials);
  Establish(client);
  // Another version, an unknown procedure or service: AUTH_BADCRED (RFC 5531 section 9).
  for (const auto& [place, value] : {std::pair{32u, 2u}, {36u, 4u}, {44u, 0u}, {44u, 4u}}) {
    auto call = *client.Call(kCall, {client.NextSequence(), rpc::kGssNone}, {});
    StoreBe32(call.data() + place, value);
    EXPECT_EQ(AuthStat(Take(call)), 1u) << place;
  }
  auto call = *client.Call(kCall, {client.NextSequence(), rpc::kGssNone}, {});
  StoreBe32(call.data() + 20, 7);  // the procedure, which the verifier is about
  EXPECT_EQ(AuthStat(Take(call)), rpc::kGssCredProblem);
  EXPECT_EQ(AuthStat(Take(*client.Call(kCall, {rpc::kGssMaxSequence + 1, rpc::kGssNone}, {}))), rpc::kGssCtxProblem);
  // Of the arguments: another sequence number than the header has.
  const Protection protection{client.NextSequence(), rpc::kGssIntegrity};
  call = *client.Header(kCall, rpc::kGssData, protection);
  const auto body = client.Protect(protection.service, protection.sequence + 1, {});
  call.insert(call.end(), body->begin(), body->end());
  const Acceptor::Taken garbage = Take(call);
  EXPECT_TRUE(rpc::DecodeReply(garbage.reply, garbage.reply.size()).accepted(rpc::kGarbageArgs));
  // A context that is ended.
  const Protection last{client.NextSequence(), rpc::kGssNone};
  EXPECT_TRUE(client.Results(Take(*client.Destroy(kNull, last)).reply, last));
  EXPECT_EQ(AuthStat(Take(*client.Call(kCall, {client.NextSequence(), rpc::kGssNone}, {}))), rpc::kGssCredProblem);
}

// RFC 2203 section 5.3.3.1: with N the newest, N to N - window + 1, each once.
TEST_F(Contexts, Window) {
  constexpr uint32_t kWindow = Acceptor::kWindow;
  Initiator client(*credentials);
  Establish(client);
  EXPECT_EQ(Ask(client, 0), Verdict::kExecute);
  EXPECT_EQ(Ask(client, 0), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 1000), Verdict::kExecute);
  EXPECT_EQ(Ask(client, 1000), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 1000 - kWindow), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 1000 - kWindow + 1), Verdict::kExecute);
  EXPECT_EQ(Ask(client, 1000 - kWindow + 1), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 999), Verdict::kExecute);
  EXPECT_EQ(Ask(client, 1001), Verdict::kExecute);
  for (const uint32_t seen : {999u, 1000u, 1001u, 1000 - kWindow + 1}) EXPECT_EQ(Ask(client, seen), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 1001 + kWindow), Verdict::kExecute);
  EXPECT_EQ(Ask(client, 1001), Verdict::kDiscard);
  EXPECT_EQ(Ask(client, 1002), Verdict::kExecute);
  EXPECT_EQ(Ask(client, rpc::kGssMaxSequence), Verdict::kExecute);
}

// The oldest context goes when there are too many, and none for one that cannot be made.
TEST_F(Contexts, AreBounded) {
  Initiator first(*credentials), second(*credentials);
  Establish(first);
  Establish(second);
  for (size_t i = 2; i < Acceptor::kMaxContexts; ++i) {
    Initiator more(*credentials);
    Establish(more);
  }
  Initiator wrong(*credentials);
  (void)Take(WithWrongToken(*wrong.Create(kNull)));
  EXPECT_EQ(Ask(first, 1), Verdict::kExecute);
  Initiator more(*credentials);
  Establish(more);
  EXPECT_EQ(AuthStat(Take(*first.Call(kCall, {2, rpc::kGssNone}, {}))), rpc::kGssCredProblem);
  EXPECT_EQ(Ask(second, 1), Verdict::kExecute);
}

TEST(KeyTables, Troubles) {
  const auto says = [](const auto& opened, std::string_view text) {
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find(text), std::string::npos) << opened.error().message;
  };
  says(OpenInitiator({"/nowhere/keytab", "", "nfs@localhost"}), "by the key table /nowhere/keytab: it cannot be read");
  says(OpenAcceptor("/nowhere/keytab"), "the key table /nowhere/keytab: it cannot be read");
  says(OpenInitiator({Keytab("STAG_STRANGER"), "", "nfs@localhost"}), "no ticket for nfs@localhost by the key table");
  says(OpenInitiator({Keytab(), "", "nfs@elsewhere.test"}), "no ticket for nfs@elsewhere.test by the key table");
  says(OpenInitiator({Keytab(), "nobody", "nfs@localhost"}), "no ticket for nfs@localhost by the key table");
  EXPECT_TRUE(OpenInitiator({Keytab(), "nfs/localhost", "nfs@localhost"}));
}

}  // namespace
}  // namespace stag::gss
