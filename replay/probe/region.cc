// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of the memory that a client offers, in all the ways in which it may: any handle, any offset, many segments,
// large ones, neighbours (RFC 8166 sections 4.1.1, 3.4.3 and 3.4.6).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replay/probe/exchange.h"

namespace stag::probe {
namespace {

struct Name {
  uint32_t handle = 0;
  uint64_t offset = 0;
};

// Memory of these names, one after the other: of a Long Call, and of the Reply chunk of a long Reply where there is
// one. What had a name is not valid any more when it comes again.
void Named(Bench& bench, std::initializer_list<Name> names) {
  Link& link = bench.Connect();
  for (const Name& name : names) {
    bench.Case(fmt::format("handle 0x{:08x}, a Position Zero Read chunk", name.handle));
    Call call = bench.Null();
    link.NameNext(name.handle, name.offset);
    Offered& read = link.MakeLong(call);
    bench.AskNull(link, call);
    link.Fence(read);
    if (!bench.has_long()) continue;
    bench.Case(fmt::format("handle 0x{:08x}, a Reply chunk", name.handle));
    Call longer = bench.Long(link, kLong);
    link.NameNext(name.handle, name.offset);
    Offered& write = link.Offer({4096, 4096}, endpoint::Access::kRemoteWrite);
    SetReply(longer, write);
    bench.AskLong(link, longer);
    link.Fence(write);
  }
}

constexpr uint64_t kOrdinary = uint64_t{1} << 40;

void HighOffset(Bench& bench) { Named(bench, {{0x11110001, uint64_t{1} << 63}, {0x11110002, UINT64_MAX - 0xffff}}); }
void OddOffset(Bench& bench) { Named(bench, {{0x22220001, kOrdinary + 1}, {0x22220002, kOrdinary + 4093}}); }
void HandleZero(Bench& bench) { Named(bench, {{0, kOrdinary}}); }
void HandleOnes(Bench& bench) { Named(bench, {{UINT32_MAX, kOrdinary}}); }
void SameHandle(Bench& bench) {
  Named(bench, {{0x33330001, kOrdinary}, {0x33330001, kOrdinary}, {0x33330001, kOrdinary}});
}

// ERR_CHUNK is allowed, for a responder may bound what it takes (RFC 8166 section 4.5.3).
bool Bounded(Bench& bench, const Call& call, const Message& answer, std::string_view what) {
  if (answer.header.proc != rpcrdma::kError) return false;
  Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
  bench.Advise(fmt::format("{} gets ERR_CHUNK: the server bounds what it takes", what));
  return true;
}

void ManyReadSegments(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  link.MakeLong(call, std::vector<uint32_t>(call.rpc.size() / 2, 2));
  const Message answer = link.Ask(call, "an RPC Reply, or RDMA_ERROR ERR_CHUNK");
  if (!Bounded(bench, call, answer, fmt::format("a Read chunk of {} segments", call.header.reads.size())))
    bench.ExpectNull(link, call, answer);
}

void ManyReplySegments(Bench& bench) {
  constexpr uint32_t kSegments = 100;
  Link& link = bench.Connect();
  Call call = bench.Long(link, kLong);
  SetReply(call, link.Offer(std::vector<uint32_t>(kSegments, 101), endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call, "an RPC Reply, or RDMA_ERROR ERR_CHUNK");
  if (!Bounded(bench, call, answer, fmt::format("a Reply chunk of {} segments", kSegments)))
    Bench::ExpectLong(link.RpcReply(call, answer), kLong);
}

constexpr uint32_t kLarge = 4 << 20;

void LargeReplyChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.has_long() ? bench.Long(link, kLong) : bench.Null();
  SetReply(call, link.Offer({kLarge}, endpoint::Access::kRemoteWrite));
  if (bench.has_long()) return bench.AskLong(link, call);
  bench.AskNull(link, call);
}

void LargeWriteChunk(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Null();
  AddWrite(call, link.Offer({kLarge / 2, kLarge / 2}, endpoint::Access::kRemoteWrite));
  bench.AskUnused(link, call);
}

// What a chunk offers is more than 32 bits can count. None of it is there, and none of it is needed.
void LengthSum(Bench& bench) {
  for (const bool reply : {false, true}) {
    bench.Case(reply ? "a Reply chunk" : "a Write chunk");
    Link& link = bench.Connect();
    Call call = bench.Null();
    Offered& memory = link.Offer({1024, 1024, 1024}, endpoint::Access::kRemoteWrite);
    reply ? SetReply(call, memory) : AddWrite(call, memory);
    for (size_t i = 1; i < call.header.segments.size(); ++i) call.header.segments[i].length = 0xfffff000;
    const Message answer = link.Ask(call, "an RPC Reply, or RDMA_ERROR ERR_CHUNK");
    if (Bounded(bench, call, answer, "a chunk of more than 4 GiB")) continue;
    bench.ExpectNull(link, call, answer);
  }
}

// Two Calls under way, whose chunks are segments of one registration.
void Shared(Bench& bench) {
  Link& link = bench.Connect();
  std::array<Call, 2> calls = {bench.Null(), bench.Null()};
  const auto size = static_cast<uint32_t>(calls[0].rpc.size());
  std::vector<std::byte> both = calls[0].rpc;
  both.insert(both.end(), calls[1].rpc.begin(), calls[1].rpc.end());
  const Offered& memory = link.Offer({size, size}, endpoint::Access::kRemoteRead, both);
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].header.proc = rpcrdma::kNomsg;
    calls[i].inline_rpc = false;
    calls[i].header.reads = {{0, memory.segment(i)}};
  }
  Exchange(
      bench, link, {.calls = calls.size(), .under_way = calls.size()}, [&](size_t i) { return calls[i]; },
      [&](const Call& call, const Message& answer) { bench.ExpectNull(link, call, answer); });
}

// The segments of a Reply chunk lie in memory in the opposite order. They are filled in the order of the list.
void Reversed(Bench& bench) {
  Link& link = bench.Connect();
  Call call = bench.Long(link, kLong);
  SetReply(call, link.Offer({4096, 1000, 2000}, endpoint::Access::kRemoteWrite));
  std::ranges::reverse(call.header.segments);
  bench.AskLong(link, call);
}

}  // namespace

std::span<const Probe> RegionProbes() {
  static const Probe probes[] = {
      {"region.high-offset", "Offsets use all 64 bits",
       "A Long Call and a Long Reply with memory at the offsets 2^63 and 2^64 - 65536.", "RFC 8166 4.1.1",
       "MEM-001, MEM-002, MEM-003", HighOffset},
      {"region.odd-offset", "Offsets need no alignment",
       "A Long Call and a Long Reply with memory at odd offsets, one just before a page.", "RFC 8166 4.1.1",
       "MEM-001, MEM-002, MEM-003", OddOffset},
      {"region.handle-zero", "Handle 0 is a handle", "A Long Call and a Long Reply with memory whose handle is 0.",
       "RFC 8166 4.1.1", "MEM-001, MEM-002, MEM-003", HandleZero},
      {"region.handle-ones", "Handle 0xffffffff is a handle",
       "A Long Call and a Long Reply with memory whose handle is 0xffffffff.", "RFC 8166 4.1.1",
       "MEM-001, MEM-002, MEM-003", HandleOnes},
      {"region.same-handle", "A handle that comes again names other memory",
       "Three times a Long Call and a Long Reply with the same handle and offset, each time for other memory: what is "
       "read and written is that of the Call.",
       "RFC 8166 4.1.1, RFC 8166 4.4.1", "MEM-002, MEM-003, MEM-004", SameHandle},
      {"region.many-read-segments", "A Read chunk may have many segments",
       "A Long Call in segments of two bytes. ERR_CHUNK is advice, for a server may bound what it takes.",
       "RFC 8166 3.4.3, RFC 8166 4.5.3", "RDLIST-003, MEM-011, MEM-013", ManyReadSegments},
      {"region.many-reply-segments", "A Reply chunk may have many segments",
       "A long Reply into 100 segments of 101 bytes (needs --export, or ECHO). ERR_CHUNK is advice.",
       "RFC 8166 3.4.6, RFC 8166 4.5.3", "REPLY-005, REPLY-010, MEM-011", ManyReplySegments},
      {"region.large-reply-chunk", "A Reply chunk of 4 MiB is no harm",
       "A Reply chunk of 4 MiB for a Reply of some KiB (without --export or ECHO: for NULL).", "RFC 8166 4.3.3",
       "REPLY-004, REPLY-005", LargeReplyChunk,
       "nfs-ganesha without the fix of MUS-055 (docs/museum.md) aborts on a Reply chunk of more than 1 MiB"},
      {"region.large-write-chunk", "A Write chunk of 4 MiB is no harm", "NULL with a Write chunk of 4 MiB, unused.",
       "RFC 8166 4.3.2, RFC 8166 3.4.6", "WRLIST-001, WRLIST-008", LargeWriteChunk},
      {"region.length-sum", "A chunk of more than 4 GiB is no harm",
       "NULL with a Write chunk, and with a Reply chunk, whose lengths add up to more than 2^32. ERR_CHUNK is advice.",
       "RFC 8166 4.1.1, RFC 8166 4.5.3", "WRLIST-008, REPLY-004, MEM-011", LengthSum},
      {"region.shared", "Calls under way may share a registration",
       "Two Long Calls at once, whose Read chunks are two segments of one handle.", "RFC 8166 3.4.3, RFC 8166 4.4.1",
       "MEM-002, MEM-005", Shared},
      {"region.reversed", "Segments are filled in the order of the list",
       "A long Reply into segments whose offsets descend (needs --export, or ECHO).", "RFC 8166 3.4.6",
       "REPLY-005, MEM-003", Reversed},
  };
  return probes;
}

}  // namespace stag::probe
