// SPDX-License-Identifier: GPL-2.0-or-later
//
// The small part of an NFSv3 client that the tests of the in-memory server need: arguments in, results read back.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "protocol/base/cursor.h"
#include "replay/serve/nfs_memory.h"
#include "tests/support/messages.h"

namespace stag::test {

inline constexpr uint32_t kNfs3 = 100003, kMount3 = 100005;
enum Nfs3 : uint32_t {
  kGetattr = 1,
  kSetattr,
  kLookup,
  kAccess,
  kReadlink,
  kRead,
  kWrite,
  kCreate,
  kMkdir,
  kSymlink,
  kMknod,
  kRemove,
  kRmdir,
  kRename,
  kLink,
  kReaddir,
  kReaddirplus,
  kFsstat,
  kFsinfo,
  kPathconf,
  kCommit
};

inline Buffer Text(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return Opaque({bytes.begin(), bytes.end()});
}
inline Buffer At(const Buffer& directory, std::string_view name) { return Join({directory, Text(name)}); }
inline Buffer Word64(uint64_t value) {
  return Words({static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)});
}
inline Buffer NoAttributes() { return Words({0, 0, 0, 0, 0, 0}); }  // sattr3 that sets nothing
inline Buffer SizeAttribute(uint64_t size) { return Join({Words({0, 0, 0, 1}), Word64(size), Words({0, 0})}); }
inline Buffer WriteArguments(const Buffer& handle, uint64_t offset, const Buffer& data, uint32_t stable = 2) {
  return Join({handle, Word64(offset), Words({static_cast<uint32_t>(data.size()), stable}), Opaque(data)});
}
inline Buffer ReadArguments(const Buffer& handle, uint64_t offset, uint32_t count) {
  return Join({handle, Word64(offset), Words({count})});
}

struct Fattr {
  uint32_t type = 0, mode = 0, links = 0, uid = 0, gid = 0;
  uint64_t size = 0, used = 0, device = 0, fsid = 0, fileid = 0, atime = 0, mtime = 0, ctime = 0;
};
inline Fattr GetFattr(Cursor& in) {
  Fattr f;
  for (uint32_t* word : {&f.type, &f.mode, &f.links, &f.uid, &f.gid}) *word = in.U32();
  for (uint64_t* value : {&f.size, &f.used, &f.device, &f.fsid, &f.fileid, &f.atime, &f.mtime, &f.ctime})
    *value = in.U64();
  return f;
}
inline std::optional<Fattr> GetPostAttributes(Cursor& in) {
  if (in.U32() == 0) return {};
  return GetFattr(in);
}
struct WccData {
  bool has_before = false;
  uint64_t size = 0, mtime = 0, ctime = 0;
  std::optional<Fattr> after;
};
inline WccData GetWcc(Cursor& in) {
  WccData wcc;
  wcc.has_before = in.U32() == 1;
  if (wcc.has_before)
    for (uint64_t* value : {&wcc.size, &wcc.mtime, &wcc.ctime}) *value = in.U64();
  wcc.after = GetPostAttributes(in);
  return wcc;
}
inline Buffer GetBytes(Cursor& in) {
  const uint32_t size = in.U32();
  const Bytes bytes = in.Take(size);
  in.Skip(RoundUp4(size) - size);
  return {bytes.begin(), bytes.end()};
}
inline std::string GetName(Cursor& in) {
  const Buffer bytes = GetBytes(in);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A Call and its Reply, taken apart.
struct Asked {
  Asked(rpcrdma::Service& service, uint32_t program, uint32_t procedure, const Buffer& arguments) {
    service.OnCall(MakeCall(77, program, 3, procedure, arguments), reply);
    (void)reply.Flatten();
    header = rpc::DecodeReply(reply.message, reply.message.size());
    EXPECT_EQ(header.status, ParseStatus::kOk);
    EXPECT_EQ(header.xid, 77u);
    in = Cursor(Bytes(reply.message).subspan(header.length));
  }
  // The results were read to their end.
  bool done() const { return in.ok() && in.remaining() == 0; }
  rpcrdma::ServiceReply reply;
  rpc::ReplyHeader header;
  Cursor in{Bytes{}};
};

class NfsClient {
 public:
  explicit NfsClient(rpcrdma::Service& service) : service_(service) {
    Asked mnt(service_, kMount3, 1, Text("/"));
    EXPECT_EQ(mnt.in.U32(), 0u);
    root = Opaque(GetBytes(mnt.in));
  }
  Asked Ask(uint32_t procedure, const Buffer& arguments) { return {service_, kNfs3, procedure, arguments}; }
  uint32_t Status(uint32_t procedure, const Buffer& arguments) { return Ask(procedure, arguments).in.U32(); }
  // CREATE (GUARDED), MKDIR: the new handle, with its count; empty: refused.
  Buffer Make(uint32_t procedure, const Buffer& directory, std::string_view name) {
    Asked made =
        Ask(procedure, Join({At(directory, name), procedure == kCreate ? Words({1}) : Buffer{}, NoAttributes()}));
    if (made.in.U32() != 0 || made.in.U32() != 1) return {};
    return Opaque(GetBytes(made.in));
  }
  Buffer Find(const Buffer& directory, std::string_view name) {
    Asked found = Ask(kLookup, At(directory, name));
    return found.in.U32() == 0 ? Opaque(GetBytes(found.in)) : Buffer{};
  }
  Fattr Stat(const Buffer& handle) {
    Asked got = Ask(kGetattr, handle);
    EXPECT_EQ(got.in.U32(), 0u);
    return GetFattr(got.in);
  }
  Buffer Content(const Buffer& handle, uint64_t offset, uint32_t count) {
    Asked got = Ask(kRead, ReadArguments(handle, offset, count));
    EXPECT_EQ(got.in.U32(), 0u);
    GetPostAttributes(got.in);
    got.in.Skip(8);
    return GetBytes(got.in);
  }

  Buffer root;

 private:
  rpcrdma::Service& service_;
};

}  // namespace stag::test
