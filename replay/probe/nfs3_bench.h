// SPDX-License-Identifier: GPL-2.0-or-later
//
// What probes with NFSv3 have in common: Calls on the Bench's file, and what their Replies must be. Each function ends
// the probe when something else came.
#pragma once

#include "protocol/nfs/walk.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/probe/bench.h"

namespace stag::probe {

using Data = std::vector<std::byte>;

inline constexpr uint64_t kPlayground = 2 * kFileSize;  // where WRITEs go
inline constexpr uint32_t kInline = 512;                // of READ and WRITE, fits any threshold

// Skips the probe when there is no file.
void NeedFile(const Bench& bench);

// `put`: the arguments, to a Writer.
template <typename Put>
Call MakeNfs3(Bench& bench, uint32_t procedure, Put put) {
  Data arguments;
  Writer out(arguments);
  put(out);
  return bench.Make(nfs::kNfsProgram, 3, procedure, arguments);
}
Call ReadCall(Bench& bench, uint64_t offset, uint32_t count);
// Up to the count of the data.
Call WriteCall(Bench& bench, uint64_t offset, size_t count);
// With the data behind it.
Call WholeWriteCall(Bench& bench, uint64_t offset, Bytes data);

// The results of a Reply that succeeds.
Data Results(Link& link, const Call& call, const Message& answer);
void ExpectStatus(const nfs_client::nfs3::Status& result, std::string_view what);
void ExpectSame(Bytes came, Bytes expected, std::string_view what);
void ExpectWritten(Link& link, const Call& call, const Message& answer, size_t count);

// Without any chunk.
Data ReadInline(Bench& bench, Link& link, uint64_t offset, size_t size);
void WriteInline(Bench& bench, Link& link, uint64_t offset, Bytes data);

}  // namespace stag::probe
