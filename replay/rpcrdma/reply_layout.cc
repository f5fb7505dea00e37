// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/reply_layout.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace stag::rpcrdma {

namespace {

// The unreduced Reply from its first byte to its last.
class ReplyStream {
 public:
  explicit ReplyStream(const ServiceReply& reply) : reply_(reply) {}
  // The next `n` bytes, in as many pieces as they lie in.
  void Take(uint64_t n, std::vector<Bytes>& out) {
    while (n > 0) {
      const bool view = view_ < reply_.views.size() && reply_.views[view_].at == in_message_;
      const uint64_t end = view_ < reply_.views.size() ? reply_.views[view_].at : reply_.message.size();
      const Bytes left = view ? reply_.views[view_].bytes.subspan(in_view_)
                              : Bytes(reply_.message).subspan(in_message_, static_cast<size_t>(end) - in_message_);
      if (!view && left.empty()) return;
      const size_t taken = static_cast<size_t>(std::min<uint64_t>(n, left.size()));
      if (taken > 0) out.push_back(left.first(taken));
      n -= taken;
      if (!view) {
        in_message_ += taken;
      } else if (in_view_ += taken; taken == left.size()) {
        ++view_;
        in_view_ = 0;
      }
    }
  }

 private:
  const ServiceReply& reply_;
  size_t view_ = 0, in_view_ = 0, in_message_ = 0;
};

// A header with the chunks of the Call, none of which has anything.
void Begin(const Header& call, uint32_t credit, Header& header) {
  header.Clear();
  header.xid = call.xid;
  header.vers = kVersion1;
  header.credit = credit;
  header.proc = kMsg;
  header.segments = call.segments;
  for (Segment& s : header.segments) s.length = 0;
  header.write_chunks = call.write_chunks;
  header.reply_chunk = call.reply_chunk;
}

// RDMA Writes of the pieces to the segments of a chunk, in order; says in the Reply's segments how much each gets.
bool Fill(const Header& call, std::span<const Bytes> pieces, const Chunk& offered, const Chunk& returned,
          ReplyLayout& out) {
  uint32_t i = 0;
  for (Bytes piece : pieces) {
    while (!piece.empty()) {
      if (i == offered.count) return false;
      const Segment& segment = call.segments[offered.first + i];
      uint32_t& filled = out.header.segments[returned.first + i].length;
      const size_t n = std::min<size_t>(piece.size(), segment.length - filled);
      if (n > 0) out.writes.push_back({piece.first(n), segment.handle, segment.offset + filled});
      filled += static_cast<uint32_t>(n);
      piece = piece.subspan(n);
      if (filled == segment.length) ++i;
    }
  }
  return true;
}

// One run of bytes: an RDMA Write costs more than moving what is left without items.
void MoveTogether(std::vector<std::byte>& message, std::vector<Bytes>& pieces) {
  std::byte* to = message.data();
  for (const Bytes piece : pieces) {
    std::memmove(to, piece.data(), piece.size());
    to += piece.size();
  }
  pieces.assign(1, Bytes(message.data(), to));
}

}  // namespace

void ReplyLayout::EncodeHeader() {
  encoded.clear();
  Encode(header, encoded);
}

bool LayOut(const Header& call, ServiceReply& reply, const ReplyLimits& limits, ReplyLayout& out) {
  Begin(call, limits.credit, out.header);
  out.writes.clear();
  out.pieces.clear();

  // Which pieces of the message stay. An item goes into the next chunk; an empty chunk keeps its item inline (4.3.2).
  const uint64_t size = reply.size();
  ReplyStream stream(reply);
  uint64_t at = 0, rest = size;
  size_t chunk = 0;
  for (const ResultItem& result : reply.items) {
    if (chunk == call.write_chunks.size()) break;
    const Chunk &offered = call.write_chunks[chunk], &returned = out.header.write_chunks[chunk];
    ++chunk;
    if (offered.count == 0 || result.length == 0) continue;
    if (result.length > call.SizeOf(offered)) return false;
    stream.Take(result.offset - at, out.pieces);
    out.item.clear();
    stream.Take(result.length, out.item);
    if (!Fill(call, out.item, offered, returned, out)) return false;
    out.item.clear();
    stream.Take(RoundUp4(result.length) - result.length, out.item);  // padding, which goes nowhere
    at = result.offset + RoundUp4(result.length);
    rest -= RoundUp4(result.length);
  }
  if (rest == size && reply.views.empty()) {
    out.pieces.assign(1, Bytes(reply.message));
  } else {
    stream.Take(size - at, out.pieces);
  }

  out.EncodeHeader();
  const bool few = out.pieces.size() < limits.pieces || !reply.views.empty();
  if (out.encoded.size() + rest <= limits.send_size && few) return true;
  if (!call.reply_chunk || call.SizeOf(*call.reply_chunk) < rest) return false;
  if (reply.views.empty() && out.pieces.size() > 1) MoveTogether(reply.message, out.pieces);
  if (!Fill(call, out.pieces, *call.reply_chunk, *out.header.reply_chunk, out)) return false;
  out.pieces.clear();
  out.header.proc = kNomsg;
  out.EncodeHeader();
  return out.encoded.size() <= limits.send_size;
}

}  // namespace stag::rpcrdma
