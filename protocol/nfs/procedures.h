// SPDX-License-Identifier: GPL-2.0-or-later
//
// The procedures of NFSv2 (RFC 1094 section 2.2) and NFSv3 (RFC 1813 section 3.3), for the walkers and for who makes
// Calls.
#pragma once

#include <cstdint>

namespace stag::nfs::nfs2 {

enum Procedure : uint32_t {
  kNull,
  kGetattr,
  kSetattr,
  kRoot,
  kLookup,
  kReadlink,
  kRead,
  kWritecache,
  kWrite,
  kCreate,
  kRemove,
  kRename,
  kLink,
  kSymlink,
  kMkdir,
  kRmdir,
  kReaddir,
  kStatfs
};

}  // namespace stag::nfs::nfs2

namespace stag::nfs::nfs3 {

enum Procedure : uint32_t {
  kNull,
  kGetattr,
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

}  // namespace stag::nfs::nfs3
