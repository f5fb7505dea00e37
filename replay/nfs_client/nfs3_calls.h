// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv3 from the client's side (RFC 1813): arguments of the procedures that are called, and their results. What a
// server returns is not trusted: a result that does not decode has `ok` false. Views point into the results.
#pragma once

#include <span>
#include <string_view>

#include "protocol/base/writer.h"
#include "protocol/nfs/procedures.h"

namespace stag::nfs_client::nfs3 {

using enum nfs::nfs3::Procedure;
enum Stable : uint32_t { kUnstable = 0, kDataSync = 1, kFileSync = 2 };
inline constexpr uint32_t kNoEnt = 2;  // NFS3ERR_NOENT
inline constexpr uint32_t kHandleMax = 64, kTypeRegular = 1;

// Arguments.
void PutHandle(Writer& out, Bytes handle);                          // GETATTR, FSINFO, READLINK
void PutName(Writer& out, Bytes directory, std::string_view name);  // LOOKUP, REMOVE
void PutRead(Writer& out, Bytes handle, uint64_t offset, uint32_t count);
// Up to the count of the data, which follow.
void PutWrite(Writer& out, Bytes handle, uint64_t offset, uint32_t count, Stable stable);
// UNCHECKED, with size 0; `mode`: permission bits, the mode3 of RFC 1813.
void PutCreate(Writer& out, Bytes directory, std::string_view name, uint32_t mode);
void PutReaddirplus(Writer& out, Bytes directory, uint32_t name_bytes, uint32_t all_bytes);  // from the first entry

// The most that results can have, inline, without data that goes by a chunk.
inline constexpr uint32_t kAttributesSize = 84;
inline constexpr uint32_t kGetattrSize = 4 + kAttributesSize;
inline constexpr uint32_t kLookupSize = 4 + 4 + kHandleMax + 2 * (4 + kAttributesSize);
inline constexpr uint32_t kReadSize = 4 + 4 + kAttributesSize + 12;
inline constexpr uint32_t kWriteSize = 4 + 4 + 24 + 4 + kAttributesSize + 16;

struct Attributes {
  uint32_t type = 0;
  uint64_t size = 0;
};

// Results. `status` is what the server said; what is behind it is valid when it is 0 and `ok`.
struct Status {
  bool ok = false;
  uint32_t status = 0;
};
struct GetattrResult : Status {
  Attributes attributes;
};
struct HandleResult : Status {
  Bytes handle;  // CREATE: empty when the server gave none
};
struct LinkResult : Status {
  Bytes target;
};
struct ReadResult : Status {
  Bytes data;
  bool eof = false;
};
struct WriteResult : Status {
  uint32_t count = 0;
  uint64_t verifier = 0;
};
struct ListResult : Status {
  uint64_t entries = 0;
  bool eof = false;
};
struct FsinfoResult : Status {
  uint32_t read_max = 0, write_max = 0;
};
GetattrResult DecodeGetattr(Bytes results);
HandleResult DecodeLookup(Bytes results);
LinkResult DecodeReadlink(Bytes results);  // with its text inline
// `chunks`: what came in the Write chunks of the Call.
ReadResult DecodeRead(Bytes results, std::span<const Bytes> chunks);
WriteResult DecodeWrite(Bytes results);
HandleResult DecodeCreate(Bytes results);
Status DecodeRemove(Bytes results);
ListResult DecodeReaddirplus(Bytes results);
FsinfoResult DecodeFsinfo(Bytes results);

}  // namespace stag::nfs_client::nfs3
