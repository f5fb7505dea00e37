// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/scrub/scrubber.h"

#include <fmt/format.h>

#include <algorithm>

namespace stag::cli {
namespace {

using session::Connection;
using session::DataItem;
using session::Message;
using session::RdmaOperation;
using session::Role;
using session::Transaction;

session::SessionOptions SessionOptionsOf(uint64_t memory) {
  session::SessionOptions options;
  options.memory_limit = memory - memory / 4;
  return options;
}

fabric::DecoderOptions DecoderOptionsOf(const ScrubOptions& scrub, fabric::PacketObserver& packets) {
  fabric::DecoderOptions options;
  options.memory_limit = scrub.memory / 4;
  options.tunnel_ports = scrub.tunnel_ports;
  options.keep_copies = true;  // a copy becomes what the first one does
  options.packets = &packets;
  return options;
}

// How many bytes of an RPC-over-RDMA header are known for what they are.
uint64_t KnownHeader(const rpcrdma::Header& header, uint64_t size) {
  constexpr uint64_t kWord = 4;
  if (header.words < 4) return header.words * kWord;
  // Another version, and a rdma_proc that is none: the words may be anything.
  if (header.vers != rpcrdma::kVersion1 && header.proc > rpcrdma::kError) return 3 * kWord;
  uint64_t known = header.length;
  if (header.status == ParseStatus::kTruncatedByCapture) known = header.defect_offset;
  if (header.status == ParseStatus::kMalformed) known = header.defect_offset + kWord;  // what is wrong, too
  return std::min(std::max(known, 4 * kWord), size);
}

}  // namespace

Scrubber::Scrubber(ScrubbedFrames& frames, Pseudonyms& pseudonyms, Replaced& replaced, const ScrubOptions& options)
    : frames_(frames),
      replaced_(replaced),
      kept_(options.kept),
      headers_(pseudonyms, replaced, options.kept.addresses, options.tunnel_ports),
      checksums_(options.tunnel_ports),
      places_(frames, frames.frames()),
      rpc_(pseudonyms, replaced, options.kept),
      plain_(frames, rpc_),
      session_(SessionOptionsOf(options.memory), {this}),
      events_(*this),
      decoder_(DecoderOptionsOf(options, places_), events_) {}

Scrubber::~Scrubber() = default;

Result<void> Scrubber::OnFrame(const Frame& frame) {
  if (frame.link == LinkType::kUnsupported)
    return Fail(
        fmt::format("frame {} has a link type that stag does not know: nothing is known of its headers, and "
                    "nothing is written",
                    frame.ref.number));
  ++replaced_.frames;
  headers_.Scrub(frame, frame_);
  Frame scrubbed = frame;
  scrubbed.bytes = frame_;
  if (auto appended = frames_.Append(scrubbed, headers_.payload(), checksums_.Judge(frame)); !appended) return appended;
  const link::Packet& packet = headers_.packet();
  if (headers_.is_datagram() || packet.carrier == link::Carrier::kRpcbind) {
    const FramePayload& payload = headers_.payload();
    const Bytes datagram = frame.bytes.subspan(payload.offset, payload.captured);
    const bool cut = frame.wire_length > frame.bytes.size();
    const uint64_t length = packet.carrier == link::Carrier::kRpcbind ? packet.wire_length
                            : cut ? uint64_t{payload.captured} + (frame.wire_length - frame.bytes.size())
                                  : payload.captured;
    if (!plain_.OnDatagram(packet, datagram, length, frames_.frames()) && headers_.is_other()) ++replaced_.other_frames;
  } else if (headers_.is_other()) {
    ++replaced_.other_frames;
  } else if (packet.carrier == link::Carrier::kTcp) {
    plain_.OnSegment(packet, frames_.frames());
  }
  decoder_.OnPacket(packet, frame.ref);
  return {};
}

void Scrubber::Finish() {
  decoder_.Finish();
  session_.Finish();
}

void Scrubber::Events::OnEvent(const fabric::Event& event) {
  scrubber_.places_.Find(event, scrubber_.current_);
  scrubber_.session_.OnEvent(event);
  if (event.kind() == fabric::EventKind::kClosed) scrubber_.places_.Close(event.connection->id);
}

void Scrubber::Events::OnAside(const fabric::Aside& aside) { scrubber_.session_.OnAside(aside); }

void Scrubber::OnMessage(const Connection& connection, const Message& message, const Transaction* t) {
  if (message.early) early_[connection.info.id] = current_;
  const uint64_t header = KnownHeader(message.header, message.bytes.size());
  send_.assign(message.bytes.size(), std::byte{0});
  std::copy_n(message.bytes.begin(), header, send_.begin());
  if (!message.payload.empty()) {
    stream_.clear();
    ScrubStream(message, t);
    const auto at = static_cast<size_t>(message.payload.data() - message.bytes.data());
    std::copy_n(stream_.begin(), std::min(stream_.size(), send_.size() - at),
                send_.begin() + static_cast<ptrdiff_t>(at));
  }
  const auto early = early_.find(connection.info.id);
  if (message.again && early != early_.end()) {
    WritePlaces(frames_, early->second, send_);
    early_.erase(early);
  } else if (!message.again) {
    WritePlaces(frames_, current_, send_);
  }
}

// The inline part of a message, into stream_.
void Scrubber::ScrubStream(const Message& message, const Transaction* t) {
  const Bytes payload = message.payload;
  const uint64_t length = message.missing == fabric::Missing::kLost ? uint64_t{1} << 32 : message.payload_length;
  if (message.header.proc == rpcrdma::kNomsg) return;
  static const std::vector<DataItem> kNone;
  // Where padding is in it is not certain.
  if (message.role == Role::kCall && message.header.proc == rpcrdma::kMsgp) return rpc_.Call(payload, stream_);
  if (message.role == Role::kCall && t) return rpc_.Call(payload, length, t->call.items, stream_);
  if (message.role == Role::kReply && t && message.header.proc != rpcrdma::kMsgp) {
    std::vector<FileRange> reads, writes;
    RpcScrubber::Ranges(t->call.rpc, t->call.stream, t->call.stream_length, t->call.items, reads, writes);
    return rpc_.Reply(t->call.rpc, reads, payload, length, t->reply.items, stream_);
  }
  if (message.role == Role::kReply) return rpc_.Reply(payload, stream_);
}

void Scrubber::OnRdma(const Connection&, const RdmaOperation& operation) {
  if (!operation.transaction || !operation.segment || operation.retired || current_.empty()) return;
  const Transaction& t = *operation.transaction;
  Moved moved;
  const auto within = [&](const session::Reused<session::SegmentRecord>& records) {
    return operation.segment >= records.begin() && operation.segment < records.end();
  };
  moved.of_reply = within(t.reply.segments);
  if (!moved.of_reply && !within(t.call.segments)) return;
  const auto& records = moved.of_reply ? t.reply.segments : t.call.segments;
  moved.segment = static_cast<size_t>(operation.segment - records.begin());
  moved.offset = operation.segment_offset;
  moved.length = operation.event->rdma().length;
  moved.places = current_;
  moved_[t.serial].push_back(std::move(moved));
}

// The message that a position-zero Read chunk or the Reply chunk holds.
void Scrubber::AddStream(const Transaction& t, bool reply, std::vector<std::byte>& storage,
                         std::vector<Extent>& extents) {
  const session::Half& half = reply ? static_cast<const session::Half&>(t.reply) : t.call;
  if (half.header.proc != rpcrdma::kNomsg || half.stream.empty()) return;
  if (reply) {
    std::vector<FileRange> reads, writes;
    RpcScrubber::Ranges(t.call.rpc, t.call.stream, t.call.stream_length, t.call.items, reads, writes);
    rpc_.Reply(t.call.rpc, reads, half.stream, half.stream_length, half.items, storage);
  } else {
    rpc_.Call(half.stream, half.stream_length, half.items, storage);
  }
  uint64_t at = 0;
  const auto add = [&](size_t segment, uint64_t length) {
    if (at >= storage.size()) return;
    const auto n = static_cast<size_t>(std::min<uint64_t>(length, storage.size() - at));
    Extent extent;
    extent.segment = segment;
    extent.end = n;
    extent.bytes = Bytes(storage).subspan(static_cast<size_t>(at), n);
    extents.push_back(extent);
    at += length;
  };
  if (!reply) {
    if (half.read_chunks.empty() || half.read_chunks.front().position != 0) return;
    for (uint32_t index : half.read_chunks.front().segments) add(index, half.segments[index].segment.length);
    return;
  }
  const auto& offered = t.call.header.reply_chunk;
  const auto& returned = t.reply.header.reply_chunk;
  if (!offered || !returned) return;
  const auto lengths = t.reply.header.Of(*returned);
  for (uint32_t i = 0; i < lengths.size() && i < offered->count; ++i)
    add(t.SegmentIndex(*offered, i), lengths[i].length);
}

// The data items that RDMA moved.
void Scrubber::AddItems(const Transaction& t, bool reply, const std::vector<FileRange>& ranges,
                        std::vector<std::vector<std::byte>>& storage, std::vector<Extent>& extents) {
  const session::Half& half = reply ? static_cast<const session::Half&>(t.reply) : t.call;
  for (const DataItem& item : half.items) {
    if (!item.reduced) continue;
    Extent extent;
    extent.data = true;
    extent.kind = item.item.kind;
    for (const FileRange& range : ranges)
      if (range.op_index == item.item.op_index) extent.range = range;
    const bool needs_content = extent.kind == nfs::ItemKind::kLinkText || kept_.data_hash;
    const session::Payload& payload = half;
    if (needs_content && item.complete && payload.complete) {
      std::vector<std::byte>& content = storage.emplace_back();
      bool kept = true;
      t.ForEach(payload, item.unreduced_offset, item.item.length, [&](Bytes bytes, uint64_t n) {
        kept = kept && bytes.size() == n;
        content.insert(content.end(), bytes.begin(), bytes.end());
      });
      if (kept) extent.bytes = content;
    }
    uint64_t left = item.item.length;
    const auto add = [&](size_t segment, uint64_t length) {
      const uint64_t n = std::min(left, length);
      extent.segment = segment;
      extent.end = n;
      if (n > 0) extents.push_back(extent);
      extent.offset += n;
      left -= n;
    };
    if (reply && t.reply.read_chunks.empty()) {
      if (item.chunk >= t.call.header.write_chunks.size() || item.chunk >= t.reply.header.write_chunks.size()) continue;
      const rpcrdma::Chunk& offered = t.call.header.write_chunks[item.chunk];
      const auto returned = t.reply.header.Of(t.reply.header.write_chunks[item.chunk]);
      for (uint32_t i = 0; i < offered.count && i < returned.size(); ++i)
        add(t.SegmentIndex(offered, i), returned[i].length);
    } else if (item.chunk < half.read_chunks.size()) {
      for (uint32_t index : half.read_chunks[item.chunk].segments) add(index, half.segments[index].segment.length);
    }
  }
}

void Scrubber::Put(const std::vector<Extent>& extents, const Moved& moved) {
  send_.assign(moved.length, std::byte{0});
  uint64_t known = 0;
  for (const Extent& extent : extents) {
    if (extent.segment != moved.segment) continue;
    const uint64_t begin = std::max(extent.begin, moved.offset),
                   end = std::min(extent.end, moved.offset + moved.length);
    if (begin >= end) continue;
    const MutableBytes out = MutableBytes(send_).subspan(begin - moved.offset, end - begin);
    const uint64_t at = begin - extent.begin;
    known += end - begin;
    if (extent.data) {
      rpc_.Data(extent.kind, extent.range, extent.bytes, extent.offset + at, out);
    } else {
      const Bytes from = extent.bytes.subspan(at, end - begin);
      std::copy(from.begin(), from.end(), out.begin());
    }
  }
  replaced_.zeroed_bytes += moved.length - known;
  WritePlaces(frames_, moved.places, send_);
}

void Scrubber::OnTransaction(const Connection&, const Transaction& t) {
  const auto found = moved_.find(t.serial);
  if (found == moved_.end()) return;
  std::vector<FileRange> reads, writes;
  RpcScrubber::Ranges(t.call.rpc, t.call.stream, t.call.stream_length, t.call.items, reads, writes);
  std::vector<std::byte> call_stream, reply_stream;
  std::vector<std::vector<std::byte>> storage;
  storage.reserve(t.call.items.size() + t.reply.items.size());
  // Memory of the Call, and, of legacy peers, of the Reply.
  std::vector<Extent> extents, legacy;
  AddStream(t, false, call_stream, extents);
  AddItems(t, false, writes, storage, extents);
  AddStream(t, true, reply_stream, extents);
  AddItems(t, true, reads, storage, t.reply.read_chunks.empty() ? extents : legacy);
  for (const Moved& moved : found->second) Put(moved.of_reply ? legacy : extents, moved);
  moved_.erase(found);
}

void Scrubber::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  early_.erase(connection.info.id);
}

}  // namespace stag::cli
