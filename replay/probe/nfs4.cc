// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of NFSv4.1 and 4.2 with chunks of all shapes (RFC 8267 section 6; RFC 8166 sections 3.4 and 4.3), every byte
// verified: several READs and WRITEs in a COMPOUND, and what else has a DDP-eligible item, or has none.
#include <fmt/format.h>

#include <algorithm>

#include "replay/probe/nfs4_file.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::probe {
namespace {

using Sizes = std::vector<uint32_t>;

constexpr uint32_t kContent = Nfs4File::kContent;
constexpr uint64_t kBehind = 4 * kContent;  // where WRITEs go

uint32_t Total(const Sizes& sizes) {
  uint32_t sum = 0;
  for (const uint32_t size : sizes) sum += size;
  return sum;
}

struct Range {
  uint64_t offset = 0;
  uint32_t count = 0;
};

Data Expected(const Range& range) {
  const Data all = Pattern(kContent);
  const auto from = static_cast<size_t>(std::min<uint64_t>(range.offset, kContent));
  const size_t n = std::min<size_t>(range.count, kContent - from);
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(from + n)};
}

// Whether ERR_CHUNK answers a Call with several chunks in a list: RFC 8267 lets a server of NFSv4 bound them, so that
// is advice. The slot is in disorder then, for the Call took its sequence number.
bool RefusedSeveral(Bench& bench, const Call& call, const Message& answer) {
  if (answer.header.proc != rpcrdma::kError) return false;
  Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
  bench.Advise("several chunks in a list get ERR_CHUNK, which RFC 8267 leaves to the server");
  return true;
}

// READs in a COMPOUND, and its Write list, one chunk for each READ in order; an empty one, or none, is for data inline.
// False: the server refuses so many chunks.
bool ReadsOf(Nfs4File& file, const std::vector<Range>& ranges, const std::vector<Sizes>& chunks,
             uint32_t reply_chunk = 0) {
  Bench& bench = file.client().bench();
  Link& link = file.link();
  Call call = file.Make([&](nfs_client::nfs4::Compound& c) {
    for (const Range& range : ranges) c.Read(file.state(), range.offset, range.count);
  });
  for (const Sizes& sizes : chunks) {
    if (sizes.empty())
      call.header.write_chunks.push_back({static_cast<uint32_t>(call.header.segments.size()), 0});
    else
      AddWrite(call, link.Offer(sizes, endpoint::Access::kRemoteWrite));
  }
  if (reply_chunk > 0) SetReply(call, link.Offer({reply_chunk}, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  const bool has_empty = std::ranges::any_of(chunks, [](const Sizes& sizes) { return sizes.empty(); });
  if (has_empty && bench.RefusedEmpty(call, answer)) return false;
  if (chunks.size() > 1 && RefusedSeveral(bench, call, answer)) return false;
  const Compounded came = Nfs4::Take(link, call, answer);
  Nfs4::Expect(came, nfs::kNfs4Ok, "READ");
  nfs_client::nfs4::CompoundResults results = Nfs4File::Behind(came);
  for (size_t i = 0; i < std::max(ranges.size(), chunks.size()); ++i) {
    Data chunk;
    if (i < chunks.size()) chunk = link.Collect(call, answer, i);
    if (i >= ranges.size()) {
      if (!chunk.empty()) Failed("an unused Write chunk, for there is no such READ", "one with data");
      continue;
    }
    const Data expected = Expected(ranges[i]);
    const bool by_chunk = i < chunks.size() && !chunks[i].empty() && !expected.empty();
    if (by_chunk && chunk.size() != expected.size())
      Failed(fmt::format("a Write chunk with the {} bytes of READ {}", expected.size(), i + 1),
             fmt::format("{} bytes", chunk.size()));
    if (!by_chunk && !chunk.empty()) Failed(fmt::format("an unused Write chunk for READ {}", i + 1), "one with data");
    const Bytes views[] = {chunk};
    Bytes data;
    bool eof = false;
    if (!results.Read(by_chunk ? std::span<const Bytes>(views) : std::span<const Bytes>{}, data, eof))
      Failed(fmt::format("results of READ {}", i + 1), "others");
    ExpectSame(data, expected, "bytes of the file");
  }
  return true;
}

struct ReadCase {
  std::vector<Range> ranges;
  std::vector<Sizes> chunks;
  uint32_t reply_chunk = 0;
};

void ReadCases(Bench& bench, std::initializer_list<ReadCase> cases) {
  Nfs4File file(bench);
  size_t number = 0;
  for (const ReadCase& each : cases) {
    bench.Case(fmt::format("COMPOUND {} of {}", ++number, cases.size()));
    if (!ReadsOf(file, each.ranges, each.chunks, each.reply_chunk)) return;
  }
}

void ReadChunk(Bench& bench) {
  ReadCases(bench, {{{{0, 4096}}, {{4096}}}, {{{4096, 8192}}, {{8192}}}, {{{8, 100}}, {{4096}}}});
}
void ReadInline4(Bench& bench) { ReadCases(bench, {{{{0, 1}}, {}}, {{{5, 1000}}, {}}, {{{100, 2001}}, {}}}); }
void ReadOdd4(Bench& bench) {
  ReadCases(bench, {{{{0, 1}}, {{1}}}, {{{7, 3333}}, {{3333}}}, {{{1, 4097}}, {{4096, 1}}}, {{{2, 5}}, {{8}}}});
}
void ReadSegments(Bench& bench) {
  ReadCases(bench,
            {{{{0, 6000}}, {{1, 2, 3, 5994}}}, {{{0, 9000}}, {{3000, 3000, 3000}}}, {{{9, 500}}, {{100, 4000}}}});
}
void ReadReplyChunk(Bench& bench) { ReadCases(bench, {{{{0, 8000}}, {}, 16384}, {{{1, 6001}}, {}, 16384}}); }
void ReadBoth(Bench& bench) { ReadCases(bench, {{{{0, 8000}}, {{8000}}, 16384}, {{{1, 3}}, {{4}}, 16384}}); }
void ReadEnd(Bench& bench) {
  ReadCases(bench,
            {{{{kContent - 10, 4096}}, {{4096}}}, {{{kContent, 100}}, {{100}}}, {{{1u << 30, 100}}, {{50, 50}}}});
}
void ReadsEach(Bench& bench) {
  ReadCases(bench, {{{{0, 1000}, {5000, 2001}}, {{1000}, {2001}}},
                    {{{0, 4096}, {8192, 3}, {100, 4000}}, {{4096}, {1, 2}, {2000, 2000}}}});
}
void ReadsFewer(Bench& bench) {
  ReadCases(bench, {{{{0, 4096}, {5000, 1000}}, {{4096}}}, {{{0, 500}, {500, 501}, {3000, 700}}, {{500}, {501}}}});
}
void ReadsEmptyBetween(Bench& bench) {
  ReadCases(bench, {{{{0, 4096}, {5000, 1000}, {9000, 3000}}, {{4096}, {}, {3000}}},
                    {{{7, 100}, {5000, 2000}}, {{}, {2000}}}});
}
void ReadsMore(Bench& bench) {
  ReadCases(bench, {{{{0, 4096}}, {{4096}, {1000}}}, {{{0, 100}, {100, 200}}, {{100}, {200}, {50, 50}, {8}}}});
}
// A READ without data keeps its chunk: the next READ has the next one.
void ReadsEndBetween(Bench& bench) {
  ReadCases(bench, {{{{0, 1000}, {1u << 30, 1000}, {2000, 1000}}, {{1000}, {1000}, {1000}}}});
}

// The second READ fails, for there is no such stateid; its chunk is not used, and that of the first is.
void ReadFails(Bench& bench) {
  Nfs4File file(bench);
  Link& link = file.link();
  nfs_client::nfs4::StateId wrong;
  wrong.fill(std::byte{0x77});
  Call call = file.Make(
      [&](nfs_client::nfs4::Compound& c) { c.Read(file.state(), 0, 1000).PutHandle(Data(4)).Read(wrong, 0, 1000); });
  for (int i = 0; i < 2; ++i) AddWrite(call, link.Offer({1000}, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  if (RefusedSeveral(bench, call, answer)) return;
  const Compounded came = Nfs4::Take(link, call, answer);
  if (came.status == nfs::kNfs4Ok) Failed("a COMPOUND that fails at its second PUTFH or READ", "NFS4_OK");
  ExpectSame(link.Collect(call, answer, 0), Expected({0, 1000}), "bytes of the file");
  if (!link.Collect(call, answer, 1).empty()) Failed("an unused Write chunk for the READ that failed", "one with data");
}

// A READ that is answered from the slot's cache, with a Write chunk of its own each time.
void ReadAgain(Bench& bench) {
  constexpr uint32_t kCount = 1001;
  Nfs4File file(bench);
  const Call first = file.Make([&](nfs_client::nfs4::Compound& c) { c.Read(file.state(), 3, kCount); }, true);
  for (int i = 0; i < 3; ++i) {
    bench.Case(fmt::format("time {}", i + 1));
    if (i == 2) file.client().Reconnect();
    Link& link = file.link();
    Call call = first;
    AddWrite(call, link.Offer({1, 500, 501 + 3}, endpoint::Access::kRemoteWrite));
    const Message answer = link.Ask(call);
    const Compounded came = Nfs4::Take(link, call, answer);
    if (i > 0 && (came.status == kErrUncached || came.status == kErrRepTooBigToCache)) continue;
    Nfs4::Expect(came, nfs::kNfs4Ok, "READ");
    ExpectSame(link.Collect(call, answer, 0), Expected({3, kCount}), "bytes of the file");
  }
}

// A WRITE of the file's tail, and how its Read chunk is cut.
struct Written {
  uint64_t offset = 0;
  uint32_t count = 0;
  Sizes chunk = {};  // its segments; they may have padding
};

Data DataOf(const Written& written) {
  Data data = Pattern(written.count);
  for (std::byte& byte : data) byte ^= static_cast<std::byte>(written.offset >> 4);
  return data;
}

// A COMPOUND of WRITEs, all of them reduced, with the Positions of their chunks.
struct Reduced {
  Call call;
  std::vector<uint32_t> positions;
};
Reduced WritesOf(
    Nfs4File& file, const std::vector<Written>& all, const Nfs4::Add& behind = [](nfs_client::nfs4::Compound&) {}) {
  Reduced reduced;
  uint64_t moved = 0;
  reduced.call = file.Make([&](nfs_client::nfs4::Compound& c) {
    for (const Written& each : all) {
      file.PutWrite(c, each.offset, each.count);
      reduced.positions.push_back(static_cast<uint32_t>(c.size() + moved));
      moved += RoundUp4(each.count);
    }
    behind(c);
  });
  return reduced;
}

void ExpectAll(Nfs4File& file, const std::vector<Written>& all) {
  for (const Written& each : all) file.ExpectBytes(each.offset, DataOf(each));
}

// Adds the Read chunks, in order.
void AddChunks(Nfs4File& file, Reduced& reduced, const std::vector<Written>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    Data chunk = DataOf(all[i]);
    chunk.resize(Total(all[i].chunk));
    AddRead(reduced.call, reduced.positions[i], file.link().Offer(all[i].chunk, endpoint::Access::kRemoteRead, chunk));
  }
}

// False: the server refuses so many chunks.
bool WritesInOrder(Nfs4File& file, const std::vector<Written>& all) {
  Reduced reduced = WritesOf(file, all);
  AddChunks(file, reduced, all);
  const Message answer = file.link().Ask(reduced.call);
  if (all.size() > 1 && RefusedSeveral(file.client().bench(), reduced.call, answer)) return false;
  Nfs4::Expect(Nfs4::Take(file.link(), reduced.call, answer), nfs::kNfs4Ok, "WRITE");
  ExpectAll(file, all);
  return true;
}

void WriteCases(Bench& bench, std::initializer_list<std::vector<Written>> cases) {
  Nfs4File file(bench);
  size_t number = 0;
  for (const std::vector<Written>& each : cases) {
    bench.Case(fmt::format("COMPOUND {} of {}", ++number, cases.size()));
    if (!WritesInOrder(file, each)) return;
  }
}

void WriteChunk4(Bench& bench) {
  WriteCases(bench, {{{kBehind, 4096, {4096}}}, {{kBehind + 100, 6000, {2000, 1, 3999}}}});
}
void WriteOdd4(Bench& bench) {
  WriteCases(bench, {{{kBehind, 1, {1}}}, {{kBehind, 4097, {4096, 1}}}, {{kBehind + 3, 1023, {1000, 23}}}});
}
void WritePadded4(Bench& bench) { WriteCases(bench, {{{kBehind, 5, {8}}}, {{kBehind, 1021, {1021, 3}}}}); }
void WritesAscending(Bench& bench) {
  WriteCases(bench, {{{kBehind, 1000, {1000}}, {kBehind + 8192, 3001, {3001}}},
                     {{kBehind, 7, {7}}, {kBehind + 64, 4096, {96, 4000}}, {kBehind + 8192, 9, {4, 5}}}});
}

// What a responder may refuse, for a list is to be in ascending order, or do right; but nothing else.
void RefusedOrRight(Nfs4File& file, Reduced& reduced, const std::vector<Written>& all, std::string_view what) {
  Bench& bench = file.client().bench();
  Link& link = file.link();
  const Message answer = link.Ask(reduced.call, "an RPC Reply, or RDMA_ERROR ERR_CHUNK");
  if (answer.header.proc == rpcrdma::kError) {
    Bench::ExpectError(reduced.call, answer, rpcrdma::kErrChunk);
    return bench.Advise(fmt::format("{} get ERR_CHUNK", what));
  }
  Nfs4::Expect(Nfs4::Take(link, reduced.call, answer), nfs::kNfs4Ok, what);
  ExpectAll(file, all);
}

void WritesDescending(Bench& bench) {
  Nfs4File file(bench);
  const std::vector<Written> all = {{kBehind, 1000, {1000}}, {kBehind + 8192, 3001, {3001}}};
  Reduced reduced = WritesOf(file, all);
  for (size_t i = all.size(); i-- > 0;)
    AddRead(reduced.call, reduced.positions[i],
            file.link().Offer(all[i].chunk, endpoint::Access::kRemoteRead, DataOf(all[i])));
  RefusedOrRight(file, reduced, all, "Read chunks at descending Positions");
}

// The segments of a chunk, which have the same Position, with another chunk between them.
void WritesEqual(Bench& bench) {
  Nfs4File file(bench);
  const std::vector<Written> all = {{kBehind, 1000, {600, 400}}, {kBehind + 8192, 500, {500}}};
  Reduced reduced = WritesOf(file, all);
  const Offered& first = file.link().Offer(all[0].chunk, endpoint::Access::kRemoteRead, DataOf(all[0]));
  const Offered& second = file.link().Offer(all[1].chunk, endpoint::Access::kRemoteRead, DataOf(all[1]));
  reduced.call.header.reads = {{reduced.positions[0], first.segment(0)},
                               {reduced.positions[1], second.segment(0)},
                               {reduced.positions[0], first.segment(1)}};
  RefusedOrRight(file, reduced, all, "segments of one Position with another between them");
}

// Positions that contradict each other, or the stream: nothing is executed.
void WrongPositions(Bench& bench, uint32_t (*spoil)(const std::vector<uint32_t>& positions)) {
  Nfs4File file(bench);
  Link& link = file.link();
  const std::vector<Written> all = {{kBehind, 1000, {1000}}, {kBehind + 8192, 500, {500}}};
  Reduced reduced = WritesOf(file, all);
  reduced.positions[1] = spoil(reduced.positions);
  AddChunks(file, reduced, all);
  const Message answer = link.Ask(reduced.call, "RDMA_ERROR ERR_CHUNK, or an RPC error");
  if (answer.header.proc == rpcrdma::kError) {
    Bench::ExpectError(reduced.call, answer, rpcrdma::kErrChunk);
  } else if (Bench::Status(link, reduced.call, answer) == "SUCCESS" &&
             Nfs4::Take(link, reduced.call, answer).status == nfs::kNfs4Ok) {
    Failed("RDMA_ERROR ERR_CHUNK, or an error, for Read chunks whose Positions cannot be", "NFS4_OK");
  }
  bench.ExpectMore(link);
}
void WritesOverlapping(Bench& bench) {
  WrongPositions(bench, [](const std::vector<uint32_t>& positions) { return positions[0] + 400; });
}
void WritesWrapping(Bench& bench) {
  WrongPositions(bench, [](const std::vector<uint32_t>&) { return 0xffffff00; });
}

void WriteLong4(Bench& bench) {
  Nfs4File file(bench);
  for (const uint32_t count : {5000u, 5u}) {
    const Written written{kBehind, count};
    Call call = file.Write(written.offset, count);
    Writer out(call.rpc);
    out.Put(DataOf(written));
    out.Zeros(static_cast<size_t>(RoundUp4(count) - count));
    file.link().MakeLong(call, {20, static_cast<uint32_t>(call.rpc.size()) - 20});
    Nfs4::Expect(file.client().Ask(call), nfs::kNfs4Ok, "WRITE");
    ExpectAll(file, {written});
  }
}

// Operations behind the Read chunk, inline: they are found and executed.
void WriteThenMore(Bench& bench) {
  Nfs4File file(bench);
  for (const uint32_t count : {4096u, 4093u}) {
    const std::vector<Written> all = {{kBehind, count, {count}}};
    Reduced reduced =
        WritesOf(file, all, [&](nfs_client::nfs4::Compound& c) { c.GetAttributes().Read(file.state(), kBehind, 8); });
    AddChunks(file, reduced, all);
    const Compounded came = file.client().Ask(reduced.call);
    Nfs4::Expect(came, nfs::kNfs4Ok, "WRITE, GETATTR and READ");
    nfs_client::nfs4::CompoundResults results = Nfs4File::Behind(came);
    uint32_t written = 0, type = 0;
    uint64_t verifier = 0, size = 0;
    Bytes data;
    bool eof = false;
    if (!results.Write(written, verifier) || !results.GetAttributes(type, size) || !results.Read({}, data, eof))
      Failed("results of WRITE, GETATTR and READ", "others");
    if (written != count) Failed(fmt::format("{} bytes written", count), fmt::format("{}", written));
    ExpectSame(data, Bytes(DataOf(all[0])).first(8), "bytes of the file");
  }
}

// A WRITE that is sent again, while its memory has other bytes by now: it is not executed again.
void WriteAgain4(Bench& bench) {
  Nfs4File file(bench);
  const Written written{kBehind, 2000};
  const auto position = [](const Call& call) { return static_cast<uint32_t>(call.rpc.size()); };
  const Call first = file.Write(written.offset, written.count, true);
  for (const bool again : {false, true}) {
    Call call = first;
    const Data data = again ? Data(written.count, std::byte{0x99}) : DataOf(written);
    AddRead(call, position(first), file.link().Offer({1200, 800}, endpoint::Access::kRemoteRead, data));
    const Compounded came = file.client().Ask(call);
    if (again && came.status == kErrFalseRetry) break;  // the bytes are not those of the first time
    Nfs4::Expect(came, nfs::kNfs4Ok, again ? "a WRITE that is sent again" : "WRITE");
  }
  ExpectAll(file, {written});
}

void ReadLink(Bench& bench) {
  constexpr uint32_t kLink = 5, kMode = 1u << 1;
  const std::string text(301, 't');
  Nfs4File file(bench);
  Nfs4& client = file.client();
  const auto make = [&](const Nfs4::Add& add) {
    return client.Make([&](nfs_client::nfs4::Compound& c) { add(file.PutDirectory(c)); });
  };
  Nfs4::Expect(client.Ask(make([&](nfs_client::nfs4::Compound& c) {
    Writer& out = c.Operation(nfs::kOpCreate);
    out.U32(kLink);
    rpcrdma::PutString(out, text);
    rpcrdma::PutString(out, file.name() + ".link");
    for (const uint32_t word : {2u, 0u, kMode, 4u, 0777u}) out.U32(word);
  })),
               nfs::kNfs4Ok, "CREATE of a symbolic link");
  Call call = make([&](nfs_client::nfs4::Compound& c) { c.Lookup(file.name() + ".link").Operation(nfs::kOpReadlink); });
  AddWrite(call, file.link().Offer({200, 200}, endpoint::Access::kRemoteWrite));
  const Message answer = file.link().Ask(call);
  Nfs4::Expect(Nfs4::Take(file.link(), call, answer), nfs::kNfs4Ok, "READLINK");
  const Data chunk = file.link().Collect(call, answer, 0);
  ExpectSame(chunk, std::as_bytes(std::span(text)), "bytes of the link");
}

// READDIR has nothing that is eligible: with a Write chunk and a Reply chunk, the entries are in the latter, or inline.
void ReadDirectory4(Bench& bench) {
  Nfs4File file(bench);
  Call call = file.client().Make([&](nfs_client::nfs4::Compound& c) {
    Writer& out = file.PutDirectory(c).Operation(nfs::kOpReaddir);
    for (const uint32_t word : {0u, 0u, 0u, 0u, 8192u, 8192u, 1u, (1u << 1) | (1u << 3) | (1u << 4)}) out.U32(word);
  });
  AddWrite(call, file.link().Offer({8192}, endpoint::Access::kRemoteWrite));
  SetReply(call, file.link().Offer({4000, 28000}, endpoint::Access::kRemoteWrite));
  const Message answer = file.link().Ask(call);
  const Compounded came = Nfs4::Take(file.link(), call, answer);
  Nfs4::Expect(came, nfs::kNfs4Ok, "READDIR");
  if (!file.link().Collect(call, answer, 0).empty())
    Failed("an unused Write chunk, for READDIR has nothing that is DDP-eligible", "one with data");
  const std::string_view all(reinterpret_cast<const char*>(came.bytes.data()), came.bytes.size());
  if (all.find(file.name()) == std::string_view::npos) Failed("the name of the file", "a directory without it");
}

// Skips the probe when the server does not have the operation of NFSv4.2.
void NeedOperation(const Compounded& came, std::string_view name) {
  if (came.status == kErrNotSupported || came.status == kErrOpIllegal || came.status == kErrMinorVersion)
    Skipped(fmt::format("the server has no {}: {}", name, Nfs4StatusText(came.status)));
}

// READ_PLUS has nothing that is eligible, as READDIR.
void ReadPlus(Bench& bench) {
  constexpr uint32_t kCount = 6000;
  Nfs4File file(bench);
  Call call = file.Make([&](nfs_client::nfs4::Compound& c) {
    Writer& out = c.Operation(nfs::kOpReadPlus);
    out.Put(file.state());
    out.U64(0);
    out.U32(kCount);
  });
  file.client().SetMinorVersion(call, 2);
  AddWrite(call, file.link().Offer({kCount}, endpoint::Access::kRemoteWrite));
  SetReply(call, file.link().Offer({16384}, endpoint::Access::kRemoteWrite));
  const Message answer = file.link().Ask(call);
  const Compounded came = Nfs4::Take(file.link(), call, answer);
  NeedOperation(came, "READ_PLUS");
  Nfs4::Expect(came, nfs::kNfs4Ok, "READ_PLUS");
  if (!file.link().Collect(call, answer, 0).empty())
    Failed("an unused Write chunk, for READ_PLUS has nothing that is DDP-eligible", "one with data");
  const Data expected = Expected({0, kCount});
  if (std::search(came.bytes.begin(), came.bytes.end(), expected.begin(), expected.end()) == came.bytes.end())
    Failed("the bytes of the file, in the Reply", "others");
}

// COPY to another place of the file, which is done when it is answered.
void Copy4(Bench& bench) {
  constexpr uint64_t kCount = 3000;
  Nfs4File file(bench);
  Call call = file.Make([&](nfs_client::nfs4::Compound& c) {
    c.Operation(nfs::kOpSavefh);
    Writer& out = c.Operation(nfs::kOpCopy);
    out.Put(file.state());
    out.Put(file.state());
    for (const uint64_t word : {uint64_t{100}, kBehind, kCount}) out.U64(word);
    for (const uint32_t word : {1u, 1u, 0u}) out.U32(word);  // consecutive, synchronous, of this server
  });
  file.client().SetMinorVersion(call, 2);
  const Compounded came = file.client().Ask(call);
  NeedOperation(came, "COPY");
  Nfs4::Expect(came, nfs::kNfs4Ok, "COPY");
  constexpr size_t kThree = 3 * 8;  // PUTFH, SAVEFH and the status of COPY
  const Bytes behind = came.behind_sequence();
  if (behind.size() >= kThree + 4 && LoadBe32(behind.data() + kThree) != 0)
    Inconclusive(
        "the server copies asynchronously, although synchronously was asked for; its CB_OFFLOAD is not awaited");
  file.ExpectBytes(kBehind, Expected({100, kCount}));
}

constexpr std::string_view kPairing = "RFC 8267 6.2, RFC 8166 4.3.2, RFC 8166 3.4.6";

}  // namespace

std::span<const Probe> Nfs4Probes() {
  static const Probe probes[] = {
      {"nfs4.read", "READ puts its data into the Write chunk",
       "READs in COMPOUNDs, with a Write chunk of one segment (needs --nfs4-export, as all of nfs4).", kPairing,
       "WRLIST-005, WRLIST-006, WRLIST-010", ReadChunk},
      {"nfs4.read-inline", "READ without a Write chunk brings its data inline", "READs of 1 to 2001 bytes.",
       "RFC 8166 4.3.2, RFC 8166 3.5.1", "WRLIST-020", ReadInline4},
      {"nfs4.read-odd", "READ of odd lengths writes no padding",
       "READs of 1 to 4097 bytes: nothing is written behind the last byte.", "RFC 8166 3.4.6",
       "WRLIST-006, WRLIST-007, PAD-001", ReadOdd4},
      {"nfs4.read-segments", "READ fills a Write chunk of several segments in order",
       "READs with Write chunks of two to four segments.", kPairing, "WRLIST-005, WRLIST-006", ReadSegments},
      {"nfs4.read-reply-chunk", "READ with a Reply chunk alone is a Long Reply",
       "READs whose data fit no Send, with a Reply chunk and no Write chunk.", "RFC 8166 3.5.3, RFC 8166 4.3.3",
       "REPLY-007, REPLY-010, REPLY-011", ReadReplyChunk},
      {"nfs4.read-both-chunks", "READ with a Write chunk and a Reply chunk",
       "READs with both: the data are in the former.", "RFC 8166 3.5.3, RFC 8166 4.3.2", "REPLY-009, WRLIST-010",
       ReadBoth},
      {"nfs4.read-end", "READ at the end of the file uses as much as there is",
       "READs over the end of the file, at it, and far beyond.", "RFC 8166 4.3.2", "WRLIST-006, WRLIST-008, WRLIST-009",
       ReadEnd},
      {"nfs4.read-fails", "The Write chunk of a READ that fails comes back unused",
       "A COMPOUND of two READs, the second of which fails, with two Write chunks.", kPairing,
       "WRLIST-008, WRLIST-009, ULB-005", ReadFails},
      {"nfs4.read-again", "A READ that is sent again puts its data into its own memory",
       "A SEQUENCE with sa_cachethis and a READ, sent again on the same connection and on another, each time with "
       "another Write chunk.",
       "RFC 8881 2.10.6.1.3, RFC 8166 4.5.5", "MEM-003, WRLIST-006", ReadAgain},
      {"nfs4.reads", "Each READ of a COMPOUND has its Write chunk",
       "COMPOUNDs of two and three READs with as many Write chunks. That a server refuses more than one chunk in a "
       "list is advice, here and in the next ones.",
       kPairing, "WRLIST-012, WRLIST-021, ULB-005", ReadsEach},
      {"nfs4.reads-fewer-chunks", "READs beyond the Write list bring their data inline",
       "COMPOUNDs of two and three READs with one Write chunk less.", kPairing, "WRLIST-012, ULB-005", ReadsFewer},
      {"nfs4.reads-empty-between", "An empty Write chunk keeps the data of its READ inline",
       "COMPOUNDs of three and two READs, whose second or first Write chunk is empty. ERR_CHUNK is advice.", kPairing,
       "WRLIST-011, WRLIST-012, ULB-005", ReadsEmptyBetween},
      {"nfs4.reads-more-chunks", "Write chunks without a READ come back unused",
       "COMPOUNDs of one and two READs with more Write chunks.", kPairing, "WRLIST-001, WRLIST-008, ULB-005",
       ReadsMore},
      {"nfs4.reads-end-between", "A READ without data keeps its Write chunk",
       "A COMPOUND of three READs with three Write chunks, the second beyond the end of the file.", kPairing,
       "WRLIST-008, WRLIST-012, ULB-005", ReadsEndBetween},
      {"nfs4.write", "WRITE takes its data from a Read chunk", "WRITEs in COMPOUNDs; then the file is read.",
       "RFC 8166 3.4.5, RFC 8267 6.1", "RDLIST-003, RDLIST-007, DDP-003", WriteChunk4},
      {"nfs4.write-odd", "WRITE of odd lengths without padding", "WRITEs of 1, 1023 and 4097 bytes.",
       "RFC 8166 3.4.5, RFC 8166 3.4.4", "PAD-004, PAD-005", WriteOdd4},
      {"nfs4.write-padded", "WRITE with padding in the Read chunk",
       "WRITEs of 5 and 1021 bytes: padding is not written.", "RFC 8166 3.4.5", "PAD-003, PAD-007", WritePadded4},
      {"nfs4.write-long", "WRITE as a Long Call", "WRITEs by a Position Zero Read chunk that has the data, too.",
       "RFC 8166 3.5.3, RFC 8166 4.3.1", "LONG-003, LONG-005", WriteLong4},
      {"nfs4.write-then-more", "Operations behind a Read chunk are executed",
       "WRITE with a Read chunk, and GETATTR and READ behind it.", "RFC 8166 3.4.5, RFC 8267 6.1",
       "RDLIST-004, RDLIST-005", WriteThenMore},
      {"nfs4.write-again", "A WRITE that is sent again is not executed again",
       "A SEQUENCE with sa_cachethis and a WRITE, sent again while its memory has other bytes: the file has the first, "
       "and NFS4_OK or NFS4ERR_SEQ_FALSE_RETRY comes.",
       "RFC 8881 2.10.6.1.3, RFC 8166 4.5.5", "RDLIST-007", WriteAgain4},
      {"nfs4.writes", "Each WRITE of a COMPOUND has its Read chunk",
       "COMPOUNDs of two and three WRITEs with as many Read chunks, at ascending Positions. That a server refuses more "
       "than one is advice.",
       "RFC 8166 3.4.5, RFC 8267 6.1", "RDLIST-003, RDLIST-004, RDLIST-009", WritesAscending},
      {"nfs4.writes-descending", "Read chunks at descending Positions harm nobody",
       "Two WRITEs whose Read chunks stand in the opposite order: done right, or ERR_CHUNK, which is advice.",
       "RFC 8166 3.4.5, RFC 8166 4.5.2", "RDLIST-004, RDLIST-009", WritesDescending},
      {"nfs4.writes-equal", "Segments of one Position with others between harm nobody",
       "Two WRITEs; a segment of the second stands between those of the first: done right, or ERR_CHUNK, which is "
       "advice.",
       "RFC 8166 3.4.5, RFC 8166 4.5.2", "RDLIST-003, RDLIST-009", WritesEqual},
      {"nfs4.writes-overlapping", "Read chunks that overlap are refused",
       "Two WRITEs, the second's Read chunk at a Position inside the first's: ERR_CHUNK, or an error.",
       "RFC 8166 3.4.5, RFC 8166 4.5.2", "RDLIST-004, ERR-008", WritesOverlapping},
      {"nfs4.writes-wrapping", "A Read chunk whose Position and length wrap is refused",
       "Two WRITEs, the second's Read chunk at Position 0xffffff00: ERR_CHUNK, or an error.",
       "RFC 8166 3.4.5, RFC 8166 4.5.2", "RDLIST-004, ERR-008", WritesWrapping},
      {"nfs4.readlink", "READLINK puts its text into the Write chunk", "A symbolic link is made, and read.",
       "RFC 8267 6.1, RFC 8166 4.3.2", "WRLIST-005, WRLIST-006, WRLIST-010", ReadLink},
      {"nfs4.readdir", "READDIR uses no Write chunk",
       "A READDIR with a Write chunk and a Reply chunk: the former is unused.", "RFC 8267 6.1, RFC 8166 4.3.3",
       "DDP-002, WRLIST-008, REPLY-004", ReadDirectory4},
      {"nfs4.read-plus", "READ_PLUS uses no Write chunk",
       "A READ_PLUS with a Write chunk and a Reply chunk: the data are in the Reply.", "RFC 8267 6.1, RFC 7862 15.10",
       "DDP-002, ULB-003, WRLIST-008", ReadPlus},
      {"nfs4.copy", "COPY copies", "A COPY inside the file, which asks to be synchronous; then the file is read.",
       "RFC 7862 15.2", "", Copy4},
  };
  return probes;
}

}  // namespace stag::probe
