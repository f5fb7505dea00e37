// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is sent, read by the walkers of protocol/nfs, which know nothing of these encoders; results as RFC 1813 and RFC
// 8881 lay them out, whole and cut at every byte.
#include <gtest/gtest.h>

#include <functional>

#include "protocol/nfs/walk.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/nfs4_calls.h"
#include "tests/support/messages.h"

namespace stag::nfs_client {
namespace {

using namespace stag::test;

Buffer Text(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return Opaque({bytes.begin(), bytes.end()});
}
std::string String(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// All that a walk tells, in words.
class Told : public nfs::Visitor {
 public:
  explicit Told(bool reduced) : reduced_(reduced) {}
  bool IsReduced(const nfs::Item& item) override {
    all.push_back("item " + std::to_string(item.length) + " at " + std::to_string(item.offset));
    return reduced_;
  }
  void OnOperation(uint32_t, uint32_t op) override { all.emplace_back(nfs::OperationName(op)); }
  void OnRead(uint32_t, Bytes handle, uint64_t offset, uint32_t count) override {
    all.push_back("read " + String(handle) + " " + std::to_string(offset) + "+" + std::to_string(count));
  }
  void OnWrite(uint32_t, Bytes handle, uint64_t offset, uint32_t count) override {
    all.push_back("write " + String(handle) + " " + std::to_string(offset) + "+" + std::to_string(count));
  }
  void OnName(uint32_t, Bytes directory, Bytes name) override {
    all.push_back("name " + String(name) + " in " + String(directory));
  }
  void OnReplyLimit(uint32_t, uint32_t, uint32_t bytes) override { all.push_back("limit " + std::to_string(bytes)); }
  std::vector<std::string> all;

 private:
  const bool reduced_;
};

// Walked to its very end; `reduced`: the data of a WRITE are not in it.
std::vector<std::string> Walked(const Buffer& call, bool reduced = false) {
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  EXPECT_EQ(header.status, ParseStatus::kOk);
  const rpc::AuthSys auth = rpc::DecodeAuthSys(header.credential.body);
  EXPECT_EQ(auth.status, ParseStatus::kOk);
  EXPECT_EQ(auth.uid, 1000u);
  EXPECT_EQ(auth.gid, 100u);
  Told told(reduced);
  const nfs::Walk walk = nfs::WalkCall(header, call, call.size(), told);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, call.size());
  EXPECT_EQ(walk.nonzero_padding, 0u);
  return told.all;
}

using Words3 = std::vector<std::string>;

const std::string kFile = "file-handle", kDirectory = "directory";
Bytes Handle(const std::string& text) { return std::as_bytes(std::span(text)); }

Buffer Nfs3Call(uint32_t procedure, const std::function<void(Writer&)>& arguments) {
  const RpcCalls calls(nfs::kNfsProgram, 3, {1000, 100});
  Buffer message;
  calls.Begin(procedure, message);
  EXPECT_EQ(message.size(), calls.size());
  Writer out(message);
  arguments(out);
  return message;
}

TEST(Nfs3Calls, AsTheWalkersReadThem) {
  EXPECT_EQ(Walked(Nfs3Call(nfs3::kGetattr, [](Writer& w) { nfs3::PutHandle(w, Handle(kFile)); })), Words3{});
  EXPECT_EQ(Walked(Nfs3Call(nfs3::kFsinfo, [](Writer& w) { nfs3::PutHandle(w, Handle(kFile)); })), Words3{});
  EXPECT_EQ(Walked(Nfs3Call(nfs3::kLookup, [](Writer& w) { nfs3::PutName(w, Handle(kDirectory), "abc"); })),
            Words3{"name abc in directory"});
  EXPECT_EQ(Walked(Nfs3Call(nfs3::kCreate, [](Writer& w) { nfs3::PutCreate(w, Handle(kDirectory), "new", 0644); })),
            Words3{"name new in directory"});
  Walked(Nfs3Call(nfs3::kRemove, [](Writer& w) { nfs3::PutName(w, Handle(kDirectory), "old"); }));
  EXPECT_EQ(Walked(Nfs3Call(nfs3::kRead, [](Writer& w) { nfs3::PutRead(w, Handle(kFile), 1ull << 33, 4096); })),
            Words3{"read file-handle 8589934592+4096"});
  EXPECT_EQ(
      Walked(Nfs3Call(nfs3::kReaddirplus, [](Writer& w) { nfs3::PutReaddirplus(w, Handle(kDirectory), 8192, 32768); })),
      Words3{"limit 32768"});
  const Buffer write =
      Nfs3Call(nfs3::kWrite, [](Writer& w) { nfs3::PutWrite(w, Handle(kFile), 4096, 700, nfs3::kFileSync); });
  EXPECT_EQ(Walked(write, true), (Words3{"write file-handle 4096+700", "item 700 at " + std::to_string(write.size())}));
}

Buffer Nfs4Call(const std::function<void(nfs4::Compound&)>& operations) {
  const RpcCalls calls(nfs::kNfsProgram, 4, {1000, 100});
  Buffer message;
  nfs4::Compound compound(calls, message);
  operations(compound);
  return message;
}

TEST(Nfs4Calls, AsTheWalkersReadThem) {
  const nfs4::StateId state{};
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) { c.ExchangeId("the owner", 77); })), Words3{"EXCHANGE_ID"});
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) {
              c.CreateSession(1, 2, {5000, 5000, 0, 8, 32}, {4096, 4096, 0, 2, 1});
            })),
            Words3{"CREATE_SESSION"});
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) { c.DestroySession({}); })), Words3{"DESTROY_SESSION"});
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) { c.DestroyClientId(3); })), Words3{"DESTROY_CLIENTID"});
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) { c.Put(nfs4::Sequence{}).ReclaimComplete(); })),
            (Words3{"SEQUENCE", "RECLAIM_COMPLETE"}));
  EXPECT_EQ(Walked(Nfs4Call([](auto& c) { c.Put(nfs4::Sequence{}).PutRootHandle().GetHandle(); })),
            (Words3{"SEQUENCE", "PUTROOTFH", "GETFH"}));
  for (const bool create : {false, true})
    EXPECT_EQ(Walked(Nfs4Call([&](auto& c) {
                c.Put(nfs4::Sequence{}).PutHandle(Handle(kDirectory)).Open(1, "me", "a name", create).GetHandle();
              })),
              (Words3{"SEQUENCE", "PUTFH", "OPEN", "name a name in directory", "GETFH"}));
  EXPECT_EQ(Walked(Nfs4Call([&](auto& c) { c.PutHandle(Handle(kDirectory)).Lookup("xyzzy").GetHandle(); })),
            (Words3{"PUTFH", "LOOKUP", "name xyzzy in directory", "GETFH"}));
  EXPECT_EQ(Walked(Nfs4Call([&](auto& c) { c.PutHandle(Handle(kFile)).Close(state); })), (Words3{"PUTFH", "CLOSE"}));
  EXPECT_EQ(Walked(Nfs4Call([&](auto& c) { c.PutHandle(Handle(kFile)).Remove("gone"); }))[1], "REMOVE");
  EXPECT_EQ(Walked(Nfs4Call([&](auto& c) { c.PutHandle(Handle(kFile)).GetAttributes(); })),
            (Words3{"PUTFH", "GETATTR"}));
  EXPECT_EQ(Walked(Nfs4Call([&](auto& c) { c.PutHandle(Handle(kFile)).Read(state, 12, 34); })),
            (Words3{"PUTFH", "READ", "read file-handle 12+34"}));
  const Buffer write = Nfs4Call([&](auto& c) { c.PutHandle(Handle(kFile)).Write(state, 12, 34, 2); });
  EXPECT_EQ(Walked(write, true),
            (Words3{"PUTFH", "WRITE", "write file-handle 12+34", "item 34 at " + std::to_string(write.size())}));
}

// Words of the fields that matter are marked; the others are anything.
Buffer Attributes3() {
  return Words({1 /*type*/, 0644, 1, 10, 11, 0, 777 /*size*/, 0, 4096, 0, 0, 0, 1, 0, 2, 1, 2, 3, 4, 5, 6});
}
Buffer Post() { return Join({Words({1}), Attributes3()}); }
Buffer Wcc() { return Join({Words({1, 0, 5, 1, 2, 3, 4}), Post()}); }

// Every prefix of `results` is refused, the whole is not.
template <typename Decode>
void CutEverywhere(const Buffer& results, Decode decode) {
  for (size_t size = 0; size < results.size(); ++size) EXPECT_FALSE(decode(Bytes(results).first(size)).ok) << size;
  EXPECT_TRUE(decode(Bytes(results)).ok);
}

TEST(Nfs3Calls, Results) {
  const Buffer handle = Pattern(20), data = Pattern(13);
  {
    const Buffer results = Join({Words({0}), Attributes3()});
    const auto got = nfs3::DecodeGetattr(results);
    EXPECT_EQ(got.attributes.type, 1u);
    EXPECT_EQ(got.attributes.size, 777u);
    CutEverywhere(results, nfs3::DecodeGetattr);
    EXPECT_LE(results.size(), nfs3::kGetattrSize);
  }
  {
    const Buffer results = Join({Words({0}), Opaque(handle), Post(), Post()});
    EXPECT_TRUE(std::ranges::equal(nfs3::DecodeLookup(results).handle, handle));
    CutEverywhere(results, nfs3::DecodeLookup);
    EXPECT_LE(results.size(), nfs3::kLookupSize);
  }
  const auto read = [](Bytes results) { return nfs3::DecodeRead(results, {}); };
  {
    const Buffer results = Join({Words({0}), Post(), Words({13, 1}), Opaque(data)});
    EXPECT_TRUE(std::ranges::equal(read(results).data, data));
    EXPECT_TRUE(read(results).eof);
    CutEverywhere(results, read);
  }
  {
    const Buffer results = Join({Words({0}), Post(), Words({13, 0, 13})});
    const Bytes chunk(data);
    const auto reduced = [&](Bytes bytes) { return nfs3::DecodeRead(bytes, {&chunk, 1}); };
    EXPECT_TRUE(std::ranges::equal(reduced(results).data, data));
    EXPECT_FALSE(reduced(results).eof);
    CutEverywhere(results, reduced);
    EXPECT_LE(results.size(), nfs3::kReadSize);
    const Bytes shorter = chunk.first(12);  // counts that contradict what came
    EXPECT_FALSE(nfs3::DecodeRead(results, {&shorter, 1}).ok);
    EXPECT_FALSE(read(Join({Words({0}), Post(), Words({14, 1}), Opaque(data)})).ok);
  }
  {
    const Buffer results = Join({Words({0}), Wcc(), Words({13, 2, 0xa, 0xb})});
    const auto got = nfs3::DecodeWrite(results);
    EXPECT_EQ(got.count, 13u);
    EXPECT_EQ(got.verifier, 0xa0000000bu);
    CutEverywhere(results, nfs3::DecodeWrite);
    EXPECT_LE(results.size(), nfs3::kWriteSize);
  }
  {
    const Buffer results = Join({Words({0, 1}), Opaque(handle), Post(), Wcc()});
    EXPECT_TRUE(std::ranges::equal(nfs3::DecodeCreate(results).handle, handle));
    CutEverywhere(results, nfs3::DecodeCreate);
    EXPECT_TRUE(nfs3::DecodeCreate(Join({Words({0, 0, 0}), Wcc()})).handle.empty());
  }
  CutEverywhere(Join({Words({0}), Wcc()}), nfs3::DecodeRemove);
  {
    const Buffer entry = Join({Words({1, 0, 7}), Text("a name"), Words({0, 1}), Post(), Words({1}), Opaque(handle)});
    const Buffer bare = Join({Words({1, 0, 8}), Text("b"), Words({0, 2, 0, 0})});
    const Buffer results = Join({Words({0}), Post(), Words({0, 0}), entry, bare, Words({0, 1})});
    EXPECT_EQ(nfs3::DecodeReaddirplus(results).entries, 2u);
    EXPECT_TRUE(nfs3::DecodeReaddirplus(results).eof);
    CutEverywhere(results, nfs3::DecodeReaddirplus);
  }
  {
    const Buffer results = Join({Words({0}), Post(), Words({1000, 1, 1, 2000, 1, 1, 1, 0, 1, 0, 1, 0})});
    EXPECT_EQ(nfs3::DecodeFsinfo(results).read_max, 1000u);
    EXPECT_EQ(nfs3::DecodeFsinfo(results).write_max, 2000u);
    CutEverywhere(results, nfs3::DecodeFsinfo);
  }
}

TEST(Nfs3Calls, StatusesAndWhatCannotBe) {
  const Buffer stale = Join({Words({70}), Words({0})});
  EXPECT_TRUE(nfs3::DecodeGetattr(stale).ok);
  EXPECT_EQ(nfs3::DecodeGetattr(stale).status, 70u);
  EXPECT_FALSE(nfs3::DecodeLookup(Join({Words({0}), Opaque(Pattern(65)), Words({0, 0})})).ok);  // too long a handle
  EXPECT_FALSE(nfs3::DecodeLookup(Join({Words({0}), Opaque(Pattern(8)), Words({2, 0})})).ok);   // no boolean
  EXPECT_FALSE(nfs3::DecodeRead(Join({Words({0, 0, 0xffffffff, 0, 0xffffffff})}), {}).ok);
}

struct Taken {
  bool ok = false;
};
Buffer Result4(uint32_t op, const Buffer& body = {}, uint32_t status = 0) { return Join({Words({op, status}), body}); }
Buffer Compound4(uint32_t status, uint32_t count, const Buffer& results) {
  return Join({Words({status}), Text("tag"), Words({count}), results});
}
const Buffer kSequence = Result4(53, Join({Pattern(16), Words({1, 2, 3, 4, 5})}));

TEST(Nfs4Calls, Results) {
  const Buffer session = Pattern(16), state = Pattern(16, 2), handle = Pattern(30), data = Pattern(13);
  {
    const Buffer body = Join({Words({1, 2, 9, 0x20000, 0, 0, 1}), Text("major"), Text("scope"), Words({0})});
    const Buffer results = Compound4(0, 1, Result4(42, body));
    const auto take = [](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      uint64_t client = 0;
      uint32_t sequence = 0;
      const bool ok = r.ExchangeId(client, sequence);
      if (ok) {
        EXPECT_EQ(client, 0x100000002u);
        EXPECT_EQ(sequence, 9u);
      }
      return Taken{ok};
    };
    // The implementation id at the end is of no interest.
    for (size_t size = 0; size < results.size() - 4; ++size) EXPECT_FALSE(take(Bytes(results).first(size)).ok);
    EXPECT_TRUE(take(results).ok);
  }
  {
    const Buffer channels = Words({0, 70000, 80000, 0, 8, 16, 0, 0, 4096, 4096, 0, 2, 1, 1, 7});
    const Buffer results = Compound4(0, 1, Result4(43, Join({session, Words({9, 0}), channels})));
    CutEverywhere(results, [&](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      nfs4::SessionId id{};
      nfs4::Channel fore;
      const bool ok = r.CreateSession(id, fore);
      if (ok) {
        EXPECT_TRUE(std::ranges::equal(id, session));
        EXPECT_EQ(fore.request_bytes, 70000u);
        EXPECT_EQ(fore.response_bytes, 80000u);
        EXPECT_EQ(fore.requests, 16u);
      }
      return Taken{ok};
    });
  }
  const Buffer ace = Join({Words({0, 0, 1}), Text("OWNER@")});
  const Buffer delegations[] = {Words({0}),
                                Words({3, 0}),
                                Words({3, 1, 1}),
                                Words({3, 2, 0}),
                                Join({Words({1}), state, Words({0}), ace}),
                                Join({Words({2}), state, Words({0, 1, 0, 9}), ace}),
                                Join({Words({2}), state, Words({0, 2, 5, 9}), ace})};
  for (const Buffer& delegation : delegations) {
    const Buffer open = Result4(18, Join({state, Words({1, 0, 1, 0, 2}), Words({4, 2, 0, 0x10}), delegation}));
    const Buffer results = Compound4(0, 4, Join({kSequence, Result4(22), open, Result4(10, Opaque(handle))}));
    CutEverywhere(results, [&](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      nfs4::StateId id{};
      Bytes got;
      const bool ok = r.Sequence() && r.Plain(22) && r.Open(id) && r.GetHandle(got);
      if (ok) {
        EXPECT_TRUE(std::ranges::equal(id, state) && std::ranges::equal(got, handle));
      }
      return Taken{ok};
    });
  }
  {
    const Buffer attributes = Words({1, 0x1a, 20, 1, 0, 5, 0, 4096});
    const Buffer results = Compound4(0, 3, Join({kSequence, Result4(22), Result4(9, attributes)}));
    CutEverywhere(results, [](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      uint32_t type = 0;
      uint64_t size = 0;
      const bool ok = r.Sequence() && r.Plain(22) && r.GetAttributes(type, size);
      if (ok) {
        EXPECT_EQ(type, 1u);
        EXPECT_EQ(size, 4096u);
      }
      return Taken{ok};
    });
  }
  {
    const Buffer results = Compound4(0, 3, Join({kSequence, Result4(22), Result4(25, Words({1, 13}))}));
    const Bytes chunk(data);
    CutEverywhere(results, [&](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      Bytes got;
      bool eof = false;
      const bool ok = r.Sequence() && r.Plain(22) && r.Read({&chunk, 1}, got, eof);
      if (ok) {
        EXPECT_TRUE(eof && std::ranges::equal(got, data));
      }
      return Taken{ok};
    });
    EXPECT_LE(results.size() + 40, nfs4::kResultsSize + 12u);
  }
  {
    const Buffer results = Compound4(0, 3, Join({kSequence, Result4(22), Result4(38, Words({13, 2, 0xa, 0xb}))}));
    CutEverywhere(results, [](Bytes bytes) {
      nfs4::CompoundResults r(bytes);
      uint32_t count = 0;
      uint64_t verifier = 0;
      const bool ok = r.Sequence() && r.Plain(22) && r.Write(count, verifier);
      if (ok) {
        EXPECT_EQ(count, 13u);
        EXPECT_EQ(verifier, 0xa0000000bu);
      }
      return Taken{ok};
    });
  }
}

TEST(Nfs4Calls, TheOperationThatFailedIsNamed) {
  const Buffer stale_results = Compound4(70, 2, Join({kSequence, Result4(22, {}, 70)}));
  nfs4::CompoundResults stale(stale_results);
  EXPECT_TRUE(stale.Sequence());
  EXPECT_FALSE(stale.Plain(22));
  Bytes handle;
  EXPECT_FALSE(stale.GetHandle(handle));
  EXPECT_TRUE(stale.ok());
  EXPECT_EQ(stale.status(), 70u);
  EXPECT_EQ(stale.failed(), 22u);

  const Buffer other_results = Compound4(0, 1, Result4(10, Opaque(Pattern(8))));
  nfs4::CompoundResults other(other_results);
  EXPECT_FALSE(other.Plain(22));  // not the operation that was asked for
  EXPECT_FALSE(other.ok());
  const Buffer few_results = Compound4(0, 1, kSequence);
  nfs4::CompoundResults few(few_results);
  EXPECT_TRUE(few.Sequence());
  EXPECT_FALSE(few.Plain(22));
  EXPECT_FALSE(few.ok());
}

TEST(RpcCalls, Failures) {
  const Buffer body = Words({42});
  EXPECT_TRUE(std::ranges::equal(TakeResults(MakeReply(1, body)).bytes, body));
  EXPECT_EQ(TakeResults(MakeReply(1, body)).failure, "");
  EXPECT_EQ(TakeResults(MakeReply(1, {}, 1)).failure, "PROG_UNAVAIL");
  EXPECT_EQ(TakeResults(MakeReply(1, {}, 5)).failure, "SYSTEM_ERR");
  EXPECT_EQ(TakeResults(Words({1, 1, 1, 1, 5})).failure, "AUTH_ERROR 5");
  EXPECT_EQ(TakeResults(Words({1, 1, 1, 0, 2, 2})).failure, "RPC_MISMATCH");
  EXPECT_EQ(TakeResults(Words({1, 1, 0})).failure, "an RPC Reply that cannot be read");
}

}  // namespace
}  // namespace stag::nfs_client
