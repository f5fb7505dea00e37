// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of RPC (RFC 5531) as RPC-over-RDMA carries it: what goes wrong above the transport is an RPC Reply, not an
// RDMA_ERROR.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/probe/bench.h"
#include "replay/rpcrdma/echo_program.h"

namespace stag::probe {
namespace {

constexpr uint32_t kNobodysProgram = 0x2fffff11, kNoVersion = 77, kNoProcedure = 9999;

void Null(Bench& bench) {
  Link& link = bench.Connect();
  const Call call = bench.Null();
  const std::string status = Bench::Status(link, call, link.Ask(call));
  if (status != "SUCCESS")
    Inconclusive(
        fmt::format("{} for NULL of program {}: give --program and --program-version", status, bench.target().program));
}

void NeedProgram(const Bench& bench) {
  if (!bench.target().known) Skipped("no program of the server is known: give --program and --program-version");
}

void Expect(Bench& bench, const Call& call, std::string_view status) {
  Link& link = bench.Connect();
  Bench::ExpectStatus(link, call, link.Ask(call), status);
  bench.AskNull(link);
}

// A Reply that names a range of versions, in which what was asked for is not.
void ExpectRange(Bench& bench, const Call& call, std::string_view status, uint32_t asked) {
  Link& link = bench.Connect();
  const Message answer = link.Ask(call);
  Bench::ExpectStatus(link, call, answer, status);
  const std::vector<std::byte> reply = link.RpcReply(call, answer);
  const rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (header.mismatch_low > header.mismatch_high || (header.mismatch_low <= asked && asked <= header.mismatch_high))
    Failed(fmt::format("{} with a range of versions without {}", status, asked),
           fmt::format("{} to {}", header.mismatch_low, header.mismatch_high));
  bench.AskNull(link);
}

void ProgUnavail(Bench& bench) { Expect(bench, bench.Make(kNobodysProgram, 1, 0), "PROG_UNAVAIL"); }

void ProgMismatch(Bench& bench) {
  NeedProgram(bench);
  ExpectRange(bench, bench.Make(bench.target().program, kNoVersion, 0), "PROG_MISMATCH", kNoVersion);
}

void ProcUnavail(Bench& bench) {
  NeedProgram(bench);
  Expect(bench, bench.Make(bench.target().program, bench.target().version, kNoProcedure), "PROC_UNAVAIL");
}

void RpcMismatch(Bench& bench) {
  constexpr size_t kRpcVersion = 8;  // its place in a Call
  Call call = bench.Null();
  StoreBe32(call.rpc.data() + kRpcVersion, 3);
  ExpectRange(bench, call, "RPC_MISMATCH", 3);
}

void AuthError(Bench& bench) {
  constexpr size_t kFlavor = 24;  // of the credential
  Call call = bench.Null();
  StoreBe32(call.rpc.data() + kFlavor, 390'099);
  Link& link = bench.Connect();
  const std::string status = Bench::Status(link, call, link.Ask(call));
  if (status == "SUCCESS") Inconclusive("NULL succeeds whatever the credential is, which is allowed");
  if (!status.starts_with("AUTH_ERROR")) Failed("an RPC Reply (AUTH_ERROR)", fmt::format("an RPC Reply ({})", status));
  bench.AskNull(link);
}

void GarbageArgs(Bench& bench) {
  constexpr std::byte kTooLong[] = {std::byte{0x7f}, std::byte{0xff}, std::byte{0xff}, std::byte{0xf0}};
  NeedProgram(bench);
  const Target& target = bench.target();
  if (!target.echo && (target.program != nfs::kNfsProgram || target.version != 3))
    Skipped("what arguments the program's procedures take is not known");
  const Call call = bench.Make(target.program, target.version,
                               target.echo ? uint32_t{rpcrdma::kEchoProcedure} : nfs_client::nfs3::kGetattr, kTooLong);
  Link& link = bench.Connect();
  const Message answer = link.Ask(call);
  if (answer.header.proc == rpcrdma::kError) {
    bench.Advise(fmt::format("GARBAGE_ARGS SHOULD say so; {} came (RFC 8166 section 4.5.2)", Describe(answer)));
    return bench.AskNull(link);
  }
  const std::string status = Bench::Status(link, call, answer);
  if (status == "PROC_UNAVAIL") Inconclusive("the server has no procedure with arguments");
  if (status != "GARBAGE_ARGS") Failed("an RPC Reply (GARBAGE_ARGS)", fmt::format("an RPC Reply ({})", status));
  bench.AskNull(link);
}

// NULLs that end inside their RPC header. An error, silence and the end of the connection are answers to them.
void CutHeader(Bench& bench) {
  constexpr size_t kUnanswered = 4;  // so many credits of a connection are not given back
  const size_t whole = bench.Null().rpc.size();
  Link* link = &bench.Connect();
  std::vector<Call> unanswered;
  bool advised = false;
  const auto judge = [&](const Message& answer) {
    const auto of = std::ranges::find(unanswered, answer.header.xid, [](const Call& c) { return c.header.xid; });
    if (of == unanswered.end()) return;
    if (answer.header.proc == rpcrdma::kError) {
      Bench::ExpectError(*of, answer, rpcrdma::kErrChunk);
    } else if (Bench::Status(*link, *of, answer) == "SUCCESS") {
      Failed("an RPC error, RDMA_ERROR ERR_CHUNK, or nothing", "an RPC Reply (SUCCESS)");
    }
    unanswered.erase(of);
  };
  for (size_t size = 8; size < whole; size += 4) {
    bench.Case(fmt::format("the first {} of {} bytes", size, whole));
    if (!link->open() || unanswered.size() == kUnanswered) link = &bench.Connect(), unanswered.clear();
    Call call = bench.Null();
    call.rpc.resize(size);
    link->Send(call);
    unanswered.push_back(std::move(call));
    const Call behind = bench.Null();
    auto answer = link->TrySend(behind.Encoded()) ? link->Next(bench.options().patience.answer) : std::nullopt;
    for (; answer && answer->header.xid != behind.header.xid; answer = link->Next(bench.options().patience.answer))
      judge(*answer);
    if (answer) {
      bench.ExpectNull(*link, behind, *answer);
    } else if (link->open()) {
      Failed("an answer to the NULL behind it", "nothing");
    } else if (!std::exchange(advised, true)) {
      bench.Advise("the connection ends with an RPC header that is cut off; GARBAGE_ARGS would say why");
    }
  }
  while (const auto late = link->Next(bench.options().patience.quiet)) judge(*late);
}

}  // namespace

std::span<const Probe> RpcProbes() {
  static const Probe probes[] = {
      {"rpc.null", "NULL is answered", "A NULL of the program, inline, without chunks.", "RFC 8166 3.5.1, RFC 8166 4",
       "HDR-011, HDR-012, XID-001", Null},
      {"rpc.prog-unavail", "An unknown program gets PROG_UNAVAIL",
       "NULL of a program that nobody has. The answer is an RPC Reply, not an RDMA_ERROR; the connection goes on.",
       "RFC 5531 9, RFC 8166 4", "HDR-012, XID-001", ProgUnavail},
      {"rpc.prog-mismatch", "An unknown version gets PROG_MISMATCH",
       "NULL of version 77 of the program: PROG_MISMATCH, and a range without it.", "RFC 5531 9, RFC 8166 4",
       "HDR-012, XID-001", ProgMismatch},
      {"rpc.proc-unavail", "An unknown procedure gets PROC_UNAVAIL", "Procedure 9999 of the program.",
       "RFC 5531 9, RFC 8166 4", "HDR-012, XID-001", ProcUnavail},
      {"rpc.rpc-mismatch", "Another version of RPC gets RPC_MISMATCH",
       "NULL with RPC version 3: RPC_MISMATCH, and a range without it.", "RFC 5531 9, RFC 8166 4", "HDR-012, XID-001",
       RpcMismatch},
      {"rpc.auth-error", "An unknown credential gets AUTH_ERROR", "NULL with a credential of an unknown flavor.",
       "RFC 5531 9, RFC 8166 4", "HDR-012, XID-001", AuthError},
      {"rpc.garbage-args", "Arguments that cannot be parsed get GARBAGE_ARGS",
       "A procedure whose argument says that it is longer than the Call.", "RFC 8166 4.5.2, RFC 5531 9", "ERR-013",
       GarbageArgs},
      {"rpc.cut-header", "An RPC header that is cut off harms nobody",
       "NULLs that end at each word of their RPC header: none succeeds, and a NULL after each does.",
       "RFC 8166 4.5.2, RFC 5531 9", "ERR-013", CutHeader},
  };
  return probes;
}

}  // namespace stag::probe
