// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arguments that cannot be decoded: every procedure's, cut at every byte, and lengths and discriminators that are
// wrong. The answer is GARBAGE_ARGS, and nothing has happened.
#include <gtest/gtest.h>

#include "replay/rpcrdma/echo_program.h"
#include "tests/replay/serve/nfs_client.h"

namespace stag::serve {
namespace {

using namespace stag::test;

struct Form {
  const char* what;
  uint32_t program, procedure;
  Buffer arguments;
};

std::vector<Form> Forms(NfsClient& client) {
  const Buffer& root = client.root;
  const Buffer sattr = Join({Words({1, 0644, 1, 1, 1, 2, 1}), Word64(3), Words({2, 1, 2, 2, 3, 4})});
  return {
      {"MNT", kMount3, 1, Text("/")},
      {"UMNT", kMount3, 3, Text("/")},
      {"GETATTR", kNfs3, kGetattr, root},
      {"SETATTR", kNfs3, kSetattr, Join({root, sattr, Words({1, 0, 0})})},
      {"LOOKUP", kNfs3, kLookup, At(root, "name")},
      {"ACCESS", kNfs3, kAccess, Join({root, Words({1})})},
      {"READLINK", kNfs3, kReadlink, root},
      {"READ", kNfs3, kRead, ReadArguments(root, 0, 10)},
      {"WRITE", kNfs3, kWrite, WriteArguments(root, 0, Pattern(9))},
      {"CREATE guarded", kNfs3, kCreate, Join({At(root, "c1"), Words({1}), sattr})},
      {"CREATE exclusive", kNfs3, kCreate, Join({At(root, "c2"), Words({2, 0, 0})})},
      {"MKDIR", kNfs3, kMkdir, Join({At(root, "m"), sattr})},
      {"SYMLINK", kNfs3, kSymlink, Join({At(root, "s"), sattr, Text("target")})},
      {"MKNOD device", kNfs3, kMknod, Join({At(root, "n1"), Words({3}), sattr, Words({1, 2})})},
      {"MKNOD fifo", kNfs3, kMknod, Join({At(root, "n2"), Words({7}), sattr})},
      {"MKNOD of a wrong type", kNfs3, kMknod, Join({At(root, "n3"), Words({1})})},
      {"REMOVE", kNfs3, kRemove, At(root, "there")},
      {"RMDIR", kNfs3, kRmdir, At(root, "there")},
      {"RENAME", kNfs3, kRename, Join({At(root, "there"), At(root, "moved")})},
      {"LINK", kNfs3, kLink, Join({client.Find(root, "there"), At(root, "second")})},
      {"READDIR", kNfs3, kReaddir, Join({root, Words({0, 0, 0, 0, 4096})})},
      {"READDIRPLUS", kNfs3, kReaddirplus, Join({root, Words({0, 0, 0, 0, 4096, 4096})})},
      {"FSSTAT", kNfs3, kFsstat, root},
      {"FSINFO", kNfs3, kFsinfo, root},
      {"PATHCONF", kNfs3, kPathconf, root},
      {"COMMIT", kNfs3, kCommit, Join({root, Words({0, 0, 0})})},
  };
}

TEST(Arguments, CutAnywhereAreGarbage) {
  MemoryFs fs(1 << 20);
  const auto service = MakeNfsMemoryService(fs);
  NfsClient client(*service);
  ASSERT_FALSE(client.Make(kCreate, client.root, "there").empty());
  const std::vector<Form> forms = Forms(client);
  const uint64_t used = fs.used();
  const Fattr root = client.Stat(client.root);
  for (const Form& form : forms)
    for (size_t size = 0; size < form.arguments.size(); ++size) {
      const Buffer cut(form.arguments.begin(), form.arguments.begin() + static_cast<std::ptrdiff_t>(size));
      Asked asked(*service, form.program, form.procedure, cut);
      EXPECT_EQ(asked.header.accept_stat, rpc::kGarbageArgs) << form.what << " " << size;
      EXPECT_TRUE(asked.done() && asked.reply.items.empty()) << form.what << " " << size;
    }
  EXPECT_EQ(fs.used(), used);
  EXPECT_EQ(client.Stat(client.root).ctime, root.ctime);
  for (const Form& form : forms)  // and whole ones are not
    EXPECT_EQ(Asked(*service, form.program, form.procedure, form.arguments).header.accept_stat, rpc::kSuccess)
        << form.what;
}

// Any word set to what is too large for it: an answer, and no more memory than there may be.
TEST(Arguments, AnyWordCanBeWrong) {
  MemoryFs fs(1 << 20);
  const auto service = MakeNfsMemoryService(fs);
  NfsClient client(*service);
  client.Make(kCreate, client.root, "there");
  for (const Form& form : Forms(client))
    for (size_t at = 0; at < form.arguments.size(); at += 4)
      for (const uint32_t word : {0u, 1u, 2u, 3u, 65u, 0x7fffffffu, 0xfffffffcu, 0xffffffffu}) {
        Buffer wrong = form.arguments;
        StoreBe32(wrong.data() + at, word);
        Asked asked(*service, form.program, form.procedure, wrong);
        EXPECT_TRUE(asked.header.accept_stat == rpc::kSuccess || asked.header.accept_stat == rpc::kGarbageArgs);
        EXPECT_LE(fs.used(), fs.capacity());
      }
}

TEST(Arguments, Discriminators) {
  MemoryFs fs(1 << 20);
  const auto service = MakeNfsMemoryService(fs);
  NfsClient client(*service);
  const auto accept = [&](uint32_t procedure, const Buffer& arguments) {
    return client.Ask(procedure, arguments).header.accept_stat;
  };
  EXPECT_EQ(accept(kGetattr, Opaque(Pattern(65))), rpc::kGarbageArgs);  // NFS3_FHSIZE is 64
  EXPECT_EQ(accept(kCreate, Join({At(client.root, "x"), Words({3}), NoAttributes()})), rpc::kGarbageArgs);
  EXPECT_EQ(accept(kMkdir, Join({At(client.root, "x"), Words({2, 0, 0, 0, 0, 0, 0})})), rpc::kGarbageArgs);
  EXPECT_EQ(accept(kMkdir, Join({At(client.root, "x"), Words({0, 0, 0, 0, 3, 0})})), rpc::kGarbageArgs);
  EXPECT_EQ(accept(kMknod, Join({At(client.root, "x"), Words({8}), NoAttributes()})), rpc::kGarbageArgs);
  EXPECT_EQ(accept(kWrite, WriteArguments(client.root, 0, Pattern(4), 3)), rpc::kGarbageArgs);
  EXPECT_EQ(accept(kWrite, Join({client.root, Words({0, 0, 5, 2}), Opaque(Pattern(4))})), rpc::kGarbageArgs);
  EXPECT_EQ(Asked(*service, kMount3, 1, Opaque(Pattern(1025))).header.accept_stat, rpc::kGarbageArgs);
}

TEST(Arguments, OfEcho) {
  const auto service = MakeEchoService();
  const Buffer whole = Opaque(Pattern(13));
  for (size_t size = 0; size <= whole.size(); ++size) {
    rpcrdma::ServiceReply reply;
    service->OnCall(
        MakeCall(5, rpcrdma::kEchoProgram, 1, 1, Buffer(whole.begin(), whole.begin() + static_cast<long>(size))),
        reply);
    EXPECT_EQ(reply.message, size == whole.size() ? MakeReply(5, whole) : MakeReply(5, {}, rpc::kGarbageArgs));
    EXPECT_TRUE(reply.items.empty());
  }
}

}  // namespace
}  // namespace stag::serve
