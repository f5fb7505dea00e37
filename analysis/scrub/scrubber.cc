// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/scrubber.h"

#include <fmt/format.h>

#include <algorithm>

namespace stag::scrub {
namespace {

using session::Connection;
using session::DataItem;
using session::Message;
using session::RdmaOperation;
using session::Role;
using session::Transaction;

// What each may have of the memory: 1/4 the decoder, 1/16 each of these, the session the rest.
uint64_t PlacesOf(uint64_t memory) { return memory / 8; }
uint64_t MovedOf(uint64_t memory) { return memory / 16; }
PlainRpcLimits PlainOf(uint64_t memory) {
  PlainRpcLimits limits;
  limits.bytes = std::min<uint64_t>(limits.bytes, memory / 32);
  return limits;
}

session::SessionOptions SessionOptionsOf(uint64_t memory) {
  session::SessionOptions options;
  options.memory_limit = memory / 2;
  return options;
}

// What is kept of an event for later, in bytes.
uint64_t SizeOf(const std::vector<Place>& places) {
  constexpr uint64_t kEntry = 256;  // with its part of the tables
  return kEntry + 2 * places.size() * sizeof(Place);
}

fabric::DecoderOptions DecoderOptionsOf(const ScrubOptions& scrub, fabric::PacketObserver& packets) {
  fabric::DecoderOptions options;
  options.memory_limit = scrub.memory / 4;
  options.tunnel_ports = scrub.tunnel_ports;
  options.keep_copies = true;  // a copy becomes what the first one does
  options.assemble = false;    // what is found in a fragment has no place in its frame
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

// Keeps the word before each Read chunk when it is the chunk's length: what the Read list says.
void KeepChunkLengths(const session::Half& call, Bytes payload, MutableBytes out) {
  constexpr uint64_t kWord = 4;
  uint64_t at = 0, length = 0;  // in the stream, in the message
  for (const session::ReadChunk& chunk : call.read_chunks) {
    if (chunk.position == 0) continue;
    if (chunk.position < length || chunk.position - length > payload.size() - at) return;
    at += chunk.position - length;
    if (at < kWord) return;
    const uint32_t count = LoadBe32(&payload[static_cast<size_t>(at - kWord)]);
    if (chunk.length != count && chunk.length != RoundUp4(count)) return;
    StoreBe32(&out[static_cast<size_t>(at - kWord)], count);
    length = chunk.position + RoundUp4(count);
  }
}

// A Read chunk of the Call is not where its arguments have a data item.
bool HasMisplacedChunk(const Transaction& t) {
  const auto chunks = std::count_if(t.call.read_chunks.begin(), t.call.read_chunks.end(),
                                    [](const session::ReadChunk& chunk) { return chunk.position > 0; });
  return chunks > std::count_if(t.call.items.begin(), t.call.items.end(), [](const DataItem& i) { return i.reduced; });
}

// The items of a Reply. Where results cannot be followed behind one that is not there, it is in another Write chunk
// than its own, if one came back with as many bytes.
std::vector<DataItem> ItemsOf(const session::ReplyHalf& reply) {
  std::vector<DataItem> items = reply.items;
  if (items.empty() || items.back().reduced) return items;
  const uint64_t length = items.back().item.length;
  if (items.back().item.offset + length <= reply.stream_length) return items;
  items.back().reduced = std::any_of(reply.header.write_chunks.begin(), reply.header.write_chunks.end(),
                                     [&](const rpcrdma::Chunk& chunk) { return reply.header.SizeOf(chunk) == length; });
  return items;
}

}  // namespace

Scrubber::Scrubber(ScrubbedFrames& frames, Pseudonyms& pseudonyms, Replaced& replaced, const ScrubOptions& options)
    : frames_(frames),
      replaced_(replaced),
      kept_(options.kept),
      headers_(pseudonyms, replaced, options.kept.addresses, options.tunnel_ports),
      checksums_(options.tunnel_ports),
      first_(frames.frames()),
      places_(frames, frames.frames(), PlaceLimits::For(PlacesOf(options.memory))),
      rpc_(pseudonyms, replaced, options.kept),
      plain_(frames, rpc_, PlainOf(options.memory)),
      session_(SessionOptionsOf(options.memory), {this}),
      events_(*this),
      decoder_(DecoderOptionsOf(options, places_), events_),
      kept_places_(MovedOf(options.memory)) {}

Scrubber::~Scrubber() = default;

Result<void> Scrubber::OnFrame(const Frame& frame) {
  if (frame.link == LinkType::kUnsupported) ++replaced_.unknown_links;
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

Result<void> Scrubber::OnOtherBlock(const Frame& frame) {
  ++replaced_.blocks;
  return frames_.AppendEmpty(frame.ref);
}

void Scrubber::Finish() {
  decoder_.Finish();
  session_.Finish();
  replaced_.forgotten += places_.forgotten();
}

void Scrubber::Events::OnEvent(const fabric::Event& event) {
  if (event.kind() == fabric::EventKind::kAnomaly) scrubber_.places_.Note(event);
  scrubber_.places_.Find(event, scrubber_.current_);
  scrubber_.session_.OnEvent(event);
  if (event.kind() == fabric::EventKind::kClosed) scrubber_.places_.Close(event.connection->id);
}

void Scrubber::Events::OnAside(const fabric::Aside& aside) {
  if (aside.kind == fabric::Aside::Kind::kUnreliable) scrubber_.ScrubUnreliable(aside);
  scrubber_.session_.OnAside(aside);
}

void Scrubber::ScrubUnreliable(const fabric::Aside& aside) {
  rpcrdma::Header header;
  if (rpcrdma::Decode(aside.bytes, aside.length, header) != ParseStatus::kOk || header.proc != rpcrdma::kMsg ||
      header.vers != rpcrdma::kVersion1)
    return;
  constexpr size_t kType = 8;
  const Bytes payload = aside.bytes.subspan(header.length);
  if (payload.size() < kType || LoadBe32(payload.data()) != header.xid) return;
  LoadBe32(&payload[4]) == rpc::kCall ? rpc_.Call(payload, stream_) : rpc_.Reply(payload, stream_);
  send_.assign(aside.bytes.begin(), aside.bytes.begin() + static_cast<ptrdiff_t>(header.length));
  send_.insert(send_.end(), stream_.begin(), stream_.end());
  frames_.Write({first_ + aside.frame.number, 0, send_.size()}, send_);
}

void Scrubber::OnMessage(const Connection& connection, const Message& message, const Transaction* t) {
  if (message.early) {
    early_.erase(connection.info.id);
    Early kept{current_, Charge(kept_places_)};
    if (kept.charge.TrySet(SizeOf(current_)))
      early_.emplace(connection.info.id, std::move(kept));
    else
      ++replaced_.forgotten;
  }
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
  // What is behind an RDMA_ERROR is nothing, or something.
  if (message.header.proc == rpcrdma::kError && header < send_.size() &&
      std::any_of(message.bytes.begin() + static_cast<ptrdiff_t>(header), message.bytes.end(),
                  [](std::byte b) { return b != std::byte{0}; }))
    send_.back() = std::byte{1};
  if (t && message.role == Role::kCall && message.header.proc == rpcrdma::kMsg && HasMisplacedChunk(*t))
    KeepMisplaced(*t, message);
  if (message.again && early != early_.end()) {
    WritePlaces(frames_, early->second.places, send_);
    early_.erase(early);
  } else if (!message.again) {
    WritePlaces(frames_, current_, send_);
  }
}

void Scrubber::KeepMisplaced(const Transaction& t, const Message& message) {
  Inline kept{Charge(kept_places_), current_, message.bytes.size() - message.payload.size(), message.payload.size()};
  if (!kept.charge.TrySet(SizeOf(current_))) return void(++replaced_.forgotten);
  misplaced_.insert_or_assign(t.serial, std::move(kept));
}

// The inline part of a message, into stream_.
void Scrubber::ScrubStream(const Message& message, const Transaction* t) {
  const Bytes payload = message.payload;
  const uint64_t length = message.missing == fabric::Missing::kLost ? uint64_t{1} << 32 : message.payload_length;
  constexpr size_t kWord = 4;
  if (message.header.proc == rpcrdma::kNomsg) {  // nothing belongs there; an xid tells that it is a message
    stream_.assign(payload.size(), std::byte{0});
    if (payload.size() >= kWord && LoadBe32(payload.data()) == message.header.xid)
      StoreBe32(stream_.data(), message.header.xid);
    return;
  }
  if (message.role == Role::kCall && message.header.proc == rpcrdma::kMsgp)
    return rpc_.PaddedCall(payload, length, message.header.thresh, stream_);
  if (message.role == Role::kCall && t) {
    rpc_.Call(payload, length, t->call.items, stream_);
    return KeepChunkLengths(t->call, payload, stream_);
  }
  if (message.role == Role::kReply && t && message.header.proc != rpcrdma::kMsgp) {
    std::vector<FileRange> reads, writes;
    RpcScrubber::Ranges(t->call.rpc, t->call.stream, t->call.stream_length, t->call.items, reads, writes);
    return rpc_.Reply(t->call.rpc, reads, payload, length, ItemsOf(t->reply), stream_);
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
  if (!kept_places_.HasRoom(SizeOf(current_))) return void(++replaced_.forgotten);
  MovedPackets& all = moved_.try_emplace(t.serial, kept_places_).first->second;
  all.charge.Add(SizeOf(current_));
  all.packets.push_back(std::move(moved));
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
  if (!reply || !half.read_chunks.empty()) {
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

void Scrubber::ScrubWhole(const Transaction& t, const Inline& send, std::vector<std::byte>& storage,
                          std::vector<Extent>& extents) {
  static const std::vector<DataItem> kInline;
  std::vector<std::byte> whole;
  if (!t.CopyTo(t.call, whole)) return;
  rpc_.Call(whole, whole.size(), kInline, storage);
  std::vector<std::byte> stream(send.size);
  uint64_t at = 0;
  for (const session::Piece& piece : t.call.pieces) {
    const Bytes bytes = Bytes(storage).subspan(static_cast<size_t>(at), static_cast<size_t>(piece.length));
    at += piece.length;
    if (piece.source == session::Piece::Source::kStream) {
      std::copy(bytes.begin(), bytes.end(), stream.begin() + static_cast<ptrdiff_t>(piece.offset));
    } else if (piece.source == session::Piece::Source::kSegment) {
      Extent extent;
      extent.segment = piece.segment;
      extent.begin = piece.offset;
      extent.end = piece.offset + piece.length;
      extent.bytes = bytes;
      extents.push_back(extent);
    }
  }
  std::vector<Place> places = send.places;
  SkipPlaces(places, send.header);
  WritePlaces(frames_, places, stream);
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
  const auto misplaced = misplaced_.extract(t.serial);
  if (found == moved_.end()) return;
  std::vector<FileRange> reads, writes;
  RpcScrubber::Ranges(t.call.rpc, t.call.stream, t.call.stream_length, t.call.items, reads, writes);
  std::vector<std::byte> call_stream, reply_stream, whole;
  std::vector<std::vector<std::byte>> storage;
  storage.reserve(t.call.items.size() + t.reply.items.size());
  // Memory of the Call, and, of legacy peers, of the Reply.
  std::vector<Extent> extents, legacy;
  AddStream(t, false, call_stream, extents);
  AddItems(t, false, writes, storage, extents);
  if (misplaced) ScrubWhole(t, misplaced.mapped(), whole, extents);
  AddStream(t, true, reply_stream, t.reply.read_chunks.empty() ? extents : legacy);
  AddItems(t, true, reads, storage, t.reply.read_chunks.empty() ? extents : legacy);
  for (const Moved& moved : found->second.packets) Put(moved.of_reply ? legacy : extents, moved);
  moved_.erase(found);
}

void Scrubber::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  early_.erase(connection.info.id);
}

}  // namespace stag::scrub
