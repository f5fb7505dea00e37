// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of what a server does with the client's memory: invalid handles, ranges that cannot be, fences, remote
// invalidation (RFC 8166 sections 4.4, 4.5.3 and 8.1; RFC 8797 section 4.1).
#include <fmt/format.h>

#include "replay/probe/exchange.h"

namespace stag::probe {
namespace {

// The server is given memory that it cannot reach: the connection ends, or an RDMA_ERROR comes, but no success.
void ExpectNoSuccess(Bench& bench, Link& link, const Call& call) {
  link.AllowRefusal();
  link.Send(call);
  const auto answer = link.Next(bench.options().patience.answer);
  constexpr std::string_view kExpected = "the end of the connection, or RDMA_ERROR ERR_CHUNK";
  if (!answer && link.open()) Failed(std::string(kExpected), "nothing, and the connection stays");
  if (!answer) return;
  if (answer->header.proc != rpcrdma::kError) Failed(std::string(kExpected), Describe(*answer));
  Bench::ExpectError(call, *answer, rpcrdma::kErrChunk);
}

// A Long NULL whose chunk is `segment`, changed by `change`.
template <typename Change>
void LongNullWith(Bench& bench, Change change) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  Call call = bench.Null();
  link.MakeLong(call);
  change(link, call.header.reads.front().target);
  ExpectNoSuccess(bench, link, call);
}

// The handle of memory that was offered once and is not any more.
uint32_t StaleHandle(Link& link) {
  Offered& memory = link.Offer({8192}, endpoint::Access::kRemoteWrite);
  const uint32_t handle = memory.region.handle;
  link.Fence(memory);
  return handle;
}

void StaleRead(Bench& bench) {
  LongNullWith(bench, [](Link& link, rpcrdma::Segment& segment) { segment.handle = StaleHandle(link); });
}

void StaleWrite(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Long(link, kLong);
  SetReply(call, link.Offer({8192}, endpoint::Access::kRemoteWrite));
  call.header.segments.back().handle = StaleHandle(link);
  ExpectNoSuccess(bench, link, call);
}

void ReadBeyond(Bench& bench) {
  LongNullWith(bench, [](Link&, rpcrdma::Segment& segment) { segment.length += 1 << 16; });
}

void Wrap(Bench& bench) {
  LongNullWith(bench, [](Link&, rpcrdma::Segment& segment) { segment.offset = UINT64_MAX - 7; });
}

void Huge(Bench& bench) {
  LongNullWith(bench, [](Link&, rpcrdma::Segment& segment) { segment.length = UINT32_MAX - 3; });
}

// Memory that a Call offers is fenced as soon as its answer is there; nothing may touch it then.
void Fences(Bench& bench) {
  Link& link = bench.Connect();
  for (int i = 0; i < 4; ++i) {
    Call call = bench.Null();
    link.MakeLong(call);
    Offered& write = link.Offer({128}, endpoint::Access::kRemoteWrite);
    Offered& reply = link.Offer({512}, endpoint::Access::kRemoteWrite);
    AddWrite(call, write);
    SetReply(call, reply);
    bench.AskNull(link, call);
    link.Fence(write);
    link.Fence(reply);
  }
  link.ExpectQuiet("nothing after the answers");
}

// Two Calls under way, each with memory of its own: an answer invalidates a handle of its Call, or none.
void Invalidation(Bench& bench) {
  if (!bench.transport().remote_invalidation())
    Skipped("handles of this side cannot be invalidated by the peer on this transport");
  Link& link = bench.Connect({.remote_invalidation = true});
  bench.AskNull(link);
  Call calls[2] = {bench.Null(), bench.Null()};
  for (Call& call : calls) {
    link.MakeLong(call);
    AddWrite(call, link.Offer({64}, endpoint::Access::kRemoteWrite));
  }
  const auto judge = [&](const Call& call, const Message& answer) {
    bench.ExpectNull(link, call, answer);
    if (!answer.invalidated) return;
    const uint32_t handle = *answer.invalidated;
    if (handle != call.header.reads.front().target.handle && handle != call.header.segments.front().handle)
      Failed("a Send with Invalidate of a handle of its own Call",
             fmt::format("one of handle 0x{:08x}, which is none", handle));
  };
  Exchange(
      bench, link, {.calls = 2, .under_way = 2}, [&](size_t i) { return calls[i]; }, judge);
  bench.AskNull(link);
}

void NoInvalidation(Bench& bench) {
  Link& link = bench.Connect({.remote_invalidation = false});
  for (int i = 0; i < 2; ++i) {
    Call call = bench.Null();
    if (i == 0)
      link.MakeLong(call);
    else
      AddWrite(call, link.Offer({64}, endpoint::Access::kRemoteWrite));
    const Message answer = link.Ask(call, "a plain Send, for the R flag is clear");
    if (answer.invalidated) Failed("a plain Send, for the R flag is clear", "a Send with Invalidate");
    bench.ExpectNull(link, call, answer);
  }
}

}  // namespace

std::span<const Probe> MemoryProbes() {
  static const Probe probes[] = {
      {"memory.stale-read", "A Read chunk with an invalid handle harms only its connection",
       "A Long Call whose handle is not valid any more: the connection ends, or ERR_CHUNK comes; the server lives on.",
       "RFC 8166 4.5.3", "MEM-002, ERR-014", StaleRead},
      {"memory.stale-write", "A Reply chunk with an invalid handle harms only its connection",
       "A long Reply whose Reply chunk has an invalid handle (needs --export, or ECHO).", "RFC 8166 4.5.3",
       "MEM-003, ERR-014", StaleWrite},
      {"memory.read-beyond", "A Read chunk beyond the registered memory harms only its connection",
       "A Long Call whose segment is 65536 bytes longer than the memory.", "RFC 8166 4.5.3", "MEM-002, ERR-014",
       ReadBeyond},
      {"memory.wrap", "A segment that wraps around is refused", "A Long Call whose segment begins 8 bytes before 2^64.",
       "RFC 8166 4.5.3, RFC 8166 4.5", "MEM-006, ERR-014", Wrap},
      {"memory.huge", "A Call of 4 GiB does not exhaust the server", "A Long Call whose segment has 4294967292 bytes.",
       "RFC 8166 8.1, RFC 8166 4.5.3", "MEM-011, ERR-014", Huge},
      {"memory.fence", "Memory is left alone after the answer",
       "Long Calls with Write chunk and Reply chunk, whose handles become invalid with each answer. The connection "
       "must not break by a late RDMA operation.",
       "RFC 8166 4.4.1, RFC 8166 3.4.6", "MEM-004, WRLIST-017", Fences},
      {"memory.invalidate", "Send with Invalidate names a handle of its own Call",
       "Two Long Calls at once with R set. Where the server uses Send with Invalidate, it invalidates a handle of the "
       "Call that it answers.",
       "RFC 8797 4.1", "PVT-005, PVT-007", Invalidation},
      {"memory.no-invalidate", "Without R there is no Send with Invalidate",
       "A Long Call and a Call with a Write chunk, with R clear.", "RFC 8797 4.1", "PVT-006", NoInvalidation},
  };
  return probes;
}

}  // namespace stag::probe
