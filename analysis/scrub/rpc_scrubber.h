// SPDX-License-Identifier: GPL-2.0-or-later
//
// RpcScrubber: RPC messages without their secrets. What a decoder knows to be no secret is kept, what it knows to be
// one is replaced, and every other byte is zero: of a malformed message what comes behind the word that is wrong.
#pragma once

#include <vector>

#include "analysis/scrub/pseudonyms.h"
#include "analysis/scrub/replaced.h"
#include "protocol/nfs/walk.h"
#include "session/rpcrdma/transaction.h"

namespace stag::scrub {

struct KeptValues {
  bool names = false, addresses = false, data_hash = false;
};

// Which bytes of which file an item of data is.
struct FileRange {
  uint32_t op_index = 0;
  Bytes handle;
  uint64_t offset = 0;
};

class RpcScrubber {
 public:
  RpcScrubber(Pseudonyms& pseudonyms, Replaced& replaced, const KeptValues& kept)
      : pseudonyms_(pseudonyms), replaced_(replaced), kept_(kept) {}

  // `out` becomes as long as `stream`, the captured prefix of a reduced RPC message of `length` bytes. `items`: the
  // data items of the message, of which those that are reduced are not in the stream.
  void Call(Bytes stream, uint64_t length, const std::vector<session::DataItem>& items, std::vector<std::byte>& out);
  // `reads`: what the Call reads (Reads).
  void Reply(const rpc::CallHeader& call, const std::vector<FileRange>& reads, Bytes stream, uint64_t length,
             const std::vector<session::DataItem>& items, std::vector<std::byte>& out);
  // A Call with the padding of RDMA_MSGP, whose place is not certain: what comes behind the first data item of at least
  // `threshold` bytes is zero, unless the arguments end with the stream, as without padding.
  void PaddedCall(Bytes stream, uint64_t length, uint32_t threshold, std::vector<std::byte>& out);
  // Of a message whose arguments or results nobody can follow: its header.
  void Call(Bytes stream, std::vector<std::byte>& out);
  void Reply(Bytes stream, std::vector<std::byte>& out);

  // What READ operations of a Call read, and WRITE operations write. Views of `stream`.
  static void Ranges(const rpc::CallHeader& header, Bytes stream, uint64_t length,
                     const std::vector<session::DataItem>& items, std::vector<FileRange>& reads,
                     std::vector<FileRange>& writes);

  // What stands in the place of a data item: `out` is as long as what was captured of it from `at` on. `content`: all
  // of it, or nothing when not all is known.
  void Data(nfs::ItemKind kind, const FileRange& range, Bytes content, uint64_t at, MutableBytes out);

 private:
  class Fields;
  bool CallHead(Bytes stream, MutableBytes out);
  bool ReplyHead(Bytes stream, MutableBytes out);
  void Credential(uint32_t flavor, Bytes body, MutableBytes out);
  void Gss(const rpc::CallHeader& call, bool reply, Bytes stream, uint64_t length, uint32_t begin, MutableBytes out);
  void Rpcbind(const rpc::CallHeader& call, bool reply, Bytes in, MutableBytes out);
  void Field(nfs::FieldKind kind, Bytes in, MutableBytes out);

  Pseudonyms& pseudonyms_;
  Replaced& replaced_;
  const KeptValues kept_;
};

}  // namespace stag::scrub
