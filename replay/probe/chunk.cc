// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of chunks with any RPC program (RFC 8166 sections 3.4, 3.5 and 4.3): Long Calls, Write chunks and Reply chunks
// that are not needed, and Long Replies where a Call with a long Reply is known.
#include <fmt/format.h>

#include "replay/probe/bench.h"

namespace stag::probe {
namespace {

// NULL as a Long Call in segments of these lengths; what is left of it goes into a last one.
void LongNull(Bench& bench, std::vector<uint32_t> lengths) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  auto rest = static_cast<uint32_t>(call.rpc.size());
  for (const uint32_t length : lengths) rest -= length;
  lengths.push_back(rest);
  link.MakeLong(call, lengths);
  bench.AskNull(link, call);
}

void LongCall(Bench& bench) { LongNull(bench, {}); }
void LongCallSegments(Bench& bench) { LongNull(bench, {4, 20, 8, 4}); }
void LongCallOddSegments(Bench& bench) { LongNull(bench, {1, 2, 3, 5, 7}); }

void UnusedWriteChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  AddWrite(call, link.Offer({100, 4096, 33}, endpoint::Access::kRemoteWrite));
  bench.AskUnused(link, call);
}

void UnusedWriteChunks(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  AddWrite(call, link.Offer({64}, endpoint::Access::kRemoteWrite));
  AddWrite(call, link.Offer({4, 8}, endpoint::Access::kRemoteWrite));
  bench.AskUnused(link, call);
}

void EmptyWriteChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  call.header.write_chunks.push_back({0, 0});
  bench.AskUnused(link, call);
}

void EmptySegments(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  AddWrite(call, link.Offer({0, 64, 0, 0, 8}, endpoint::Access::kRemoteWrite));
  bench.Case("a Write chunk with three such segments");
  bench.AskUnused(link, call);
  bench.Case("a Position Zero Read chunk with three such segments");
  Call longer = bench.Null();
  link.MakeLong(longer, {0, 12, 0, static_cast<uint32_t>(longer.rpc.size()) - 12, 0});
  const Message answer = link.Ask(longer, "an RPC Reply, or RDMA_ERROR ERR_CHUNK");
  if (answer.header.proc != rpcrdma::kError) return bench.ExpectNull(link, longer, answer);
  Bench::ExpectError(longer, answer, rpcrdma::kErrChunk);
  bench.Advise("a Read chunk with segments of no bytes gets ERR_CHUNK");
}

void EmptyReplyChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  call.header.reply_chunk = rpcrdma::Chunk{0, 0};
  const Message answer = link.Ask(call);
  if (!bench.RefusedEmpty(call, answer)) bench.ExpectNull(link, call, answer);
}

void UnusedReplyChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  SetReply(call, link.Offer({512, 512}, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  bench.ExpectNull(link, call, answer);
  if (answer.header.proc != rpcrdma::kMsg) return;  // allowed: the responder chooses
  for (const rpcrdma::Segment& segment : answer.header.Of(*answer.header.reply_chunk))
    if (segment.length > 0)
      Failed("a Reply chunk with lengths of zero, for the Reply came inline",
             fmt::format("a segment of {} bytes", segment.length));
}

void AllChunks(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  link.MakeLong(call, {12, static_cast<uint32_t>(call.rpc.size()) - 12});
  AddWrite(call, link.Offer({256}, endpoint::Access::kRemoteWrite));
  SetReply(call, link.Offer({512}, endpoint::Access::kRemoteWrite));
  bench.AskUnused(link, call);
}

// A Call with a Reply that needs its Reply chunk, in segments of these lengths.
void LongReply(Bench& bench, const std::vector<uint32_t>& lengths) {
  Link& link = bench.Connect();
  Call call = bench.Long(link, kLong);
  SetReply(call, link.Offer(lengths, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call, "RDMA_NOMSG, with the Reply in the Reply chunk");
  if (answer.header.proc != rpcrdma::kNomsg) Failed("RDMA_NOMSG, with the Reply in the Reply chunk", Describe(answer));
  if (!answer.payload().empty())
    bench.Advise(fmt::format("RDMA_NOMSG with {} bytes behind its header", answer.payload().size()));
  Bench::ExpectLong(link.RpcReply(call, answer), kLong);
}

void ReplyChunk(Bench& bench) { LongReply(bench, {8192}); }
void ReplyChunkSegments(Bench& bench) { LongReply(bench, {4096, 1, 3, 1021, 2048, 4096}); }

// A Reply for which there is no room: an RDMA_ERROR, or the end of the connection, but never a Reply, and no RDMA where
// there is none.
void ExpectNoRoom(Bench& bench, Link& link, const Call& call) {
  link.Send(call);
  const auto answer = link.Next(bench.options().patience.answer);
  constexpr std::string_view kExpected = "RDMA_ERROR ERR_CHUNK, or the end of the connection";
  if (!answer && link.open()) Failed(std::string(kExpected), "nothing");
  if (!answer) return bench.Advise("the connection ends; ERR_CHUNK would say why (RFC 8166 section 4.5.3)");
  if (answer->header.proc != rpcrdma::kError) Failed(std::string(kExpected), Describe(*answer));
  Bench::ExpectError(call, *answer, rpcrdma::kErrChunk);
  bench.ExpectMore(link);
}

void NoReplyChunk(Bench& bench) {
  Link& link = bench.Connect();
  ExpectNoRoom(bench, link, bench.Long(link, kLong));
}

void SmallReplyChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Long(link, kLong);
  SetReply(call, link.Offer({1000, 1000}, endpoint::Access::kRemoteWrite));
  ExpectNoRoom(bench, link, call);
}

// Read chunks at Positions where nothing can be put in.
void WrongPosition(Bench& bench) {
  for (const uint32_t position : {8192u, 0xfffffffcu}) {
    bench.Case(fmt::format("Position {}", position));
    Link& link = bench.Connect();
    Call call = bench.Null();
    AddRead(call, position, link.Offer({64}, endpoint::Access::kRemoteRead));
    const Message answer = link.Ask(call, "RDMA_ERROR ERR_CHUNK");
    if (answer.header.proc == rpcrdma::kError) {
      Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
    } else if (const std::string status = Bench::Status(link, call, answer); status == "SUCCESS") {
      Failed("RDMA_ERROR ERR_CHUNK, or GARBAGE_ARGS, for a Position beyond the Call", "an RPC Reply (SUCCESS)");
    }
    bench.ExpectMore(link);
  }
}

}  // namespace

std::span<const Probe> ChunkProbes() {
  static const Probe probes[] = {
      {"chunk.long-call", "A Long Call is pulled and answered", "NULL by a Position Zero Read chunk of one segment.",
       "RFC 8166 3.5.3, RFC 8166 4.3.1", "LONG-002, LONG-009, RDLIST-007, MEM-002", LongCall},
      {"chunk.long-call-segments", "A Long Call in several segments is joined",
       "NULL by a Position Zero Read chunk of five segments.", "RFC 8166 3.4.5, RFC 8166 3.5.3",
       "LONG-003, RDLIST-003, MEM-002", LongCallSegments},
      {"chunk.long-call-odd-segments", "Segments of odd lengths are joined without padding",
       "NULL by a Position Zero Read chunk of six segments, the first of 1, 2, 3, 5 and 7 bytes.",
       "RFC 8166 3.4.3, RFC 8166 3.4.5", "RDLIST-003, MEM-013", LongCallOddSegments},
      {"chunk.unused-write-chunk", "A Write chunk without a result comes back unused",
       "NULL with a Write chunk of three segments, which must come back with lengths of zero.",
       "RFC 8166 4.3.2, RFC 8166 3.4.6", "WRLIST-001, WRLIST-002, WRLIST-003, WRLIST-008, WRLIST-009",
       UnusedWriteChunk},
      {"chunk.unused-write-chunks", "Several Write chunks without results come back unused",
       "NULL with two Write chunks.", "RFC 8166 4.3.2, RFC 8166 3.4.6", "WRLIST-001, WRLIST-002, WRLIST-008",
       UnusedWriteChunks},
      {"chunk.empty-write-chunk", "An empty Write chunk comes back empty",
       "NULL with a Write chunk of no segments. It comes back, or gets ERR_CHUNK, which is advice: the field is not of "
       "one mind about such chunks.",
       "RFC 8166 4.3.2, RFC 8166 3.4.6", "WRLIST-001, WRLIST-011", EmptyWriteChunk},
      {"chunk.empty-segments", "Segments of no bytes are no harm",
       "NULL with a Write chunk of which three segments have no bytes, and as a Long Call with such segments.",
       "RFC 8166 3.4.6, RFC 8166 3.4.3", "MEM-007, WRLIST-002, WRLIST-008", EmptySegments,
       "Linux 6.1 loses a thread of its NFS server for good (docs/divergences.md)"},
      {"chunk.empty-reply-chunk", "A Reply chunk of no segments comes back",
       "NULL, whose Reply fits inline, with a Reply chunk of no segments. It comes back, or gets ERR_CHUNK, which is "
       "advice.",
       "RFC 8166 4.3.3", "REPLY-004, REPLY-008", EmptyReplyChunk},
      {"chunk.unused-reply-chunk", "A Reply chunk that is not needed comes back",
       "NULL with a Reply chunk. Inline, its lengths are zero; or the Reply is in it, which is allowed.",
       "RFC 8166 4.3.3", "REPLY-004, REPLY-005, REPLY-008", UnusedReplyChunk},
      {"chunk.all-chunks", "All three lists at once", "NULL as a Long Call, with a Write chunk and a Reply chunk.",
       "RFC 8166 4.3, RFC 8166 3.5.3", "WRLIST-008, REPLY-004, LONG-002", AllChunks},
      {"chunk.long-reply", "A Long Reply goes into the Reply chunk",
       "A Call with a long Reply and a Reply chunk of one segment (needs --export, or ECHO).",
       "RFC 8166 3.5.3, RFC 8166 4.3.3", "REPLY-007, REPLY-010, REPLY-011, MEM-003", ReplyChunk},
      {"chunk.long-reply-segments", "A Reply chunk is filled in order",
       "The same with six segments, some of odd lengths: filled in order, nothing beside them (needs --export, or "
       "ECHO).",
       "RFC 8166 3.4.6, RFC 8166 4.3.3", "REPLY-005, REPLY-010, MEM-003", ReplyChunkSegments},
      {"chunk.no-reply-chunk", "A Reply that does not fit is refused",
       "A Call with a Reply above the inline threshold, and no Reply chunk: ERR_CHUNK, or the end of the connection "
       "(needs --export, or ECHO).",
       "RFC 8166 4.5.3, RFC 8166 4.5.4, RFC 8166 3.3.2", "THRESH-002, REPLY-001, REPLY-006, ERR-015", NoReplyChunk},
      {"chunk.small-reply-chunk", "A Reply chunk that is too small is not overrun",
       "A Call with a long Reply and a Reply chunk of 2000 bytes: ERR_CHUNK, or the end of the connection, and nothing "
       "beside the chunk (needs --export, or ECHO).",
       "RFC 8166 4.5.3", "MEM-003, REPLY-002, REPLY-005, ERR-015", SmallReplyChunk},
      {"chunk.position", "A Read chunk beyond the end of the Call is refused",
       "NULL with a Read chunk at Positions 8192 and 0xfffffffc: ERR_CHUNK or an RPC error.",
       "RFC 8166 4.5, RFC 8166 4.5.2, RFC 8166 3.4.5", "RDLIST-004, ERR-008, ERR-014", WrongPosition},
  };
  return probes;
}

}  // namespace stag::probe
