// SPDX-License-Identifier: GPL-2.0-or-later
//
// The main flow: Send fills a Slot (memory, chunk lists, message) and posts it; OnMessage finds the Slot of what came
// back by its xid, checks it against what the Call offered, and hands the Answer to the sink.
#include "replay/rpcrdma/requester.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>

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

// The header of an RPC Call is ten words at least.
constexpr size_t kSmallestCall = 40;

}  // namespace

void AnswerSink::OnBackwardCall(Bytes, std::vector<std::byte>&) {}

struct Requester::Impl {
  struct Slot {
    uint32_t xid = 0;
    uint64_t cookie = 0;
    bool outstanding = false, sending = false;
    Clock::time_point sent;
    Header call;
    endpoint::Region send, readable, writable;  // the message; what Read chunks name; what Write and Reply chunks name
    bool readable_spent = false, writable_spent = false;  // need another handle before they are used again
    bool readable_named = false, writable_named = false;  // the peer knows their handles
    uint64_t bytes = 0;                                   // of the RPC Call
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
  // Of a Call's bytes.
  struct Parts {
    uint64_t item_chunk = 0;  // in the Read chunk of the reduced argument
    uint64_t rest = 0;        // in the reduced stream
  };
  Result<void> Fill(Slot& slot, const CallSpec& spec);
  void MakeHeader(Slot& slot, const CallSpec& spec, const Parts& parts, bool long_call);
  void CopyIn(Slot& slot, const CallSpec& spec, const Parts& parts, bool long_call);
  Result<void> Room(endpoint::Region& region, bool& spent, uint64_t size, endpoint::Access access);
  bool Invalidated(uint32_t handle, uint32_t index);
  void Fence(Slot& slot);
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
  Clock::time_point arrived;  // of what the present Poll works on
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

Result<void> Requester::Impl::Room(endpoint::Region& region, bool& spent, uint64_t size, endpoint::Access access) {
  if (size == 0) return {};
  if (region.bytes.size() < size) {
    if (!region.bytes.empty()) endpoint->Deregister(region);
    region = {};
    Result<endpoint::Region> larger = endpoint->Register(std::bit_ceil(std::max<uint64_t>(size, 4096)), access);
    if (!larger) return tl::unexpected(larger.error());
    region = *larger;
    spent = false;
    return {};
  }
  if (!spent) return {};
  spent = false;
  return endpoint->Renew(region);
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
  if (long_call) AddReads(header, 0, slot.readable, 0, parts.rest);
  AddReads(header, static_cast<uint32_t>(spec.item_offset), slot.readable, long_call ? RoundUp4(parts.rest) : 0,
           parts.item_chunk);
  uint64_t at = 0;
  for (const uint32_t offered : spec.write_chunks) {
    header.write_chunks.push_back(AddChunk(header, slot.writable, at, offered));
    at += RoundUp4(offered);
  }
  if (spec.reply_chunk > 0) header.reply_chunk = AddChunk(header, slot.writable, at, spec.reply_chunk);
  bytes.clear();
  rpcrdma::Encode(header, bytes);
}

// The bytes of a Call: what goes by Send behind the header, or at Position Zero; the item behind it.
void Requester::Impl::CopyIn(Slot& slot, const CallSpec& spec, const Parts& parts, bool long_call) {
  std::byte* const stream = long_call ? slot.readable.bytes.data() : slot.send.bytes.data() + bytes.size();
  std::ranges::copy(bytes, slot.send.bytes.begin());
  const uint64_t before = spec.item_length > 0 ? spec.item_offset : spec.message.size();
  std::memcpy(stream, spec.message.data(), before);
  StoreBe32(stream, slot.xid);
  if (spec.item_length == 0) return;
  const uint64_t item_end = spec.item_offset + RoundUp4(spec.item_length);
  std::memcpy(stream + before, spec.message.data() + item_end, spec.message.size() - item_end);
  std::memcpy(slot.readable.bytes.data() + (long_call ? RoundUp4(parts.rest) : 0),
              spec.message.data() + spec.item_offset, parts.item_chunk);
}

Result<void> Requester::Impl::Fill(Slot& slot, const CallSpec& spec) {
  const uint64_t item = spec.item_length, padded = RoundUp4(item);
  if (spec.message.size() < kSmallestCall) return Fail("an RPC Call has 40 bytes at least");
  if (item > 0 && (spec.item_offset % 4 != 0 || spec.item_offset < kSmallestCall ||
                   spec.item_offset + padded > spec.message.size()))
    return Fail("the reduced argument is not inside the Call");
  const Parts parts{options.pad_read_chunks ? padded : item, spec.message.size() - padded};

  uint64_t writable = spec.reply_chunk;
  for (const uint32_t bytes_offered : spec.write_chunks) writable += RoundUp4(bytes_offered);
  if (auto ok = Room(slot.writable, slot.writable_spent, writable, endpoint::Access::kRemoteWrite); !ok) return ok;

  // The lists first: their size decides whether the rest fits behind them.
  const auto make_readable = [&](uint64_t size) {
    return Room(slot.readable, slot.readable_spent, size, endpoint::Access::kRemoteRead);
  };
  if (auto ok = make_readable(parts.item_chunk); !ok) return ok;
  MakeHeader(slot, spec, parts, false);
  const bool long_call = spec.position_zero || bytes.size() + parts.rest > settings.send_threshold;
  if (long_call) {
    if (auto ok = make_readable(RoundUp4(parts.rest) + parts.item_chunk); !ok) return ok;
    MakeHeader(slot, spec, parts, true);
  }
  const uint64_t size = bytes.size() + (long_call ? 0 : parts.rest);
  if (size > settings.send_threshold) return Fail("the chunk lists alone are larger than the inline threshold");
  bool never = false;
  if (auto ok = Room(slot.send, never, bytes.size() + parts.rest, endpoint::Access::kLocal); !ok) return ok;
  CopyIn(slot, spec, parts, long_call);
  const Bytes whole = slot.send.bytes.first(size);
  return endpoint->Send({&whole, 1}, static_cast<uint64_t>(&slot - slots.data()));
}

Result<uint32_t> Requester::Impl::Send(const CallSpec& spec) {
  if (!CanSend())
    return Fail(endpoint->state() == endpoint::State::kOpen ? "no credit for another Call" : "the connection is over");
  const uint32_t index = free.back();
  Slot& slot = slots[index];
  slot.xid = NewXid();
  slot.cookie = spec.cookie;
  slot.bytes = spec.message.size();
  slot.sent = Clock::now();
  if (auto ok = Fill(slot, spec); !ok) return tl::unexpected(ok.error());
  free.pop_back();
  slot.outstanding = slot.sending = true;
  slot.readable_named |= !slot.call.reads.empty();
  slot.writable_named |= !slot.call.segments.empty();
  table[slot.xid & (table.size() - 1)] = index;
  ++stats.calls;
  stats.sent_bytes += slot.bytes;
  stats.max_outstanding = std::max(stats.max_outstanding, ++outstanding);
  return slot.xid;
}

size_t Requester::Impl::Poll(std::chrono::microseconds wait) {
  answered = 0;
  std::array<endpoint::Completion, endpoint::kCompletions> completions;
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
    const bool readable = slot.readable.handle == handle && !slot.readable.bytes.empty();
    const bool writable = slot.writable.handle == handle && !slot.writable.bytes.empty();
    slot.readable_spent |= readable;
    slot.writable_spent |= writable;
    return readable || writable;
  };
  if (index != kNobody && spend(slots[index])) return true;
  return std::ranges::none_of(slots, [&](Slot& slot) { return spend(slot) && slot.outstanding; });
}

// The memory of an answered Call is this side's alone (RFC 8166 section 4.4.1): its handles become invalid. When they
// cannot, the connection ends (section 4.5.4).
void Requester::Impl::Fence(Slot& slot) {
  const auto fence = [&](endpoint::Region& region, bool& named, bool spent) {
    const bool open_to_peer = named && !spent;
    named = false;
    if (open_to_peer && !endpoint->Renew(region)) endpoint->Disconnect();
  };
  fence(slot.readable, slot.readable_named, slot.readable_spent);
  fence(slot.writable, slot.writable_named, slot.writable_spent);
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
    if (sum > 0) out = slot.writable.bytes.subspan(call.segments[offered.first].offset - slot.writable.offset, sum);
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
  bool never = false;
  if (bytes.size() > settings.send_threshold || !Room(it->region, never, bytes.size(), endpoint::Access::kLocal))
    return;
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
