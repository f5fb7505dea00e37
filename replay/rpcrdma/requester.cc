// SPDX-License-Identifier: GPL-2.0-or-later
//
// The main flow: Send fills a Slot (memory, chunk lists, message) and posts it; OnMessage finds the Slot of what came
// back by its xid, checks it against what the Call offered, and hands the Answer to the sink.
#include "replay/rpcrdma/requester.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <random>
#include <utility>

#include "protocol/rpc/message.h"
#include "replay/rpcrdma/settings.h"

namespace stag::rpcrdma {

namespace {

using Clock = std::chrono::steady_clock;
using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::Segment;

constexpr size_t kBackwardSends = 8;
constexpr uint64_t kBackward = uint64_t{1} << 32;  // in the id of a backward Reply's Send
constexpr uint32_t kNobody = UINT32_MAX;

// Registering less costs more than copying it.
constexpr size_t kWorthRegistering = 16384;
// The header of an RPC Call is ten words at least.
constexpr size_t kSmallestCall = 40;

}  // namespace

void AnswerSink::OnBackwardCall(Bytes, std::vector<std::byte>&) {}

struct Requester::Impl {
  // Memory that the peer may be told of.
  struct Memory {
    endpoint::Region region;
    bool fresh = true;   // nothing was put there yet
    bool spent = false;  // needs another handle before it is used again
    bool named = false;  // the peer knows its handle
  };
  struct Slot {
    uint32_t xid = 0;
    uint64_t cookie = 0;
    bool outstanding = false, sending = false;
    Clock::time_point sent;
    Header call;
    endpoint::Region send;  // the message
    // What Read chunks name: the message at Position Zero, the argument in ItemRoom or copied, the argument where the
    // caller has it (registered until the answer); and what Write and Reply chunks name.
    Memory stream, item, lent, writable;
    uint64_t bytes = 0;  // of the RPC Call
    std::array<Memory*, 4> named() { return {&stream, &item, &lent, &writable}; }
  };
  struct BackwardSend {
    endpoint::Region region;
    bool busy = false;
  };

  Impl(std::unique_ptr<endpoint::Endpoint> e, const RequesterOptions& o, AnswerSink& s)
      : endpoint(std::move(e)),
        options(o),
        sink(s),
        slots(std::max(o.credits, 1u)),
        table(std::bit_ceil(slots.size() * 4), kNobody),
        next_xid(std::random_device{}()) {
    settings = Agree(o.send_private_data ? PrivateData(o) : std::vector<std::byte>{}, endpoint->peer_private_data());
    for (size_t i = slots.size(); i-- > 0;) free.push_back(static_cast<uint32_t>(i));
    options.segment_size = std::max(options.segment_size, 1u);
    options.segments = std::max(options.segments, 1u);
  }

  bool CanSend();
  Result<uint32_t> Send(const CallSpec& spec);
  // The unreduced Call in three parts, and how it goes.
  struct Parts {
    Bytes head, item, tail;  // `tail`: what follows the item and its padding
    uint32_t padding = 0;    // of the item
    bool reduced = false;    // the item has a Read chunk of its own
    Memory* at = nullptr;    // where the item lies; nullptr: it goes with head and tail
    uint64_t chunk() const { return reduced ? item.size() : 0; }
    uint64_t stream() const { return head.size() + tail.size() + (reduced ? 0 : item.size() + padding); }
    // What of the stream is put together, at() being named by itself.
    uint64_t rest() const { return stream() - (reduced || !at ? 0 : item.size()); }
  };
  Result<Parts> Divide(const CallSpec& spec) const;
  Result<void> PlaceItem(Slot& slot, const CallSpec& spec, Parts& parts, bool named);
  Result<void> Fill(Slot& slot, const CallSpec& spec);
  void MakeHeader(Slot& slot, const CallSpec& spec, const Parts& parts, bool long_call);
  Bytes PutStream(const Slot& slot, const Parts& parts, std::byte* to);
  Result<void> Ensure(Memory& memory, uint64_t size, endpoint::Access access);
  Result<void> Room(endpoint::Region& region, uint64_t size, endpoint::Access access);
  Requester::Room ItemRoom(uint32_t size);
  bool Invalidated(uint32_t handle, uint32_t index);
  void Fence(Slot& slot);
  void Unlend(Slot& slot);
  uint64_t Step(uint64_t length) const;  // bytes of a segment, of a chunk of `length`
  void AddReads(Header& header, uint32_t position, const endpoint::Region& region, uint64_t at, uint64_t length) const;
  Chunk AddChunk(Header& header, const endpoint::Region& region, uint64_t at, uint64_t length) const;
  uint32_t NewXid();
  size_t Poll(std::chrono::microseconds wait);
  void OnCompletion(const endpoint::Completion& completion);
  void OnMessage(const endpoint::Completion& completion);
  bool Readable() const;
  void OnBackward(Bytes message, uint32_t xid);
  std::string_view Take(Slot& slot, Bytes inline_payload, Answer& answer);
  void Finish(uint32_t index, Answer& answer);
  void LoseAll();
  void Recycle(uint32_t index);

  std::unique_ptr<endpoint::Endpoint> endpoint;
  RequesterOptions options;
  AnswerSink& sink;
  Settings settings;
  RequesterStats stats;
  std::vector<Slot> slots;
  std::vector<uint32_t> free;
  std::vector<uint32_t> table;  // slot by xid modulo its size
  uint32_t next_xid;
  uint32_t outstanding = 0;
  std::array<BackwardSend, kBackwardSends> backward;
  Header reply;
  std::vector<std::byte> bytes;  // scratch
  std::vector<Bytes> chunks;
  size_t answered = 0;
  std::optional<Clock::time_point> batch;  // when the first Call since the last Poll was sent
  Clock::time_point arrived;               // of what the present Poll works on
};

// RFC 8166 section 3.3: one Call until the first Reply has a grant.
bool Requester::Impl::CanSend() {
  if (endpoint->state() != endpoint::State::kOpen || free.empty()) return false;
  if (options.ignore_credits || outstanding < std::min(stats.grant, options.credits)) return true;
  ++stats.credit_stalls;
  return false;
}

uint32_t Requester::Impl::NewXid() {
  while (table[next_xid & (table.size() - 1)] != kNobody) ++next_xid;
  return next_xid++;
}

Result<void> Requester::Impl::Room(endpoint::Region& region, uint64_t size, endpoint::Access access) {
  if (region.bytes.size() >= size) return {};
  if (!region.bytes.empty()) endpoint->Deregister(region);
  region = {};
  Result<endpoint::Region> larger = endpoint->Register(std::bit_ceil(std::max<uint64_t>(size, 4096)), access);
  if (!larger) return tl::unexpected(larger.error());
  region = *larger;
  return {};
}

// At least `size` bytes, with a valid handle.
Result<void> Requester::Impl::Ensure(Memory& memory, uint64_t size, endpoint::Access access) {
  if (size == 0) return {};
  if (memory.region.bytes.size() < size) {
    memory.spent = false;
    memory.fresh = true;
    return Room(memory.region, size, access);
  }
  if (!memory.spent) return {};
  memory.spent = false;
  return endpoint->Renew(memory.region);
}

Requester::Room Requester::Impl::ItemRoom(uint32_t size) {
  if (free.empty() || endpoint->state() != endpoint::State::kOpen) return {};
  Memory& memory = slots[free.back()].item;
  if (!Ensure(memory, RoundUp4(size), endpoint::Access::kRemoteRead)) return {};
  return {memory.region.bytes.first(size), std::exchange(memory.fresh, false)};
}

uint64_t Requester::Impl::Step(uint64_t length) const {
  const uint64_t equal = RoundUp4((length + options.segments - 1) / options.segments);
  return std::min<uint64_t>(options.segment_size, equal);
}

void Requester::Impl::AddReads(Header& header, uint32_t position, const endpoint::Region& region, uint64_t at,
                               uint64_t length) const {
  const uint64_t step = Step(length);
  for (uint64_t done = 0; done < length;) {
    const auto n = static_cast<uint32_t>(std::min(step, length - done));
    header.reads.push_back({position, {region.handle, n, region.offset + at + done}});
    done += n;
  }
}

Chunk Requester::Impl::AddChunk(Header& header, const endpoint::Region& region, uint64_t at, uint64_t length) const {
  Chunk chunk{static_cast<uint32_t>(header.segments.size()), 0};
  const uint64_t step = Step(length);
  for (uint64_t done = 0; done < length; ++chunk.count) {
    const auto n = static_cast<uint32_t>(std::min(step, length - done));
    header.segments.push_back({region.handle, n, region.offset + at + done});
    done += n;
  }
  return chunk;
}

// The header of a Call goes into `slot.call`, and encoded into `bytes`.
void Requester::Impl::MakeHeader(Slot& slot, const CallSpec& spec, const Parts& parts, bool long_call) {
  Header& header = slot.call;
  header.Clear();
  header.xid = slot.xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = options.credits;
  header.proc = long_call ? rpcrdma::kNomsg : rpcrdma::kMsg;
  const uint64_t in_item = parts.at ? static_cast<uint64_t>(parts.item.data() - parts.at->region.bytes.data()) : 0;
  if (long_call) {
    const bool apart = parts.at && !parts.reduced;
    const uint64_t first = apart ? parts.head.size() : parts.rest();
    AddReads(header, 0, slot.stream.region, 0, first);
    if (apart) {
      AddReads(header, 0, parts.at->region, in_item, parts.item.size());
      AddReads(header, 0, slot.stream.region, first, parts.rest() - first);
    }
  }
  if (parts.reduced)
    AddReads(header, static_cast<uint32_t>(spec.item_offset), parts.at->region, in_item,
             parts.item.size() + (options.pad_read_chunks ? parts.padding : 0));
  uint64_t at = 0;
  for (const uint32_t offered : spec.write_chunks) {
    header.write_chunks.push_back(AddChunk(header, slot.writable.region, at, offered));
    at += RoundUp4(offered);
  }
  if (spec.reply_chunk > 0) header.reply_chunk = AddChunk(header, slot.writable.region, at, spec.reply_chunk);
  bytes.clear();
  rpcrdma::Encode(header, bytes);
}

Result<Requester::Impl::Parts> Requester::Impl::Divide(const CallSpec& spec) const {
  Parts parts;
  const bool apart = !spec.item.empty();
  const uint64_t item = apart ? spec.item.size() : spec.item_length, padded = RoundUp4(item);
  const uint64_t size = spec.message.size() + (apart ? padded : 0);
  if (size < kSmallestCall) return Fail("an RPC Call has 40 bytes at least");
  const bool inside =
      spec.item_offset % 4 == 0 && spec.item_offset >= kSmallestCall && spec.item_offset + padded <= size;
  if (item > 0 && (!inside || (apart && spec.item_length != 0 && spec.item_length != item)))
    return Fail("the reduced argument is not inside the Call");
  parts.reduced = spec.item_length > 0;
  parts.head = item > 0 ? spec.message.first(static_cast<size_t>(spec.item_offset)) : spec.message;
  if (item == 0) return parts;
  parts.item = apart ? spec.item : spec.message.subspan(static_cast<size_t>(spec.item_offset), spec.item_length);
  parts.tail = spec.message.subspan(static_cast<size_t>(spec.item_offset + (apart ? 0 : padded)));
  parts.padding = static_cast<uint32_t>(padded - item);
  return parts;
}

// Where the item goes out from: where it lies, if that is worth it, or memory of the slot's; nothing: with the rest.
// `named`: by a Read chunk or at Position Zero.
Result<void> Requester::Impl::PlaceItem(Slot& slot, const CallSpec& spec, Parts& parts, bool named) {
  const size_t padded = parts.item.size() + parts.padding;
  const MutableBytes room = slot.item.region.bytes;
  const bool in_room = !room.empty() && parts.item.data() == room.data() && padded <= room.size();
  // What goes by Send may be read again after the Answer, when the network lost its acknowledgment.
  const bool lend = named && spec.item.size() >= kWorthRegistering && !(options.pad_read_chunks && parts.padding > 0);
  if (!in_room && lend) {
    // Only for the peer to read: nobody writes there.
    auto* const at = const_cast<std::byte*>(spec.item.data());
    auto lent = endpoint->Register(MutableBytes(at, spec.item.size()), endpoint::Access::kRemoteRead);
    if (!lent) return tl::unexpected(lent.error());
    slot.lent.region = *lent;
    parts.at = &slot.lent;
    return {};
  }
  if (!in_room && !parts.reduced) return {};
  if (auto ok = Ensure(slot.item, padded, endpoint::Access::kRemoteRead); !ok) return ok;
  std::byte* const at = slot.item.region.bytes.data();
  if (!in_room) {
    std::ranges::copy(parts.item, at);
    slot.item.fresh = true;
    parts.item = {at, parts.item.size()};
  }
  std::memset(at + parts.item.size(), 0, parts.padding);
  parts.at = &slot.item;
  return {};
}

// What is put together of the Call: by Send behind the header, or at Position Zero. Returns what follows the item.
Bytes Requester::Impl::PutStream(const Slot& slot, const Parts& parts, std::byte* to) {
  std::byte* const begin = to;
  const auto put = [&to](Bytes piece) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  };
  put(parts.head);
  StoreBe32(begin, slot.xid);
  const std::byte* const behind = to;
  if (!parts.reduced) {
    if (!parts.at) put(parts.item);
    std::memset(to, 0, parts.padding);
    to += parts.padding;
  }
  put(parts.tail);
  return {behind, to};
}

Result<void> Requester::Impl::Fill(Slot& slot, const CallSpec& spec) {
  Result<Parts> divided = Divide(spec);
  if (!divided) return tl::unexpected(divided.error());
  Parts& parts = *divided;

  uint64_t writable = spec.reply_chunk;
  for (const uint32_t bytes_offered : spec.write_chunks) writable += RoundUp4(bytes_offered);
  if (auto ok = Ensure(slot.writable, writable, endpoint::Access::kRemoteWrite); !ok) return ok;
  if (parts.reduced)
    if (auto ok = PlaceItem(slot, spec, parts, true); !ok) return ok;

  // The lists first: their size decides whether the rest fits behind them.
  MakeHeader(slot, spec, parts, false);
  const bool long_call = spec.position_zero || bytes.size() + parts.stream() > settings.send_threshold;
  if (!parts.reduced && !spec.item.empty())
    if (auto ok = PlaceItem(slot, spec, parts, long_call); !ok) return ok;
  if (long_call) {
    if (auto ok = Ensure(slot.stream, parts.rest(), endpoint::Access::kRemoteRead); !ok) return ok;
    MakeHeader(slot, spec, parts, true);
  }
  if (bytes.size() + (long_call ? 0 : parts.stream()) > settings.send_threshold)
    return Fail("the chunk lists alone are larger than the inline threshold");
  if (auto ok = Room(slot.send, bytes.size() + (long_call ? 0 : parts.rest()), endpoint::Access::kLocal); !ok)
    return ok;
  std::byte* const send = slot.send.bytes.data();
  std::memcpy(send, bytes.data(), bytes.size());
  const Bytes behind = PutStream(slot, parts, long_call ? slot.stream.region.bytes.data() : send + bytes.size());
  slot.stream.named |= long_call;
  if (parts.at) parts.at->named |= parts.reduced || long_call;
  slot.writable.named |= writable > 0;
  const auto id = static_cast<uint64_t>(&slot - slots.data());
  if (long_call || !parts.at || parts.reduced) {
    const Bytes whole = slot.send.bytes.first(bytes.size() + (long_call ? 0 : static_cast<size_t>(parts.rest())));
    return endpoint->Send({&whole, 1}, id);
  }
  const std::array<Bytes, 3> pieces{Bytes(send, behind.data()), parts.item, behind};
  return endpoint->Send(pieces, id);
}

Result<uint32_t> Requester::Impl::Send(const CallSpec& spec) {
  if (!CanSend())
    return Fail(endpoint->state() == endpoint::State::kOpen ? "no credit for another Call" : "the connection is over");
  const uint32_t index = free.back();
  Slot& slot = slots[index];
  slot.xid = NewXid();
  slot.cookie = spec.cookie;
  slot.bytes = spec.message.size() + RoundUp4(spec.item.size());
  // Calls of one batch go out together, when it is flushed.
  if (!batch) batch = Clock::now();
  slot.sent = *batch;
  if (auto ok = Fill(slot, spec); !ok) {
    Unlend(slot);
    return tl::unexpected(ok.error());
  }
  free.pop_back();
  slot.outstanding = slot.sending = true;
  table[slot.xid & (table.size() - 1)] = index;
  ++stats.calls;
  stats.sent_bytes += slot.bytes;
  stats.max_outstanding = std::max(stats.max_outstanding, ++outstanding);
  return slot.xid;
}

size_t Requester::Impl::Poll(std::chrono::microseconds wait) {
  answered = 0;
  std::array<endpoint::Completion, endpoint::kCompletions> completions;
  batch.reset();
  size_t n = endpoint->Poll(completions, wait);
  if (n > 0) arrived = Clock::now();
  for (size_t i = 0; i < n; ++i) OnCompletion(completions[i]);
  if (endpoint->state() == endpoint::State::kOpen) return answered;
  while (n > 0) {  // what is left of it: there is nothing to wait for
    n = endpoint->Poll(completions, std::chrono::microseconds{0});
    for (size_t i = 0; i < n; ++i) OnCompletion(completions[i]);
  }
  arrived = Clock::now();
  LoseAll();
  return answered;
}

void Requester::Impl::OnCompletion(const endpoint::Completion& c) {
  if (c.work == endpoint::Work::kReceive) {
    if (c.outcome != endpoint::CompletionStatus::kOk) return;
    OnMessage(c);
    return endpoint->Release(c);
  }
  if (c.id & kBackward) {
    backward[c.id & (kBackward - 1)].busy = false;
    return;
  }
  const auto index = static_cast<uint32_t>(c.id);
  slots[index].sending = false;
  Recycle(index);
}

void Requester::Impl::OnMessage(const endpoint::Completion& c) {
  rpcrdma::Decode(c.bytes, c.bytes.size(), reply);
  const uint32_t index = reply.words < 1 ? kNobody : table[reply.xid & (table.size() - 1)];
  const bool expected = index != kNobody && slots[index].xid == reply.xid && slots[index].outstanding;
  if (c.invalidated && !Invalidated(*c.invalidated, expected ? index : kNobody)) {
    ++stats.discarded;
    return endpoint->Disconnect();
  }
  if (!Readable()) {  // RFC 8166 sections 4.5 and 4.6: discarded silently
    ++stats.discarded;
    return;
  }
  const Bytes payload = c.bytes.subspan(reply.length);
  if (reply.proc == rpcrdma::kMsg && payload.size() >= 8 && LoadBe32(payload.data() + 4) == rpc::kCall)
    return OnBackward(payload, reply.xid);
  if (!expected) {
    ++stats.discarded;
    return;
  }
  Slot& slot = slots[index];
  if (reply.proc != rpcrdma::kError || reply.credit > 0) stats.grant = std::max(reply.credit, 1u);
  Answer answer;
  chunks.clear();
  answer.text = Take(slot, payload, answer);
  if (!answer.text.empty()) answer.kind = AnswerKind::kBad;
  Finish(index, answer);
}

// Whether the transport header is one that a Requester takes.
bool Requester::Impl::Readable() const {
  if (reply.status != ParseStatus::kOk || reply.vers != rpcrdma::kVersion1) return false;
  if (reply.proc == rpcrdma::kError) return reply.err == rpcrdma::kErrVers || reply.err == rpcrdma::kErrChunk;
  return reply.proc == rpcrdma::kMsg || reply.proc == rpcrdma::kNomsg;
}

// A Send with Invalidate came, for the Call of slot `index`, or for none. False: it took memory from another Call that
// is outstanding, which cannot be answered any more.
bool Requester::Impl::Invalidated(uint32_t handle, uint32_t index) {
  const auto spend = [=](Slot& slot) {
    bool found = false;
    for (Memory* const memory : slot.named()) {
      const bool spent = memory->region.handle == handle && !memory->region.bytes.empty();
      memory->spent |= spent;
      found |= spent;
    }
    return found;
  };
  if (index != kNobody && spend(slots[index])) return true;
  return std::ranges::none_of(slots, [&](Slot& slot) { return spend(slot) && slot.outstanding; });
}

// The memory of an answered Call is this side's alone (RFC 8166 section 4.4.1): its handles become invalid. When they
// cannot, the connection ends (section 4.5.4).
void Requester::Impl::Fence(Slot& slot) {
  for (Memory* const memory : slot.named()) {
    const bool open_to_peer = memory->named && !memory->spent && !memory->region.bytes.empty();
    memory->named = false;
    if (open_to_peer && !endpoint->Renew(memory->region)) endpoint->Disconnect();
  }
}

// The caller may use its memory again.
void Requester::Impl::Unlend(Slot& slot) {
  if (!slot.lent.region.bytes.empty()) endpoint->Deregister(slot.lent.region);
  slot.lent = {};
}

// What the answer brought, held against what the Call offered (RFC 8166 section 4.3). Returns what is wrong with it.
std::string_view Requester::Impl::Take(Slot& slot, Bytes payload, Answer& answer) {
  const Header& call = slot.call;
  if (reply.proc == rpcrdma::kError) {
    answer.kind = reply.err == rpcrdma::kErrVers ? AnswerKind::kErrVers : AnswerKind::kErrChunk;
    return {};
  }
  if (!reply.reads.empty()) return "a Reply with a Read list";
  if (reply.write_chunks.size() != call.write_chunks.size()) return "a Reply with another number of Write chunks";

  // Bytes of a chunk: its segments stand one after the other in the slot's memory.
  const auto take = [&](const Chunk& offered, const Chunk& returned, Bytes& out) -> std::string_view {
    uint64_t sum = 0;
    bool ended = false;
    if (returned.count != offered.count) return "a chunk with another number of segments";
    for (uint32_t i = 0; i < offered.count; ++i) {
      const Segment &o = call.segments[offered.first + i], &r = reply.segments[returned.first + i];
      if (r.length > o.length) return "a segment with more bytes than were offered";
      if (ended && r.length > 0) return "a chunk whose segments were not filled in order";
      ended = r.length < o.length;
      sum += r.length;
    }
    if (sum > 0) {
      const endpoint::Region& region = slot.writable.region;
      out = region.bytes.subspan(call.segments[offered.first].offset - region.offset, sum);
    }
    return {};
  };
  for (size_t i = 0; i < call.write_chunks.size(); ++i) {
    chunks.emplace_back();
    if (const auto wrong = take(call.write_chunks[i], reply.write_chunks[i], chunks.back()); !wrong.empty())
      return wrong;
  }
  answer.message = payload;
  if (reply.proc == rpcrdma::kNomsg) {
    if (!call.reply_chunk || !reply.reply_chunk) return "an RDMA_NOMSG without a Reply chunk";
    if (const auto wrong = take(*call.reply_chunk, *reply.reply_chunk, answer.message); !wrong.empty()) return wrong;
  }
  if (answer.message.size() < 12 || LoadBe32(answer.message.data()) != slot.xid ||
      LoadBe32(answer.message.data() + 4) != rpc::kReply)
    return "no RPC Reply with the xid of its header";
  return {};
}

void Requester::Impl::Finish(uint32_t index, Answer& answer) {
  Slot& slot = slots[index];
  answer.cookie = slot.cookie;
  answer.xid = slot.xid;
  answer.chunks = chunks;
  answer.latency = arrived - slot.sent;
  stats.received_bytes += answer.message.size();
  for (const Bytes chunk : chunks) stats.received_bytes += chunk.size();
  ++(answer.kind == AnswerKind::kLost ? stats.lost : answer.kind == AnswerKind::kBad ? stats.bad : stats.answers);
  stats.errors += answer.kind == AnswerKind::kErrVers || answer.kind == AnswerKind::kErrChunk;
  slot.outstanding = false;
  Unlend(slot);
  if (options.fresh_handles && answer.kind != AnswerKind::kLost) Fence(slot);
  table[slot.xid & (table.size() - 1)] = kNobody;
  --outstanding;
  ++answered;
  sink.OnAnswer(answer);
  Recycle(index);
}

void Requester::Impl::Recycle(uint32_t index) {
  Slot& slot = slots[index];
  if (!slot.outstanding && !slot.sending) free.push_back(index);
}

void Requester::Impl::LoseAll() {
  for (uint32_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].outstanding) continue;
    Answer answer;
    answer.kind = AnswerKind::kLost;
    chunks.clear();
    Finish(i, answer);
  }
}

// RFC 8167: this side answers as a responder, inline.
void Requester::Impl::OnBackward(Bytes message, uint32_t xid) {
  ++stats.backward_calls;
  std::vector<std::byte> out;
  sink.OnBackwardCall(message, out);
  const auto it = std::ranges::find(backward, false, &BackwardSend::busy);
  if (out.empty() || it == backward.end()) return;
  Header header;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = kBackwardSends;
  header.proc = rpcrdma::kMsg;
  bytes.clear();
  rpcrdma::Encode(header, bytes);
  bytes.insert(bytes.end(), out.begin(), out.end());
  if (bytes.size() > settings.send_threshold || !Room(it->region, bytes.size(), endpoint::Access::kLocal)) return;
  std::ranges::copy(bytes, it->region.bytes.begin());
  const Bytes whole = it->region.bytes.first(bytes.size());
  if (endpoint->Send({&whole, 1}, kBackward | static_cast<uint64_t>(it - backward.begin()))) it->busy = true;
}

std::vector<std::byte> Requester::PrivateData(const RequesterOptions& options) {
  return EncodeSettings(options.send_size, options.receive_size, options.remote_invalidation);
}

void Requester::Prepare(const endpoint::Transport& transport, RequesterOptions& options,
                        endpoint::EndpointOptions& endpoint) {
  options.remote_invalidation &= transport.remote_invalidation();
  endpoint.receives = options.credits + kBackwardSends;
  endpoint.receive_size = options.receive_size;
  endpoint.sends = std::max<uint32_t>(endpoint.sends, options.credits + kBackwardSends);
  endpoint.private_data = options.send_private_data ? PrivateData(options) : std::vector<std::byte>{};
}

Requester::Requester(std::unique_ptr<endpoint::Endpoint> endpoint, const RequesterOptions& options, AnswerSink& sink)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options, sink)) {}
Requester::~Requester() = default;

bool Requester::CanSend() { return impl_->CanSend(); }
Requester::Room Requester::ItemRoom(uint32_t size) { return impl_->ItemRoom(size); }
Result<uint32_t> Requester::Send(const CallSpec& call) { return impl_->Send(call); }
size_t Requester::Poll(std::chrono::microseconds wait) { return impl_->Poll(wait); }
bool Requester::open() const { return impl_->endpoint->state() == endpoint::State::kOpen; }
bool Requester::ending() const { return !impl_->endpoint->takes_work(); }
uint32_t Requester::outstanding() const { return impl_->outstanding; }
uint32_t Requester::call_threshold() const { return impl_->settings.send_threshold; }
uint32_t Requester::reply_threshold() const { return impl_->settings.receive_threshold; }
const RequesterStats& Requester::stats() const { return impl_->stats; }
endpoint::Endpoint& Requester::endpoint() { return *impl_->endpoint; }

}  // namespace stag::rpcrdma
