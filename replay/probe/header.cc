// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of what a server does with transport headers that are wrong or odd (RFC 8166 sections 4.2, 4.5 and 4.6). Every
// one that gets an answer, or silence, must leave the connection as it was.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "protocol/base/writer.h"
#include "protocol/rpc/message.h"
#include "replay/probe/bench.h"

namespace stag::probe {
namespace {

using rpcrdma::ErrorCode;

constexpr size_t kFixedWords = 16;  // bytes of xid, version, credit, procedure

// The answer is this RDMA_ERROR, and the connection goes on.
void ExpectErrorAndMore(Bench& bench, Link& link, const Call& call, ErrorCode code) {
  Bench::ExpectError(call, link.Ask(call, fmt::format("RDMA_ERROR {}", rpcrdma::ErrorName(code))), code);
  bench.ExpectMore(link);
}

void Version(Bench& bench) {
  for (const uint32_t version : {0u, 2u, 99u}) {
    bench.Case(fmt::format("version {}", version));
    Link& link = bench.Connect();
    Call call = bench.Null();
    call.header.vers = version;
    const Message answer = link.Ask(call, "RDMA_ERROR ERR_VERS");
    Bench::ExpectError(call, answer, rpcrdma::kErrVers);
    if (answer.header.vers_low <= version && version <= answer.header.vers_high)
      Failed(fmt::format("a range of versions without {}, which was refused", version), Describe(answer));
    bench.ExpectMore(link);
  }
}

void UnknownProc(Bench& bench) {
  for (const uint32_t proc : {5u, 9u, UINT32_MAX}) {
    bench.Case(fmt::format("rdma_proc {}", proc));
    Link& link = bench.Connect();
    Call call = bench.Null();
    std::vector<std::byte> message = call.Encoded();
    StoreBe32(message.data() + 12, proc);
    link.Send(message);
    Bench::ExpectError(call, link.Answer(call, "RDMA_ERROR ERR_CHUNK"), rpcrdma::kErrChunk);
    bench.ExpectMore(link);
  }
}

void Msgp(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  call.header.proc = rpcrdma::kMsgp;
  link.Send(call);
  const auto answer = link.Next(bench.options().patience.answer);
  if (!answer && !link.open()) Failed("RDMA_ERROR ERR_CHUNK", link.trouble());
  if (!answer || answer->header.proc != rpcrdma::kError) {
    bench.Advise(fmt::format("RDMA_MSGP SHOULD get ERR_CHUNK; {} came", answer ? Describe(*answer) : "nothing"));
  } else {
    Bench::ExpectError(call, *answer, rpcrdma::kErrChunk);
  }
  bench.ExpectMore(link);
}

void Done(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  Call call = bench.Null();
  call.header.proc = rpcrdma::kDone;
  call.inline_rpc = false;
  bench.ExpectDiscarded(link, call.Encoded(), "RDMA_DONE");
}

void ErrorMessage(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  Call call = bench.Null();
  call.header.proc = rpcrdma::kError;
  call.header.err = rpcrdma::kErrChunk;
  call.inline_rpc = false;
  bench.ExpectDiscarded(link, call.Encoded(), "an RDMA_ERROR of the client");
}

void NomsgWithoutChunks(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  call.header.proc = rpcrdma::kNomsg;
  call.inline_rpc = false;
  ExpectErrorAndMore(bench, link, call, rpcrdma::kErrChunk);
}

void XidMismatch(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  StoreBe32(call.rpc.data(), call.header.xid ^ 0x00ff0000);
  ExpectErrorAndMore(bench, link, call, rpcrdma::kErrChunk);
}

void ShortMessage(Bench& bench) {
  for (const size_t size : {4u, 15u, 16u, 20u, 27u}) {
    bench.Case(fmt::format("the first {} bytes", size));
    Link& link = bench.Connect();
    bench.AskNull(link);
    const std::vector<std::byte> message = bench.Null().Encoded();
    if (!bench.Discards(link, Bytes(message).first(size), fmt::format("a message of {} bytes", size)))
      bench.Advise(
          fmt::format("the connection ends with a message of {} bytes; it MUST be discarded silently "
                      "(RFC 8166 section 4.5)",
                      size));
  }
}

// Headers whose lists are wrong from `offset` on, each on a connection of its own: `words` stand there instead.
void WrongLists(Bench& bench, std::initializer_list<std::vector<uint32_t>> all) {
  for (const std::vector<uint32_t>& words : all) {
    bench.Case(fmt::format("lists that begin with the words {}", fmt::join(words, ", ")));
    Link& link = bench.Connect();
    Call call = bench.Null();
    std::vector<std::byte> message = call.Encoded();
    message.resize(kFixedWords);
    Writer out(message);
    for (const uint32_t word : words) out.U32(word);
    out.Put(call.rpc);
    link.Send(message);
    Bench::ExpectError(call, link.Answer(call, "RDMA_ERROR ERR_CHUNK"), rpcrdma::kErrChunk);
    bench.ExpectMore(link);
  }
}

void Discriminators(Bench& bench) { WrongLists(bench, {{2, 0, 0}, {0, 0x100, 0}, {0, 0, UINT32_MAX}}); }

void Overruns(Bench& bench) {
  WrongLists(bench, {{0, 1, 0x7fffffff, 0}, {0, 1, UINT32_MAX, 0}, {0, 0, 1, 0x10000000}, {0, 0, 1, 1000, 7, 64}});
}

void EndlessReadList(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  std::vector<std::byte> message = call.Encoded();
  message.resize(kFixedWords);
  Writer out(message);
  for (uint32_t i = 0; i < 40; ++i)
    for (const uint32_t word : {1u, 40u, 0x1234u, 4u, 0u, 0u}) out.U32(word);
  link.Send(message);  // there is no zero that ends the list
  Bench::ExpectError(call, link.Answer(call, "RDMA_ERROR ERR_CHUNK"), rpcrdma::kErrChunk);
  bench.ExpectMore(link);
}

void Xids(Bench& bench) {
  Link& link = bench.Connect();
  for (const uint32_t xid : {0u, 1u, 0x80000000u, UINT32_MAX}) {
    bench.Case(fmt::format("xid 0x{:08x}", xid));
    Call call = bench.Null();
    SetXid(call, xid);
    bench.AskNull(link, call);
  }
}

}  // namespace

std::span<const Probe> HeaderProbes() {
  static const Probe probes[] = {
      {"header.version", "Another version gets ERR_VERS",
       "NULL with rdma_vers 0, 2 and 99. Each gets ERR_VERS with the same xid and version, and a range in which "
       "version 1 is.",
       "RFC 8166 4.5.1, RFC 8166 4.5, RFC 8166 4.2.2", "HDR-003, ERR-003, ERR-004, ERR-006, ERR-007", Version},
      {"header.unknown-proc", "An unknown rdma_proc gets ERR_CHUNK", "NULL with rdma_proc 5, 9 and 4294967295.",
       "RFC 8166 4.5.2, RFC 8166 4.5", "HDR-004, ERR-003, ERR-008", UnknownProc},
      {"header.msgp", "RDMA_MSGP gets ERR_CHUNK", "An RDMA_MSGP, which SHOULD get ERR_CHUNK; the connection goes on.",
       "RFC 8166 4.6.1", "MSGP-001, MSGP-002", Msgp},
      {"header.done", "RDMA_DONE is discarded", "An RDMA_DONE, then a NULL: only the NULL is answered.",
       "RFC 8166 4.6.2", "DONE-001, DONE-002", Done},
      {"header.error-message", "An RDMA_ERROR of the client is discarded",
       "An RDMA_ERROR, then a NULL: only the NULL is answered.", "RFC 8166 4.5", "ERR-001, ERR-002", ErrorMessage},
      {"header.nomsg-without-chunks", "RDMA_NOMSG without any chunk gets ERR_CHUNK",
       "An RDMA_NOMSG with three empty lists.", "RFC 8166 4.5.2", "LONG-001, ERR-008", NomsgWithoutChunks},
      {"header.xid-mismatch", "Two different xids in a message get ERR_CHUNK",
       "NULL whose RPC message has another xid than the header.", "RFC 8166 4.5.2, RFC 8166 4.2.1", "XID-001, ERR-008",
       XidMismatch},
      {"header.short", "Messages under 28 bytes are discarded",
       "The first 4, 15, 16, 20 and 27 bytes of a NULL, each followed by a whole one: only that is answered. An end of "
       "the connection is not as it should be, but does not fail the probe.",
       "RFC 8166 4.5", "HDR-002, HDR-005", ShortMessage},
      {"header.discriminator", "Optional-data words other than 0 and 1 get ERR_CHUNK",
       "NULL with 2, 256 and 4294967295 where the Read list, the Write list and the Reply chunk begin.",
       "RFC 8166 4.5.2, RFC 8166 4.7", "HDR-007, ERR-008", Discriminators},
      {"header.list-overrun", "Chunks that go beyond the message get ERR_CHUNK",
       "Write chunks and Reply chunks with up to 4294967295 segments, which are not there.",
       "RFC 8166 4.5.2, RFC 8166 4.7", "HDR-006, HDR-009, HDR-010, ERR-008", Overruns},
      {"header.read-list-overrun", "A Read list that does not end gets ERR_CHUNK",
       "A Read list of 40 segments without the zero that ends it, and nothing behind.", "RFC 8166 4.5.2, RFC 8166 4.7",
       "HDR-006, HDR-008, ERR-008", EndlessReadList},
      {"header.xid-values", "Every xid is as good as any other", "NULL with the xids 0, 1, 0x80000000 and 0xffffffff.",
       "RFC 8166 4.2.1", "XID-001, XID-002", Xids},
  };
  return probes;
}

}  // namespace stag::probe
