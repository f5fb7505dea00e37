// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/files/file_accesses.h"

#include <gtest/gtest.h>

#include <string>

#include "session/rpcrdma/session.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using test::Buffer;
using test::Join;
using test::MakeCall;
using test::MakeHeader;
using test::MakeReply;
using test::Opaque;
using test::Words;

std::string Text(Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }
Buffer Raw(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Buffer(bytes.begin(), bytes.end());
}

// Plays one call and its reply (both inline) and keeps what FileAccesses makes of them, with the views copied.
class FileAccessesTest : public ::testing::Test, public session::Observer {
 protected:
  struct Seen {
    bool write = false, has_data = false, eof = false;
    std::string handle;
    uint64_t offset = 0, length = 0;
  };

  void Play(uint32_t version, uint32_t procedure, const Buffer& arguments, const Buffer& results) {
    session::Session session({}, {this});
    test::EventScript script(session);
    script.Open();
    script.Send(0, MakeHeader(rpcrdma::kMsg, 7), MakeCall(7, nfs::kNfsProgram, version, procedure, arguments));
    script.Send(1, MakeHeader(rpcrdma::kMsg, 7), MakeReply(7, results));
    script.Close();
    session.Finish();
  }

  void OnTransaction(const session::Connection&, const session::Transaction& t) override {
    FileAccesses found;
    found.Collect(t);
    for (const FileAccess& access : found.accesses()) {
      accesses_.push_back({access.write, access.item != nullptr, access.eof, Text(access.handle), access.offset,
                           access.item ? access.item->item.length : 0});
    }
    for (const NamedHandle& named : found.names()) names_.emplace_back(Text(named.name), Text(named.handle));
  }

  std::vector<Seen> accesses_;
  std::vector<std::pair<std::string, std::string>> names_;
};

// RFC 1813 section 3.3.7: file, offset, count, stable, data.
Buffer Write3(std::string_view handle, uint32_t offset, std::string_view data) {
  return Join({Opaque(Raw(handle)), Words({0, offset, static_cast<uint32_t>(data.size()), 2}), Opaque(Raw(data))});
}
// wcc_data without attributes, count, committed, verifier.
const Buffer kWrite3Ok = Words({0, 0, 0, 4, 2, 0, 0});

TEST_F(FileAccessesTest, Nfs3Write) {
  Play(3, 7, Write3("HANDLE", 4096, "data"), kWrite3Ok);
  ASSERT_EQ(accesses_.size(), 1u);
  EXPECT_TRUE(accesses_[0].write);
  EXPECT_EQ(accesses_[0].handle, "HANDLE");
  EXPECT_EQ(accesses_[0].offset, 4096u);
  EXPECT_EQ(accesses_[0].length, 4u);
}

TEST_F(FileAccessesTest, AWriteThatFailedWroteNothing) {
  Play(3, 7, Write3("HANDLE", 0, "data"), Words({28, 0, 0}));  // NFS3ERR_NOSPC
  EXPECT_TRUE(accesses_.empty());
}

TEST_F(FileAccessesTest, Nfs3ReadWithEnd) {
  Play(3, 6, Join({Opaque(Raw("HANDLE")), Words({0, 8, 100})}), Join({Words({0, 0, 3, 1}), Opaque(Raw("abc"))}));
  ASSERT_EQ(accesses_.size(), 1u);
  EXPECT_FALSE(accesses_[0].write);
  EXPECT_TRUE(accesses_[0].eof);
  EXPECT_EQ(accesses_[0].offset, 8u);
  EXPECT_EQ(accesses_[0].length, 3u);
}

TEST_F(FileAccessesTest, Nfs3LookupNamesTheHandle) {
  Play(3, 3, Join({Opaque(Raw("DIR")), Opaque(Raw("name"))}), Join({Words({0}), Opaque(Raw("FILE")), Words({0, 0})}));
  ASSERT_EQ(names_.size(), 1u);
  EXPECT_EQ(names_[0], std::make_pair(std::string("name"), std::string("FILE")));
}

// RFC 7530 section 14.2: tag, minor version, count, operations; result: status, tag, count, results.
constexpr uint32_t kGetFh = 10, kLookup = 15, kPutFh = 22, kPutRootFh = 24, kRead = 25, kRestoreFh = 31, kSaveFh = 32;
const Buffer kReadArguments = Words({kRead, 0, 0, 0, 0, 0, 16, 1024});  // stateid, offset 16, count

Buffer Compound(uint32_t operations, std::initializer_list<Buffer> parts) {
  return Join({Words({0, 0, operations}), Join(parts)});
}
Buffer Results(uint32_t status, uint32_t operations, std::initializer_list<Buffer> parts) {
  return Join({Words({status, 0, operations}), Join(parts)});
}
Buffer ReadResult(std::string_view data) { return Join({Words({kRead, 0, 1}), Opaque(Raw(data))}); }

TEST_F(FileAccessesTest, Nfs4HandleComesFromGetFh) {
  Play(4, 1, Compound(4, {Words({kPutRootFh, kLookup}), Opaque(Raw("file")), Words({kGetFh}), kReadArguments}),
       Results(0, 4, {Words({kPutRootFh, 0, kLookup, 0, kGetFh, 0}), Opaque(Raw("FH")), ReadResult("abc")}));
  ASSERT_EQ(accesses_.size(), 1u);
  EXPECT_EQ(accesses_[0].handle, "FH");
  EXPECT_EQ(accesses_[0].offset, 16u);
  EXPECT_TRUE(accesses_[0].eof);
  ASSERT_EQ(names_.size(), 1u);
  EXPECT_EQ(names_[0], std::make_pair(std::string("file"), std::string("FH")));
}

TEST_F(FileAccessesTest, Nfs4SavedHandleComesBack) {
  Play(4, 1,
       Compound(5, {Words({kPutFh}), Opaque(Raw("A")), Words({kSaveFh, kPutFh}), Opaque(Raw("B")), Words({kRestoreFh}),
                    kReadArguments}),
       Results(0, 5, {Words({kPutFh, 0, kSaveFh, 0, kPutFh, 0, kRestoreFh, 0}), ReadResult("abc")}));
  ASSERT_EQ(accesses_.size(), 1u);
  EXPECT_EQ(accesses_[0].handle, "A");
}

TEST_F(FileAccessesTest, Nfs4WithoutAHandleIsSaid) {
  Play(4, 1, Compound(3, {Words({kPutRootFh, kLookup}), Opaque(Raw("file")), kReadArguments}),
       Results(0, 3, {Words({kPutRootFh, 0, kLookup, 0}), ReadResult("abc")}));
  ASSERT_EQ(accesses_.size(), 1u);
  EXPECT_EQ(accesses_[0].handle, "");
  EXPECT_TRUE(accesses_[0].has_data);
}

TEST_F(FileAccessesTest, Nfs4StopsAtTheFirstError) {
  Play(4, 1, Compound(3, {Words({kPutRootFh, kLookup}), Opaque(Raw("file")), kReadArguments}),
       Results(2, 2, {Words({kPutRootFh, 0, kLookup, 2})}));
  EXPECT_TRUE(accesses_.empty());
  EXPECT_TRUE(names_.empty());
}

}  // namespace
}  // namespace stag::session
