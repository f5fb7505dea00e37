// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv3 in memory, by messages: what RFC 1813 says of each procedure.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/replay/serve/nfs_client.h"

namespace stag::serve {
namespace {

using namespace stag::test;

enum : uint32_t {
  kNoEnt = 2,
  kExist = 17,
  kNotDir = 20,
  kIsDir = 21,
  kInval = 22,
  kTooBig = 27,
  kNoSpace = 28,
  kTooLong = 63,
  kNotEmpty = 66,
  kStale = 70,
  kBadHandle = 10001,
  kNotSync = 10002,
  kBadCookie = 10003,
  kTooSmall = 10005,
  kBadType = 10007
};

struct NfsMemory : ::testing::Test {
  MemoryFs fs{8 << 20};
  std::unique_ptr<RpcService> service = MakeNfsMemoryService(fs, 65536);
  NfsClient client{*service};
};

TEST_F(NfsMemory, Mount) {
  ASSERT_FALSE(client.Make(kMkdir, client.root, "a").empty());
  const Buffer file = client.Make(kCreate, client.root, "file");
  Asked mnt(*service, kMount3, 1, Text("/a/"));
  EXPECT_EQ(mnt.in.U32(), 0u);
  EXPECT_EQ(Opaque(GetBytes(mnt.in)), client.Find(client.root, "a"));
  EXPECT_EQ(mnt.in.U32(), 2u);
  EXPECT_EQ(mnt.in.U32(), 1u);  // AUTH_SYS
  EXPECT_EQ(mnt.in.U32(), 0u);  // AUTH_NONE
  EXPECT_TRUE(mnt.done());
  EXPECT_EQ(Asked(*service, kMount3, 1, Text("/b")).in.U32(), kNoEnt);
  EXPECT_EQ(Asked(*service, kMount3, 1, Text("/file")).in.U32(), kNotDir);
  Asked exports(*service, kMount3, 5, {});
  EXPECT_EQ(exports.in.U32(), 1u);
  EXPECT_EQ(GetName(exports.in), "/");
  EXPECT_EQ(exports.in.U64(), 0u);
  EXPECT_TRUE(exports.done());
  EXPECT_TRUE(Asked(*service, kMount3, 3, Text("/")).done());
  EXPECT_TRUE(Asked(*service, kMount3, 4, {}).done());
}

TEST_F(NfsMemory, WriteAndRead) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  for (const uint32_t size : {0u, 1u, 3u, 4u, 4095u, 4096u, 4097u, 16384u, 65536u}) {
    const Buffer data = Pattern(size, size);
    Asked written = client.Ask(kWrite, WriteArguments(file, 0, data, 1));
    EXPECT_EQ(written.in.U32(), 0u);
    const WccData wcc = GetWcc(written.in);
    EXPECT_TRUE(wcc.has_before && wcc.after);
    EXPECT_EQ(written.in.U32(), size);
    EXPECT_EQ(written.in.U32(), 1u);  // as stable as was asked for
    written.in.U64();
    EXPECT_TRUE(written.done());

    Asked got = client.Ask(kRead, ReadArguments(file, 0, size));
    EXPECT_EQ(got.in.U32(), 0u);
    EXPECT_EQ(GetPostAttributes(got.in)->size, size);
    EXPECT_EQ(got.in.U32(), size);
    EXPECT_EQ(got.in.U32(), 1u);  // eof
    ASSERT_EQ(got.reply.items.size(), 1u);
    EXPECT_EQ(got.reply.items[0].offset, got.reply.message.size() - RoundUp4(size));
    EXPECT_EQ(got.reply.items[0].length, size);
    EXPECT_EQ(GetBytes(got.in), data);
    EXPECT_TRUE(got.done());
  }
}

TEST_F(NfsMemory, HolesAndTruncation) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  const uint64_t far = uint64_t{1} << 40;
  EXPECT_EQ(client.Status(kWrite, WriteArguments(file, far, Pattern(10))), 0u);
  EXPECT_EQ(client.Stat(file).size, far + 10);
  EXPECT_EQ(client.Content(file, far - 5, 100), Join({Buffer(5), Pattern(10)}));
  // What was cut off does not come back.
  EXPECT_EQ(client.Status(kSetattr, Join({file, SizeAttribute(far + 3), Words({0})})), 0u);
  EXPECT_EQ(client.Status(kSetattr, Join({file, SizeAttribute(far + 10), Words({0})})), 0u);
  Buffer cut = Pattern(10);
  std::fill(cut.begin() + 3, cut.end(), std::byte{});
  EXPECT_EQ(client.Content(file, far, 100), cut);
  EXPECT_EQ(client.Status(kSetattr, Join({file, SizeAttribute(0), Words({0})})), 0u);
  EXPECT_EQ(client.Stat(file).used, 0u);
  EXPECT_TRUE(client.Content(file, far, 100).empty());
  EXPECT_EQ(client.Status(kSetattr, Join({file, SizeAttribute(UINT64_MAX), Words({0})})), kTooBig);
  EXPECT_EQ(client.Status(kWrite, WriteArguments(file, UINT64_MAX - 4, Pattern(10))), kTooBig);
}

TEST_F(NfsMemory, CountsAreLimited) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  Asked written = client.Ask(kWrite, WriteArguments(file, 0, Pattern(100'000)));
  EXPECT_EQ(written.in.U32(), 0u);
  GetWcc(written.in);
  EXPECT_EQ(written.in.U32(), 65536u);
  EXPECT_EQ(client.Stat(file).size, 65536u);
  EXPECT_EQ(client.Content(file, 0, UINT32_MAX).size(), 65536u);
  Asked info = client.Ask(kFsinfo, client.root);
  EXPECT_EQ(info.in.U32(), 0u);
  GetPostAttributes(info.in);
  for (const uint32_t expected : {65536u, 65536u, 4096u, 65536u, 65536u, 4096u, 32768u})
    EXPECT_EQ(info.in.U32(), expected);
  EXPECT_EQ(info.in.U64(), uint64_t{INT64_MAX});
  EXPECT_EQ(info.in.U64(), 1u);  // a nanosecond
  EXPECT_EQ(info.in.U32(), 0x1bu);
  EXPECT_TRUE(info.done());
}

TEST_F(NfsMemory, MemoryIsBoundedAndComesBack) {
  const uint64_t before = fs.used();
  const Buffer file = client.Make(kCreate, client.root, "file");
  uint64_t offset = 0;
  uint32_t status = 0;
  for (; status == 0; offset += 65536) status = client.Status(kWrite, WriteArguments(file, offset, Pattern(65536)));
  EXPECT_EQ(status, kNoSpace);
  EXPECT_LE(fs.used(), fs.capacity());
  EXPECT_GT(offset, 7u << 20);
  EXPECT_EQ(client.Status(kRemove, At(client.root, "file")), 0u);
  EXPECT_EQ(fs.used(), before);
  int made = 0;
  while (!client.Make(kMkdir, client.root, std::to_string(made)).empty()) ++made;
  EXPECT_EQ(client.Status(kMkdir, Join({At(client.root, "x"), NoAttributes()})), kNoSpace);
  EXPECT_EQ(client.Status(kSymlink, Join({At(client.root, "x"), NoAttributes(), Text("t")})), kNoSpace);
  EXPECT_EQ(client.Status(kLink, Join({client.root, At(client.root, "x")})), kInval);
  Asked stat = client.Ask(kFsstat, client.root);
  stat.in.U32();
  GetPostAttributes(stat.in);
  EXPECT_EQ(stat.in.U64(), fs.capacity());
  EXPECT_EQ(stat.in.U64(), fs.capacity() - fs.used());
  while (made > 0) EXPECT_EQ(client.Status(kRmdir, At(client.root, std::to_string(--made))), 0u);
  EXPECT_EQ(fs.used(), before);
}

TEST_F(NfsMemory, CreateForms) {
  const Buffer exclusive = Join({At(client.root, "e"), Words({2, 1, 2})});
  EXPECT_EQ(client.Status(kCreate, exclusive), 0u);
  EXPECT_EQ(client.Status(kCreate, exclusive), 0u);  // a retransmission
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "e"), Words({2, 1, 3})})), kExist);
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "e"), Words({1}), NoAttributes()})), kExist);
  const Buffer file = client.Find(client.root, "e");
  EXPECT_EQ(client.Status(kWrite, WriteArguments(file, 0, Pattern(10))), 0u);
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "e"), Words({0}), NoAttributes()})), 0u);
  EXPECT_EQ(client.Stat(file).size, 10u);
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "e"), Words({0}), SizeAttribute(0)})), 0u);
  EXPECT_EQ(client.Stat(file).size, 0u);
  client.Make(kMkdir, client.root, "d");
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "d"), Words({0}), NoAttributes()})), kExist);
  EXPECT_EQ(client.Status(kCreate, Join({At(client.root, "big"), Words({0}), SizeAttribute(UINT64_MAX)})), kTooBig);
  EXPECT_TRUE(client.Find(client.root, "big").empty());
}

TEST_F(NfsMemory, Names) {
  EXPECT_FALSE(client.Make(kCreate, client.root, std::string(255, 'n')).empty());
  EXPECT_EQ(client.Status(kLookup, At(client.root, std::string(256, 'n'))), kTooLong);
  for (const uint32_t procedure : {kMkdir}) {
    const auto status = [&](std::string_view name) {
      return client.Status(procedure, Join({At(client.root, name), NoAttributes()}));
    };
    EXPECT_EQ(status(std::string(256, 'n')), kTooLong);
    EXPECT_EQ(status(""), kInval);
    EXPECT_EQ(status("a/b"), kInval);
    EXPECT_EQ(status(std::string_view("a\0b", 3)), kInval);
    EXPECT_EQ(status("."), kExist);
    EXPECT_EQ(status(".."), kExist);
  }
  EXPECT_EQ(client.Find(client.root, "."), client.root);
  EXPECT_EQ(client.Find(client.root, ".."), client.root);
  const Buffer directory = client.Make(kMkdir, client.root, "d");
  EXPECT_EQ(client.Find(directory, ".."), client.root);
  const Buffer file = client.Make(kCreate, directory, "f");
  EXPECT_EQ(client.Status(kLookup, At(file, "x")), kNotDir);
  EXPECT_EQ(client.Status(kRemove, At(directory, "x")), kNoEnt);
  EXPECT_EQ(client.Status(kRemove, At(client.root, "d")), kIsDir);
  EXPECT_EQ(client.Status(kRmdir, At(directory, "f")), kNotDir);
  EXPECT_EQ(client.Status(kRmdir, At(client.root, "d")), kNotEmpty);
  EXPECT_EQ(client.Status(kRmdir, At(client.root, ".")), kInval);
  EXPECT_EQ(client.Status(kRmdir, At(client.root, "..")), kExist);
}

TEST_F(NfsMemory, Handles) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  EXPECT_EQ(client.Status(kGetattr, Opaque(Pattern(32))), kBadHandle);
  EXPECT_EQ(client.Status(kGetattr, Opaque({})), kBadHandle);
  for (size_t bit = 32; bit < file.size() * 8; ++bit) {  // behind the count
    Buffer other = file;
    other[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(client.Status(kGetattr, other), kStale) << bit;
  }
  EXPECT_EQ(client.Status(kRemove, At(client.root, "file")), 0u);
  EXPECT_EQ(client.Status(kGetattr, file), kStale);
  EXPECT_EQ(client.Status(kWrite, WriteArguments(file, 0, {})), kStale);
  const Buffer again = client.Make(kCreate, client.root, "file");
  EXPECT_NE(again, file);
  MemoryFs other_fs(1 << 20);
  const auto other_service = MakeNfsMemoryService(other_fs);
  EXPECT_EQ(NfsClient(*other_service).Status(kGetattr, client.root), kStale);
}

TEST_F(NfsMemory, Renames) {
  const Buffer a = client.Make(kMkdir, client.root, "a"), b = client.Make(kMkdir, client.root, "b");
  const Buffer f = client.Make(kCreate, a, "f"), g = client.Make(kCreate, b, "g");
  const auto rename = [&](const Buffer& from, std::string_view x, const Buffer& to, std::string_view y) {
    return client.Status(kRename, Join({At(from, x), At(to, y)}));
  };
  EXPECT_EQ(rename(a, "none", b, "x"), kNoEnt);
  EXPECT_EQ(rename(a, "f", b, "g"), 0u);  // g goes
  EXPECT_EQ(client.Status(kGetattr, g), kStale);
  EXPECT_EQ(client.Find(b, "g"), f);
  EXPECT_EQ(client.Stat(f).links, 1u);
  EXPECT_TRUE(client.Find(a, "f").empty());
  EXPECT_EQ(rename(client.root, "a", b, "a"), 0u);
  EXPECT_EQ(client.Find(a, ".."), b);
  EXPECT_EQ(client.Stat(client.root).links, 3u);
  EXPECT_EQ(client.Stat(b).links, 3u);
  EXPECT_EQ(rename(client.root, "b", a, "b"), kInval);  // into itself
  EXPECT_EQ(rename(client.root, "b", b, "x"), kInval);
  EXPECT_EQ(rename(b, "a", b, "g"), kExist);  // a directory over a file
  EXPECT_EQ(rename(b, "g", b, "a"), kExist);
  client.Make(kCreate, a, "inside");
  client.Make(kMkdir, client.root, "c");
  EXPECT_EQ(rename(client.root, "c", b, "a"), kNotEmpty);
  EXPECT_EQ(rename(b, "a", client.root, "c"), 0u);  // over an empty one
  EXPECT_EQ(client.Find(client.root, "c"), a);
  EXPECT_EQ(rename(b, ".", b, "x"), kInval);
  // Two names of one file: nothing happens.
  EXPECT_EQ(client.Status(kLink, Join({f, At(b, "h")})), 0u);
  EXPECT_EQ(rename(b, "g", b, "h"), 0u);
  EXPECT_EQ(client.Find(b, "g"), f);
  EXPECT_EQ(client.Stat(f).links, 2u);
}

TEST_F(NfsMemory, LinksAndNodes) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  EXPECT_EQ(client.Status(kLink, Join({file, At(client.root, "second")})), 0u);
  EXPECT_EQ(client.Stat(file).links, 2u);
  EXPECT_EQ(client.Status(kLink, Join({file, At(client.root, "second")})), kExist);
  EXPECT_EQ(client.Status(kRemove, At(client.root, "file")), 0u);
  EXPECT_EQ(client.Stat(file).links, 1u);

  EXPECT_EQ(client.Status(kSymlink, Join({At(client.root, "s"), NoAttributes(), Text("to/where")})), 0u);
  const Buffer link = client.Find(client.root, "s");
  Asked got = client.Ask(kReadlink, link);
  EXPECT_EQ(got.in.U32(), 0u);
  EXPECT_EQ(GetPostAttributes(got.in)->type, 5u);
  ASSERT_EQ(got.reply.items.size(), 1u);
  EXPECT_EQ(got.reply.items[0].offset, got.reply.message.size() - 8);
  EXPECT_EQ(got.reply.items[0].length, 8u);
  EXPECT_EQ(GetName(got.in), "to/where");
  EXPECT_TRUE(got.done());
  EXPECT_EQ(client.Status(kReadlink, file), kInval);
  EXPECT_EQ(client.Status(kRead, ReadArguments(link, 0, 1)), kInval);
  EXPECT_EQ(client.Status(kRead, ReadArguments(client.root, 0, 1)), kIsDir);

  EXPECT_EQ(client.Status(kMknod, Join({At(client.root, "dev"), Words({4}), NoAttributes(), Words({8, 1})})), 0u);
  const Fattr device = client.Stat(client.Find(client.root, "dev"));
  EXPECT_EQ(device.type, 4u);
  EXPECT_EQ(device.device, uint64_t{8} << 32 | 1);
  EXPECT_EQ(client.Status(kMknod, Join({At(client.root, "fifo"), Words({7}), NoAttributes()})), 0u);
  EXPECT_EQ(client.Status(kMknod, Join({At(client.root, "x"), Words({2})})), kBadType);
}

TEST_F(NfsMemory, WeakCacheConsistency) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  Fattr last = client.Stat(file);
  for (int i = 0; i < 3; ++i) {
    Asked written = client.Ask(kWrite, WriteArguments(file, last.size, Pattern(5)));
    EXPECT_EQ(written.in.U32(), 0u);
    const WccData wcc = GetWcc(written.in);
    EXPECT_EQ(wcc.size, last.size);
    EXPECT_EQ(wcc.mtime, last.mtime);
    EXPECT_EQ(wcc.ctime, last.ctime);
    EXPECT_EQ(wcc.after->size, last.size + 5);
    EXPECT_GT(wcc.after->mtime, last.mtime);
    EXPECT_GT(wcc.after->ctime, last.ctime);
    last = *wcc.after;
  }
  const Fattr before = client.Stat(client.root);
  Asked removed = client.Ask(kRemove, At(client.root, "file"));
  EXPECT_EQ(removed.in.U32(), 0u);
  const WccData wcc = GetWcc(removed.in);
  EXPECT_EQ(wcc.mtime, before.mtime);
  EXPECT_GT(wcc.after->mtime, before.mtime);
  EXPECT_TRUE(removed.done());
  Asked failed = client.Ask(kRemove, At(client.root, "file"));
  EXPECT_EQ(failed.in.U32(), kNoEnt);
  const WccData same = GetWcc(failed.in);
  EXPECT_EQ(same.mtime, same.after->mtime);
  EXPECT_TRUE(failed.done());
}

TEST_F(NfsMemory, Setattr) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  const Fattr first = client.Stat(file);
  const Buffer all = Join({Words({1, 0640, 1, 10, 1, 20, 1}), Word64(99), Words({2, 100, 5, 2, 200, 6})});
  EXPECT_EQ(client.Status(kSetattr, Join({file, all, Words({1}), Word64(first.ctime + 1)})), kNotSync);
  EXPECT_EQ(client.Stat(file).ctime, first.ctime);
  EXPECT_EQ(client.Status(kSetattr, Join({file, all, Words({1}), Word64(first.ctime)})), 0u);
  const Fattr now = client.Stat(file);
  EXPECT_EQ(now.mode, 0640u);
  EXPECT_EQ(now.uid, 10u);
  EXPECT_EQ(now.gid, 20u);
  EXPECT_EQ(now.size, 99u);
  EXPECT_EQ(now.atime, uint64_t{100} << 32 | 5);
  EXPECT_EQ(now.mtime, uint64_t{200} << 32 | 6);
  EXPECT_GT(now.ctime, first.ctime);
  EXPECT_EQ(client.Status(kSetattr, Join({client.root, SizeAttribute(5), Words({0})})), kIsDir);
}

// All entries, by READDIR or READDIRPLUS of `count` bytes at a time; removes each after it was seen when `remove`.
std::map<std::string, uint64_t> List(NfsClient& client, uint32_t count, bool plus, bool remove = false) {
  std::map<std::string, uint64_t> all;
  uint64_t cookie = 0;
  for (bool eof = false; !eof;) {
    Asked got =
        client.Ask(plus ? kReaddirplus : kReaddir,
                   Join({client.root, Word64(cookie), Words({0, 0}), plus ? Words({count, count}) : Words({count})}));
    EXPECT_EQ(got.in.U32(), 0u);
    EXPECT_LE(got.in.remaining(), count);
    GetPostAttributes(got.in);
    EXPECT_EQ(got.in.U64(), 0u);
    std::vector<std::string> seen;
    while (got.in.U32() == 1) {
      const uint64_t fileid = got.in.U64();
      const std::string name = GetName(got.in);
      const uint64_t last = cookie;
      cookie = got.in.U64();
      EXPECT_GT(cookie, last);
      EXPECT_TRUE(all.emplace(name, fileid).second) << name;
      if (plus) {
        EXPECT_EQ(GetPostAttributes(got.in)->fileid, fileid);
        EXPECT_EQ(got.in.U32(), 1u);
        EXPECT_EQ(Opaque(GetBytes(got.in)), client.Find(client.root, name));
      }
      if (name[0] != '.') seen.push_back(name);
    }
    EXPECT_FALSE(seen.empty() && all.size() < 2);
    eof = got.in.U32() == 1;
    EXPECT_TRUE(got.done());
    if (!got.done()) break;
    if (!remove) continue;
    for (const std::string& name : seen) EXPECT_EQ(client.Status(kRemove, At(client.root, name)), 0u);
  }
  return all;
}

TEST_F(NfsMemory, Directories) {
  std::map<std::string, uint64_t> expected{{".", 1}, {"..", 1}};
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i);
    expected[name] = client.Stat(client.Make(kCreate, client.root, name)).fileid;
  }
  for (const bool plus : {false, true})
    for (const uint32_t count : {500u, 1000u, 32768u, UINT32_MAX}) EXPECT_EQ(List(client, count, plus), expected);
  const auto status = [&](uint64_t cookie, uint32_t verifier, uint32_t count) {
    return client.Status(kReaddir, Join({client.root, Word64(cookie), Words({0, verifier, count})}));
  };
  EXPECT_EQ(status(0, 0, 103), kTooSmall);  // RFC 1813: not even one entry fits
  EXPECT_EQ(status(0, 0, 104), kTooSmall);
  EXPECT_EQ(status(0, 0, 104 + 28), 0u);  // "."
  EXPECT_EQ(status(1, 9, 4096), kBadCookie);
  EXPECT_EQ(status(UINT64_MAX, 0, 4096), 0u);
  EXPECT_EQ(client.Status(kReaddir, Join({client.Find(client.root, "0"), Words({0, 0, 0, 0, 4096})})), kNotDir);
  EXPECT_EQ(List(client, 800, false, true), expected);  // removing on the way neither skips nor repeats
  EXPECT_EQ(List(client, 800, false).size(), 2u);
}

TEST_F(NfsMemory, AccessPathconfCommit) {
  const Buffer file = client.Make(kCreate, client.root, "file");
  const auto access = [&](const Buffer& handle) {
    Asked got = client.Ask(kAccess, Join({handle, Words({0xff})}));
    EXPECT_EQ(got.in.U32(), 0u);
    GetPostAttributes(got.in);
    const uint32_t bits = got.in.U32();
    EXPECT_TRUE(got.done());
    return bits;
  };
  EXPECT_EQ(access(file), 0x2du);
  EXPECT_EQ(access(client.root), 0x1fu);
  Asked conf = client.Ask(kPathconf, file);
  EXPECT_EQ(conf.in.U32(), 0u);
  GetPostAttributes(conf.in);
  EXPECT_EQ(conf.in.U32(), 65535u);
  EXPECT_EQ(conf.in.U32(), 255u);
  for (const uint32_t flag : {1u, 0u, 0u, 1u}) EXPECT_EQ(conf.in.U32(), flag);
  EXPECT_TRUE(conf.done());
  Asked written = client.Ask(kWrite, WriteArguments(file, 0, Pattern(4), 0));
  Asked committed = client.Ask(kCommit, Join({file, Words({0, 0, 0})}));
  EXPECT_EQ(committed.in.U32(), 0u);
  GetWcc(committed.in);
  const uint64_t verifier = committed.in.U64();
  EXPECT_TRUE(committed.done());
  EXPECT_EQ(LoadBe64(written.reply.message.data() + written.reply.message.size() - 8), verifier);
}

TEST_F(NfsMemory, Contents) {
  ASSERT_TRUE(AddPatternFile(fs, "pattern", 3'000'000));
  const Buffer file = client.Find(client.root, "pattern");
  EXPECT_EQ(client.Stat(file).size, 3'000'000u);
  for (const uint32_t offset : {0u, 250u, 1'028'090u, 2'999'990u}) {
    const Buffer bytes = client.Content(file, offset, 20);
    for (uint32_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>((offset + i) % 251));
  }
  EXPECT_FALSE(AddPatternFile(fs, "pattern", 1));
  EXPECT_FALSE(AddPatternFile(fs, "a/b", 1));
  EXPECT_FALSE(AddPatternFile(fs, "large", 1 << 30));

  const auto directory = std::filesystem::path(::testing::TempDir()) / "stag-serve-contents";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory / "sub");
  std::ofstream(directory / "sub" / "hello") << "hello";
  std::filesystem::create_symlink("sub/hello", directory / "link");
  ASSERT_TRUE(AddDirectory(fs, directory.string()));
  const Buffer hello = client.Find(client.Find(client.root, "sub"), "hello");
  EXPECT_EQ(Opaque(client.Content(hello, 0, 100)), Text("hello"));
  EXPECT_EQ(client.Stat(client.Find(client.root, "link")).type, 5u);
  std::filesystem::remove_all(directory);
  EXPECT_FALSE(AddDirectory(fs, directory.string()));
}

}  // namespace
}  // namespace stag::serve
