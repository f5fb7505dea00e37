// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/messages.h"

#include "protocol/base/writer.h"

namespace stag::test {

rpcrdma::Header MakeHeader(uint32_t proc, uint32_t xid, uint32_t credit) {
  rpcrdma::Header header;
  header.words = 4;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = credit;
  header.proc = proc;
  return header;
}

void AddRead(rpcrdma::Header& header, uint32_t position, rpcrdma::Segment segment) {
  header.reads.push_back({position, segment});
}

void AddWriteChunk(rpcrdma::Header& header, const std::vector<rpcrdma::Segment>& segments) {
  header.write_chunks.push_back(
      {static_cast<uint32_t>(header.segments.size()), static_cast<uint32_t>(segments.size())});
  header.segments.insert(header.segments.end(), segments.begin(), segments.end());
}

void SetReplyChunk(rpcrdma::Header& header, const std::vector<rpcrdma::Segment>& segments) {
  header.reply_chunk =
      rpcrdma::Chunk{static_cast<uint32_t>(header.segments.size()), static_cast<uint32_t>(segments.size())};
  header.segments.insert(header.segments.end(), segments.begin(), segments.end());
}

Buffer MakeCall(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure, const Buffer& body) {
  return Join({Words({xid, rpc::kCall, 2, program, version, procedure, 0, 0, 0, 0}), body});
}

Buffer MakeReply(uint32_t xid, const Buffer& body, uint32_t accept_stat) {
  return Join({Words({xid, rpc::kReply, rpc::kAccepted, 0, 0, accept_stat}), body});
}

Buffer Words(std::initializer_list<uint32_t> words) {
  Buffer out(words.size() * sizeof(uint32_t));
  std::byte* at = out.data();
  for (const uint32_t word : words) {
    StoreBe32(at, word);
    at += sizeof(word);
  }
  return out;
}

Buffer Opaque(const Buffer& data) {
  Buffer out;
  Writer(out).Opaque(data);
  return out;
}

Buffer Join(std::initializer_list<Buffer> parts) {
  Buffer out;
  for (const Buffer& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Buffer Pattern(size_t n, uint32_t seed) {
  Buffer out(n);
  uint32_t x = seed * 2654435761u + 1;
  for (std::byte& b : out) {
    x = x * 1664525u + 1013904223u;
    b = std::byte(x >> 24);
  }
  return out;
}

}  // namespace stag::test
