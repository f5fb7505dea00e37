// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of READ and WRITE of NFSv3 with chunks of all shapes (RFC 8267; RFC 8166 sections 3.4 and 4.3), every byte
// verified. They read the Bench's file, and write behind its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>

#include "replay/probe/exchange.h"
#include "replay/probe/nfs3_bench.h"

namespace stag::probe {
namespace {

using Lengths = std::vector<uint32_t>;

std::string SizeText(uint32_t count, const Lengths& lengths) {
  return fmt::format("{} bytes, in segments of {}", count, fmt::join(lengths, ", "));
}

uint32_t Sum(const Lengths& lengths) { return std::accumulate(lengths.begin(), lengths.end(), 0u); }

// WRITE of `count` bytes by a Read chunk with segments of these lengths; what they have more is padding. Then the file
// is read: these bytes, and what was behind them.
void WriteReduced(Bench& bench, Link& link, uint32_t count, const Lengths& lengths, bool long_call = false) {
  const Data behind(8, std::byte{0x11}), data = Pattern(count);
  bench.Case(SizeText(count, lengths));
  WriteInline(bench, link, kPlayground + count, behind);
  Call call = WriteCall(bench, kPlayground, count);
  Data chunk = data;
  chunk.resize(Sum(lengths));
  const auto position = static_cast<uint32_t>(call.rpc.size());
  if (long_call) link.MakeLong(call);
  AddRead(call, position, link.Offer(lengths, endpoint::Access::kRemoteRead, chunk));
  ExpectWritten(link, call, link.Ask(call), count);
  Data expected = data;
  expected.insert(expected.end(), behind.begin(), behind.end());
  ExpectSame(ReadInline(bench, link, kPlayground, expected.size()), expected, "bytes that were written");
}

void Write(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const Lengths& lengths :
       std::initializer_list<Lengths>{{4}, {1024, 2048}, {1, 3, 4096, 2, 6}, {4000, 4000, 8000}})
    WriteReduced(bench, link, Sum(lengths), lengths);
}

void WriteOdd(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const Lengths& lengths : std::initializer_list<Lengths>{{1}, {3}, {2, 3}, {1, 1, 1021}, {4096, 1}, {3333, 3334}})
    WriteReduced(bench, link, Sum(lengths), lengths);
}

void WritePadded(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  WriteReduced(bench, link, 5, {8});
  WriteReduced(bench, link, 1023, {1000, 24});
  WriteReduced(bench, link, 6, {6, 2});  // a segment of padding alone
}

void WriteLong(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const uint32_t count : {4096u, 5u}) {
    bench.Case(fmt::format("{} bytes", count));
    Call call = WholeWriteCall(bench, kPlayground, Pattern(count));
    link.MakeLong(call, {20, static_cast<uint32_t>(call.rpc.size()) - 20});
    ExpectWritten(link, call, link.Ask(call), count);
    ExpectSame(ReadInline(bench, link, kPlayground, count), Pattern(count), "bytes that were written");
  }
}

void WriteLongReduced(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  WriteReduced(bench, link, 4096, {4000, 96}, true);
  WriteReduced(bench, link, 4097, {4000, 97}, true);
}

// A responder that reckons with few segments for each Call runs out of what its RDMA Reads need.
void WriteWindow(Bench& bench) {
  constexpr uint32_t kLargestWindow = 32, kSegments = 120, kLength = 16, kReadSegment = 24;
  NeedFile(bench);
  Link& link = bench.Connect();
  const uint32_t window = std::min(Grant(bench, link, kLargestWindow), kLargestWindow);
  const auto around = static_cast<uint32_t>(WriteCall(bench, 0, 0).Encoded().size());
  const uint32_t segments = std::min(kSegments, (link.call_threshold() - around) / kReadSegment);
  const uint32_t count = segments * kLength;
  const Lengths lengths(segments, kLength);
  const Data data = Pattern(size_t{window} * count);
  bench.Case(fmt::format("{} at a time, each in {} segments", window, segments));
  uint32_t refused = 0;
  Exchange(
      bench, link, {.calls = window, .under_way = window},
      [&](size_t i) {
        Call call = WriteCall(bench, kPlayground + i * count, count);
        call.header.credit = kLargestWindow;
        const auto position = static_cast<uint32_t>(call.rpc.size());
        AddRead(call, position,
                link.Offer(lengths, endpoint::Access::kRemoteRead, Bytes(data).subspan(i * count, count)));
        return call;
      },
      [&](const Call& call, const Message& answer) {
        if (answer.header.proc != rpcrdma::kError) return ExpectWritten(link, call, answer, count);
        Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
        ++refused;
      });
  if (refused > 0)
    return bench.Advise(fmt::format("{} of {} WRITEs in {} segments get ERR_CHUNK: the server bounds what it takes",
                                    refused, window, segments));
  ExpectSame(ReadInline(bench, link, kPlayground, data.size()), data, "bytes that were written");
}

// READ of `count` bytes of the file into a Write chunk with segments of these lengths.
void ReadReduced(Bench& bench, Link& link, uint32_t count, const Lengths& lengths, bool reply_chunk = false,
                 uint64_t offset = 0) {
  bench.Case(SizeText(count, lengths) + (offset > 0 ? fmt::format(", from offset {}", offset) : ""));
  Call call = ReadCall(bench, offset, count);
  AddWrite(call, link.Offer(lengths, endpoint::Access::kRemoteWrite));
  if (reply_chunk) SetReply(call, link.Offer({8192}, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  const Data results = Results(link, call, answer);
  const Data chunk = link.Collect(call, answer, 0);
  if (chunk.empty()) Failed("the data in the Write chunk", "an unused Write chunk");
  if (chunk.size() != count)
    Failed(fmt::format("a Write chunk with {} bytes, the length of the item", count),
           fmt::format("{} bytes", chunk.size()));
  const Bytes chunks[] = {chunk};
  const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(results, chunks);
  ExpectStatus(result, "a READ");
  ExpectSame(result.data, Bytes(Pattern(kFileSize)).subspan(offset, count), "bytes of the file");
}

void Read(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const Lengths& lengths : std::initializer_list<Lengths>{{4}, {4096}, {1024, 2048}, {4, 4096, 8, 12}})
    ReadReduced(bench, link, Sum(lengths), lengths);
}

void ReadOdd(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const Lengths& lengths : std::initializer_list<Lengths>{{1}, {3}, {2, 3}, {1, 999, 1}, {4096, 1}, {3333, 3334}})
    ReadReduced(bench, link, Sum(lengths), lengths);
}

// A server that reads whole blocks has what is in front of the asked range, too.
void ReadOffsets(Bench& bench) {
  constexpr uint32_t kCount = 9001;
  NeedFile(bench);
  Link& link = bench.Connect();
  for (const uint64_t offset : {uint64_t{1}, uint64_t{511}, uint64_t{513}, uint64_t{4095}, uint64_t{20'002}}) {
    ReadReduced(bench, link, kCount, {5000, kCount - 5000}, false, offset);
    ExpectSame(ReadInline(bench, link, offset, kInline), Bytes(Pattern(kFileSize)).subspan(offset, kInline),
               "bytes of the file, inline");
  }
}

void ReadRoom(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  ReadReduced(bench, link, 5, {8});  // room for the padding
  ReadReduced(bench, link, 100, {4096});
  ReadReduced(bench, link, 1001, {1000, 1000, 1000});
}

void ReadBothChunks(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  ReadReduced(bench, link, 4097, {4096, 4096}, true);
}

void ReadEmptyChunk(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  Call call = ReadCall(bench, 0, kInline);
  call.header.write_chunks.push_back({0, 0});
  const Message answer = link.Ask(call);
  if (bench.RefusedEmpty(call, answer)) return;
  const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(Results(link, call, answer), {});
  ExpectStatus(result, "a READ");
}

// A READ whose Write chunk is not used, for there is no data: at the end of the file, and of a file that is none.
void ReadNothing(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  const auto ask = [&](const Call& call, std::string_view what) {
    const Message answer = link.Ask(call);
    Data results = Results(link, call, answer);
    if (!link.Collect(call, answer, 0).empty())
      Failed(fmt::format("an unused Write chunk, for {}", what), "one with data");
    return results;
  };
  bench.Case("beyond the end of the file");
  Call end = ReadCall(bench, uint64_t{1} << 40, 4096);
  AddWrite(end, link.Offer({4096}, endpoint::Access::kRemoteWrite));
  const Data results = ask(end, "the READ is beyond the end of the file");
  const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(results, {});
  ExpectStatus(result, "a READ beyond the end");
  if (!result.data.empty()) Failed("no data beyond the end of the file", fmt::format("{} bytes", result.data.size()));

  bench.Case("a file that does not exist");
  const Data nobody(32, std::byte{0xee});
  Call stale =
      MakeNfs3(bench, nfs_client::nfs3::kRead, [&](Writer& out) { nfs_client::nfs3::PutRead(out, nobody, 0, 4096); });
  AddWrite(stale, link.Offer({2048, 2048}, endpoint::Access::kRemoteWrite));
  if (nfs_client::nfs3::DecodeRead(ask(stale, "there is no such file"), {}).status == 0)
    Failed("a READ that fails, for there is no such file", "NFS3_OK");
}

// GETATTR whose file handle was moved to a Read chunk: not to be executed.
void NotEligible(Bench& bench) {
  NeedFile(bench);
  Link& link = bench.Connect();
  const Bytes handle = bench.target().file;
  Call call =
      MakeNfs3(bench, nfs_client::nfs3::kGetattr, [&](Writer& out) { out.U32(static_cast<uint32_t>(handle.size())); });
  const auto position = static_cast<uint32_t>(call.rpc.size());
  AddRead(call, position, link.Offer({static_cast<uint32_t>(handle.size())}, endpoint::Access::kRemoteRead, handle));
  const Message answer = link.Ask(call, "RDMA_ERROR ERR_CHUNK, or GARBAGE_ARGS");
  if (answer.header.proc == rpcrdma::kError) return Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
  if (const std::string status = Bench::Status(link, call, answer); status != "GARBAGE_ARGS")
    Failed("RDMA_ERROR ERR_CHUNK, or GARBAGE_ARGS, for a file handle may not be reduced",
           fmt::format("an RPC Reply ({})", status));
}

}  // namespace

std::span<const Probe> Nfs3Probes() {
  static const Probe probes[] = {
      {"nfs3.write", "WRITE takes its data from a Read chunk",
       "WRITEs whose data are in a Read chunk of one to five segments; then the file is read.",
       "RFC 8166 3.4.5, RFC 8267 4", "RDLIST-003, RDLIST-007, DDP-003", Write},
      {"nfs3.write-odd", "WRITE of odd lengths without padding",
       "WRITEs of 1 to 6667 bytes, whose Read chunks have no padding: exactly these bytes are written.",
       "RFC 8166 3.4.5, RFC 8166 3.4.4", "PAD-004, PAD-005", WriteOdd},
      {"nfs3.write-padded", "WRITE with padding in the Read chunk",
       "WRITEs of 5, 6 and 1023 bytes whose Read chunks have padding, too, once as a segment of its own: it is not "
       "written.",
       "RFC 8166 3.4.5", "PAD-003, PAD-007, PAD-009", WritePadded},
      {"nfs3.write-long", "WRITE as a Long Call", "WRITEs by a Position Zero Read chunk that has the data, too.",
       "RFC 8166 3.5.3, RFC 8166 4.3.1", "LONG-003, LONG-005, LONG-010", WriteLong},
      {"nfs3.write-window", "A window of WRITEs in many segments is answered",
       "As many WRITEs at once as are granted (at most 32), each with a Read chunk of as many segments as fit into the "
       "Send (at most 120). Then the file is read. ERR_CHUNK is advice, for a server may bound what it takes.",
       "RFC 8166 3.4.5, RFC 8166 3.3.1, RFC 8166 4.5.3", "CRED-007, MEM-002, MEM-013", WriteWindow},
      {"nfs3.write-long-reduced", "WRITE as a Long Call with a Read chunk",
       "WRITEs of 4096 and 4097 bytes by a Position Zero Read chunk, with the data in a Read chunk of their own.",
       "RFC 8166 3.5.3, RFC 8166 4.3.1, RFC 8166 3.4.4", "LONG-003, LONG-007, RDLIST-004, PAD-005", WriteLongReduced},
      {"nfs3.read", "READ puts its data into the Write chunk",
       "READs with a Write chunk of one to four segments, exactly as long as the data.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-005, WRLIST-006, WRLIST-010, WRLIST-018, DDP-003", Read},
      {"nfs3.read-odd", "READ of odd lengths writes no padding",
       "READs of 1 to 6667 bytes: nothing is written behind the last byte.", "RFC 8166 3.4.6",
       "WRLIST-006, WRLIST-007, PAD-001", ReadOdd},
      {"nfs3.read-offsets", "READ from any offset brings the bytes from there",
       "READs of 9001 bytes from the offsets 1, 511, 513, 4095 and 20002 with a Write chunk, and of 512 bytes inline.",
       "RFC 8166 3.4.6, RFC 8267 4", "WRLIST-006, WRLIST-018", ReadOffsets},
      {"nfs3.read-room", "READ uses no more of a Write chunk than it needs",
       "READs with Write chunks that are larger than the data: the lengths that come back are those of the data.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-004, WRLIST-006, WRLIST-007, WRLIST-009", ReadRoom},
      {"nfs3.read-both-chunks", "READ with a Write chunk and a Reply chunk",
       "A READ with both: the data are in the Write chunk.", "RFC 8166 3.5.3, RFC 8166 4.3.2",
       "REPLY-009, REPLY-013, WRLIST-010", ReadBothChunks},
      {"nfs3.read-empty-chunk", "An empty Write chunk brings the data inline",
       "A READ with a Write chunk of no segments: the data come inline. ERR_CHUNK is advice, for the field is not of "
       "one mind about such chunks.",
       "RFC 8166 4.3.2", "WRLIST-011", ReadEmptyChunk},
      {"nfs3.read-nothing", "A Write chunk without data comes back unused",
       "READs beyond the end of the file, and of a file that does not exist.", "RFC 8166 4.3.2",
       "WRLIST-008, WRLIST-009", ReadNothing},
      {"nfs3.not-eligible", "What is not DDP-eligible is not taken from a Read chunk",
       "A GETATTR whose file handle is in a Read chunk: it is not executed, and ERR_CHUNK or GARBAGE_ARGS comes.",
       "RFC 8166 6.1, RFC 8166 4.5.2", "DDP-001, DDP-008", NotEligible},
  };
  return probes;
}

}  // namespace stag::probe
