// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with READs, WRITEs and others of NFSv4.
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

using Many = std::vector<Lengths>;

// Places in a Call of ours; and the messages of a connection before the first that a probe of a file sends.
constexpr size_t kMinorAt = 68, kSequenceAt = 96;
constexpr size_t kPrelude = 5;  // EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE, OPEN, WRITE

Many WriteLengths(const Header& header) {
  Many all;
  for (const Chunk& chunk : header.write_chunks) all.push_back(ChunkLengths(header, chunk));
  return all;
}

// The first segment, or another, comes back with another length.
Fault Returns(std::string_view probe, std::string_view words, Many write_chunks, uint32_t length, size_t segment = 0) {
  return Changes(
      probe, words, [=](const Seen& call) { return WriteLengths(call.header) == write_chunks; },
      [=](Header& reply, const Seen&) { reply.segments[segment].length = length; });
}

// RDMA Writes of so many bytes write zeros.
Fault WritesZeros(std::string_view probe, size_t size) {
  return {.probe = probe,
          .words = "the bytes of the file as they are; came another byte at offset 0",
          .write = [size](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
            if (from.size() != size) return true;
            scene.Write(Buffer(size), {handle, static_cast<uint32_t>(size), offset});
            return false;
          }};
}

auto HasReads(const Lengths& lengths) {
  return [lengths](const Seen& m) { return ReadLengths(m.header) == lengths; };
}

// Says that all is well, and does nothing.
bool Pretend(const Seen& call, Scene& scene) {
  ReplyWith(scene, call, {0, 0, 0});
  return false;
}

}  // namespace

std::vector<Fault> Nfs4Faults() {
  constexpr std::string_view kAnother = "the bytes of the file as they are; came another byte at offset 0";
  std::vector<Fault> faults = {
      Returns("nfs4.read", "expected a Write chunk with the 8192 bytes of READ 1; came 8188 bytes", {{8192}}, 8188),
      {.probe = "nfs4.read-inline",
       .words = "came another byte",
       .send =
           [](Seen& message, const Seen&, Invalidate&, Scene&) {
             if (message.rest.size() > 900) message.rest[message.rest.size() - 8] ^= std::byte{1};
             return true;
           }},
      {.probe = "nfs4.read-odd",
       .words = "MEM-003",
       .write =
           [](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
             if (from.size() != 3333) return true;
             Buffer padded(from.begin(), from.end());
             padded.resize(3336);
             scene.Write(padded, {handle, 3336, offset});
             return false;
           }},
      WritesZeros("nfs4.read-segments", 3000),
      Changes(
          "nfs4.read-reply-chunk", "expected results of READ 1",
          [](const Seen& call) { return ReplyLike(call.header, {16384}) && call.header.write_chunks.empty(); },
          [](Header& reply, const Seen&) { reply.segments[0].length -= 4; }),
      On(
          "nfs4.read-both-chunks", "with Write chunks: 1; came Write chunks: 0",
          [](const Seen& m) { return WriteLike(m.header, {8000}); },
          [](Seen& message, Scene&) {
            message.header.write_chunks.clear();
            return true;
          }),
      Returns("nfs4.read-end", "expected an unused Write chunk for READ 1; came one with data", {{100}}, 4),
      Returns("nfs4.read-fails", "expected an unused Write chunk for the READ that failed; came one with data",
              {{1000}, {1000}}, 1000, 1),
      {.probe = "nfs4.read-again",
       .words = kAnother,
       .write = [](Bytes, uint32_t, uint64_t, Scene& scene) { return scene.received != kPrelude + 2; }},
      WritesZeros("nfs4.reads", 2001),
      Changes(
          "nfs4.reads-fewer-chunks", "with Write chunks: 1; came Write chunks: 0",
          [](const Seen& call) { return WriteLike(call.header, {4096}); },
          [](Header& reply, const Seen&) { reply.write_chunks.clear(); }),
      Changes(
          "nfs4.reads-empty-between", "with Write chunks: 3; came Write chunks: 2",
          [](const Seen& call) {
            return WriteLengths(call.header) == Many{{4096}, {}, {3000}};
          },
          [](Header& reply, const Seen&) { reply.write_chunks.erase(reply.write_chunks.begin() + 1); }),
      Returns("nfs4.reads-more-chunks", "expected an unused Write chunk, for there is no such READ; came one with data",
              {{4096}, {1000}}, 4, 1),
      Returns("nfs4.reads-end-between", "expected an unused Write chunk for READ 2; came one with data",
              {{1000}, {1000}, {1000}}, 1000, 1),
      On("nfs4.write", kAnother, HasReads({2000, 1, 3999}),
         [](Seen& message, Scene&) {
           std::swap(message.header.reads[0], message.header.reads[2]);
           return true;
         }),
      On("nfs4.write-odd", "MEM-002", HasReads({4096, 1}),
         [](Seen& message, Scene&) {
           message.header.reads[1].target.length = 4;
           return true;
         }),
      On("nfs4.write-padded", kRefused, HasReads({8}), kRefuse),
      On(
          "nfs4.write-long", kRefused, [](const Seen& m) { return m.header.proc == rpcrdma::kNomsg; }, kRefuse),
      On("nfs4.write-then-more", kRefused, HasReads({4093}), kRefuse),
      // Executes it, on the next slot.
      On(
          "nfs4.write-again", kAnother, [](const Seen&, const Scene& scene) { return scene.received == kPrelude + 2; },
          [](Seen& message, Scene&) {
            for (size_t i = 0; i < 3; ++i) StoreBe32(message.rest.data() + kSequenceAt + 4 * i, 1);
            return true;
          }),
      On("nfs4.writes", kEnded, HasReads({1000, 3001}), HangUp),
      On("nfs4.writes-descending", kEnded, HasReads({3001, 1000}), HangUp),
      On("nfs4.writes-equal", kEnded, HasReads({600, 500, 400}), HangUp),
      On("nfs4.writes-overlapping", "Positions cannot be; came NFS4_OK", HasReads({1000, 500}), Pretend),
      On("nfs4.writes-wrapping", "Positions cannot be; came NFS4_OK", HasReads({1000, 500}), Pretend),
      Returns("nfs4.readlink", "expected a chunk that is filled in order", {{200, 200}}, 199),
      Returns("nfs4.readdir", "for READDIR has nothing that is DDP-eligible; came one with data", {{8192}}, 4),
      Returns("nfs4.read-plus", "for READ_PLUS has nothing that is DDP-eligible; came one with data", {{6000}}, 4),
      {.probe = "nfs4.copy",
       .words = "expected NFS4_OK for COPY; came NFS4ERR_SERVERFAULT",
       .send =
           [](Seen& message, const Seen& call, Invalidate&, Scene&) {
             if (call.Word(kMinorAt) == 2) StoreBe32(message.rest.data() + 24, 10006);
             return true;
           }},
  };
  for (Fault& fault : faults) fault.alone = true;
  return faults;
}

}  // namespace stag::probe::test
