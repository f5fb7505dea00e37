// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with chunks, with the client's memory, and with the data of NFS.
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

constexpr size_t kProcedure = 20, kCount = 100, kWriteCount = 108, kGetattr = 1, kRead = 6;  // NFSv3, in our Calls

void AddChunk(std::vector<Fault>& faults) {
  faults.push_back(On(
      "chunk.long-call", kRefused,
      [](const Seen& m) { return m.header.reads.size() == 1 && m.header.reads[0].target.length == 64; }, kRefuse));
  faults.back().alone = true;
  faults.push_back(On(
      "chunk.long-call-segments", kRefused,
      [](const Seen& m) {
        return ReadLengths(m.header) == Lengths{4, 20, 8, 4, 28};
      },
      kRefuse));
  faults.push_back(On(
      "chunk.long-call-odd-segments", kRefused, [](const Seen& m) { return m.header.reads.size() == 6; }, kRefuse));
  faults.push_back(Changes(
      "chunk.unused-write-chunk", "expected an unused Write chunk: all lengths zero; came a segment of 100 bytes",
      [](const Seen& call) {
        return WriteLike(call.header, {100, 4096, 33});
      },
      [](Header& reply, const Seen&) { reply.segments[0].length = 100; }));
  faults.push_back(Changes(
      "chunk.unused-write-chunks", "with Write chunks: 2; came Write chunks: 1",
      [](const Seen& call) { return call.header.write_chunks.size() == 2; },
      [](Header& reply, const Seen&) { reply.write_chunks.pop_back(); }));
  faults.push_back(Changes(
      "chunk.empty-write-chunk", "with Write chunks: 1; came Write chunks: 0",
      [](const Seen& call) { return WriteLike(call.header, {}); },
      [](Header& reply, const Seen&) { reply.write_chunks.clear(); }));
  faults.push_back(On(
      "chunk.empty-segments", "the connection ended",
      [](const Seen& m) {
        return ReadLengths(m.header) == Lengths{0, 12, 0, 52, 0};
      },
      [](Seen&, Scene& scene) {
        scene.HangUp();
        return false;
      }));
  faults.push_back(Changes(
      "chunk.empty-reply-chunk", "expected the Call's Reply chunk; came a Reply without it",
      [](const Seen& call) { return ReplyLike(call.header, {}); },
      [](Header& reply, const Seen&) { reply.reply_chunk.reset(); }));
  faults.push_back(Changes(
      "chunk.unused-reply-chunk", "expected the Call's Reply chunk; came a Reply without it",
      [](const Seen& call) {
        return ReplyLike(call.header, {512, 512});
      },
      [](Header& reply, const Seen&) { reply.reply_chunk.reset(); }));
  faults.push_back(Changes(
      "chunk.all-chunks", "expected the Call's handle and offset in each segment; came others in segment 1",
      [](const Seen& call) { return WriteLike(call.header, {256}); },
      [](Header& reply, const Seen&) { reply.segments[0].handle ^= 1; }));
  faults.push_back(Changes(
      "chunk.long-reply", "expected a Reply that ends with the 6000 bytes that were asked for",
      [](const Seen& call) { return ReplyLike(call.header, {8192}); },
      [](Header& reply, const Seen&) { reply.segments[0].length -= 4; }));
  faults.push_back({.probe = "chunk.long-reply-segments",
                    .words = "expected nothing is written beside the segments of a chunk",
                    .write = [](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
                      // Three bytes are followed by a fourth.
                      if (from.size() == 3) scene.Write(Buffer(4, std::byte{9}), {handle, 4, offset}, 0);
                      return true;
                    }});
  faults.push_back({.probe = "chunk.no-reply-chunk",
                    .words = "or the end of the connection; came an RPC Reply (SUCCESS)",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
                      if (message.header.proc != rpcrdma::kError || call.header.reads.size() != 1 ||
                          call.header.reply_chunk || call.header.reads[0].target.length < 6000)
                        return true;
                      return Succeed(call, scene);
                    }});
  faults.push_back({.probe = "chunk.small-reply-chunk",
                    .words = "expected nothing is written beside the segments of a chunk",
                    .send = [](Seen&, const Seen& call, Invalidate&, Scene& scene) {
                      if (ReplyLike(call.header, {1000, 1000}))
                        scene.Write(Buffer(4, std::byte{9}), call.header.segments[1], 1000);
                      return true;
                    }});
  faults.push_back(On(
      "chunk.position", "for a Position beyond the Call; came an RPC Reply (SUCCESS)",
      [](const Seen& m) { return m.header.reads.size() == 1 && m.header.reads[0].position == 8192; }, Succeed));
}

void AddMemory(std::vector<Fault>& faults) {
  constexpr std::string_view kSucceeded =
      "expected the end of the connection, or RDMA_ERROR ERR_CHUNK; came an RPC Reply (SUCCESS)";
  // The Long Calls of these probes come behind a NULL, without other chunks.
  const auto long_null = [](auto like) {
    return [like](const Seen& m) {
      return m.header.reads.size() == 1 && m.header.segments.empty() && m.header.reads[0].target.length != 6072 &&
             like(m.header.reads[0].target);
    };
  };
  faults.push_back({.probe = "memory.stale-read", .words = kSucceeded, .receive = [](Seen& message, Scene& scene) {
                      const auto& reads = message.header.reads;
                      const bool it = scene.received == 2 && reads.size() == 1 && message.header.segments.empty() &&
                                      reads[0].target.length == 64 && reads[0].target.offset < UINT64_MAX / 2;
                      return !it || Succeed(message, scene);
                    }});
  faults.push_back({.probe = "memory.stale-write",
                    .words = "or RDMA_ERROR ERR_CHUNK; came RDMA_NOMSG",
                    .write = [](Bytes, uint32_t, uint64_t, Scene&) { return false; },
                    .alone = true});
  faults.push_back(On("memory.read-beyond", kSucceeded,
                      long_null([](const rpcrdma::Segment& s) { return s.length == 64 + 65536; }), Succeed));
  faults.push_back(On("memory.wrap", kSucceeded,
                      long_null([](const rpcrdma::Segment& s) { return s.offset > UINT64_MAX / 2; }), Succeed));
  faults.push_back(On("memory.huge", "came nothing, and the connection stays",
                      long_null([](const rpcrdma::Segment& s) { return s.length > UINT32_MAX / 2; }),
                      [](Seen&, Scene&) { return false; }));
  faults.push_back({.probe = "memory.fence",
                    .words = "WRLIST-017",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
                      if (!WriteLike(call.header, {128})) return true;
                      scene.Send(message.Encoded());
                      scene.Write(Buffer(8), call.header.segments[0], 0);
                      return false;
                    }});
  faults.push_back({.probe = "memory.invalidate",
                    .words = "expected a Send with Invalidate of a handle of its own Call",
                    .send = [](Seen&, const Seen& call, Invalidate& invalidate, Scene& scene) {
                      for (const auto& [xid, other] : scene.calls)
                        if (invalidate && xid != call.header.xid && !other.header.segments.empty())
                          invalidate = other.header.segments[0].handle;
                      return true;
                    }});
  faults.push_back({.probe = "memory.no-invalidate",
                    .words = "came a Send with Invalidate",
                    .send = [](Seen&, const Seen& call, Invalidate& invalidate, Scene&) {
                      if (WriteLike(call.header, {64}) && call.header.reads.empty())
                        invalidate = call.header.segments[0].handle;
                      return true;
                    }});
}

void AddNfs3(std::vector<Fault>& faults) {
  const auto reads_like = [](const Lengths& lengths) {
    return [lengths](const Seen& m) {
      return !m.header.reads.empty() && m.header.reads[0].position != 0 && ReadLengths(m.header) == lengths;
    };
  };
  const auto write_like = [](const Lengths& lengths) {
    return [lengths](const Seen& m) { return m.Word(kProcedure) == kRead && WriteLike(m.header, lengths); };
  };
  faults.push_back(On("nfs3.write", "the bytes that were written as they are; came another byte at offset 0",
                      reads_like({1024, 2048}), [](Seen& message, Scene&) {
                        std::swap(message.header.reads[0], message.header.reads[1]);
                        return true;
                      }));
  faults.push_back(On("nfs3.write-odd", "MEM-002", reads_like({2, 3}), [](Seen& message, Scene&) {
    message.header.reads[1].target.length = 6;  // with padding that is not there
    return true;
  }));
  faults.push_back(On("nfs3.write-padded", "expected a WRITE of 5 bytes; came 8 bytes written", reads_like({8}),
                      [](Seen& message, Scene&) {
                        StoreBe32(message.rest.data() + kCount, 8);
                        StoreBe32(message.rest.data() + kWriteCount, 8);
                        return true;
                      }));
  faults.push_back(On(
      "nfs3.write-long", "expected an RPC Reply; came RDMA_ERROR ERR_CHUNK",
      [](const Seen& m) { return m.header.reads.size() == 2 && m.header.reads[1].position == 0; }, kRefuse));
  faults.push_back(On(
      "nfs3.write-long-reduced",
      "expected an RPC Reply; came RDMA_ERROR ERR_CHUNK; during 4097 bytes, in segments of 4000, 97",
      [](const Seen& m) { return m.header.reads.size() == 3 && m.header.reads[2].target.length == 97; }, kRefuse));
  faults.push_back({.probe = "nfs3.read",
                    .words = "the bytes of the file as they are; came another byte at offset 1024",
                    .write = [](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
                      if (from.size() != 2048) return true;
                      scene.Write(Buffer(2048), {handle, 2048, offset}, 0);
                      return false;
                    }});
  faults.push_back({.probe = "nfs3.read-odd",
                    .words = "MEM-003",
                    .write = [](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
                      if (from.size() != 3) return true;
                      scene.Write({from[0], from[1], from[2], std::byte{0}}, {handle, 4, offset}, 0);
                      return false;
                    }});
  faults.push_back({.probe = "nfs3.read-offsets",
                    .words = "the bytes of the file as they are; came another byte at offset 0; during 9001 bytes",
                    .write = [](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
                      if (from.size() != 5000) return true;
                      Buffer moved(from.begin(), from.end());  // from the start of the block
                      std::rotate(moved.begin(), moved.end() - 1, moved.end());
                      scene.Write(moved, {handle, 5000, offset}, 0);
                      return false;
                    }});
  faults.push_back(On(
      "nfs3.write-window", "expected an answer to each of 32 Calls, 32 at a time",
      [](const Seen& m, const Scene& scene) { return m.header.reads.size() == 120 && scene.received > 20; },
      [](const Seen&, Scene&) { return false; }));
  faults.push_back(Changes("nfs3.read-room",
                           "expected a Write chunk with 5 bytes, the length of the item; came 8 bytes", write_like({8}),
                           [](Header& reply, const Seen&) { reply.segments[0].length = 8; }));
  faults.push_back(On("nfs3.read-both-chunks", "with Write chunks: 1; came Write chunks: 0", write_like({4096, 4096}),
                      [](Seen& message, Scene&) {
                        message.header.write_chunks.clear();
                        return true;
                      }));
  faults.push_back(Changes("nfs3.read-empty-chunk", "with Write chunks: 1; came Write chunks: 0", write_like({}),
                           [](Header& reply, const Seen&) { reply.write_chunks.clear(); }));
  faults.push_back(Changes("nfs3.read-nothing", "for there is no such file; came one with data",
                           write_like({2048, 2048}), [](Header& reply, const Seen&) { reply.segments[0].length = 4; }));
  faults.push_back(On(
      "nfs3.not-eligible", "a file handle may not be reduced; came an RPC Reply (SUCCESS)",
      [](const Seen& m) { return m.Word(kProcedure) == kGetattr && m.header.reads.size() == 1; }, Succeed));
}

}  // namespace

std::vector<Fault> ChunkFaults() {
  std::vector<Fault> faults;
  AddChunk(faults);
  AddMemory(faults);
  AddNfs3(faults);
  return faults;
}

}  // namespace stag::probe::test
