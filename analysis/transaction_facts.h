// SPDX-License-Identifier: GPL-2.0-or-later
//
// Facts of a transaction that a line shows and the Transaction does not hold as such: names, the bytes that a reply
// returned in each chunk, and the digests of rebuilt messages and of their DDP-eligible items.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/digest.h"
#include "session/rpcrdma/transaction.h"

namespace stag::analysis {

// Program, version and procedure of the Call could be read: it is a Call, and of a version of RPC that is known.
bool ProcedureKnown(const session::Transaction& t);
// The procedure is NFSv4 COMPOUND or CB_COMPOUND.
bool IsCompound(const session::Transaction& t);
// Every operation of the COMPOUND is known.
bool OperationsKnown(const session::Transaction& t);
// Appends the operation's name, or "OP_n" for one without a name.
void PutOperation(std::string& out, const session::Transaction& t, uint32_t op);

// Appends the program, its version and the procedure: "NFSv3 READ"; of a COMPOUND the operation that it is about, in
// place of the procedure: the first that is none of SEQUENCE, PUTFH, PUTROOTFH, PUTPUBFH, SAVEFH, RESTOREFH, GETFH and
// GETATTR; else GETATTR, else the last. "?" when the procedure is not known.
void PutSubject(std::string& out, const session::Transaction& t);
// Appends the program and its version, and a space.
void PutProgram(std::string& out, const rpc::CallHeader& call);

// How an RPC ended, as far as the capture shows it.
struct Ending {
  bool answered = false;
  bool error = false;     // answered with an error, of RPC-over-RDMA, of RPC, or an NFS status that is none of success
  std::string_view name;  // "NFS3_OK", "NFS4ERR_DELAY"; "PROG_UNAVAIL", "DENIED"; "ERR_CHUNK"; empty: it has none
};
Ending EndingOf(const session::Transaction& t);

// Bytes that were written, by the Reply's lists, to Write chunk `i`, or to the Reply chunk; nullopt: no reply was seen,
// or its lists could not be read.
std::optional<uint64_t> ReturnedInWriteChunk(const session::Transaction& t, size_t i);
std::optional<uint64_t> ReturnedInReplyChunk(const session::Transaction& t);
// Sum of the lengths of a chunk's segments.
uint64_t ChunkBytes(const rpcrdma::Header& header, const rpcrdma::Chunk& chunk);

// Bytes of all DDP-eligible items, those of the Call first. `known` false: some could not be seen.
struct DataSummary {
  bool known = true;
  bool any = false;  // there is an item (it may be empty)
  uint64_t bytes = 0;
};
DataSummary SummarizeData(const session::Transaction& t);

// Digest of a rebuilt message, or of all items; nullopt when bytes are missing or were not kept.
std::optional<Sha256::Value> HashPayload(Sha256& sha, const session::Transaction& t, const session::Payload& payload);
std::optional<Sha256::Value> HashData(Sha256& sha, const session::Transaction& t);

}  // namespace stag::analysis
