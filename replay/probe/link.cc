// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "protocol/rpc/message.h"
#include "replay/rpcrdma/settings.h"

namespace stag::probe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice{50};  // between looks at Patience::stopped
constexpr milliseconds kGoodbye{1000};

std::string Milliseconds(milliseconds time) { return fmt::format("{} ms", time.count()); }

}  // namespace

void Failed(std::string expected, std::string came) {
  Outcome outcome;
  outcome.verdict = Verdict::kFailed;
  outcome.expected = std::move(expected);
  outcome.came = std::move(came);
  throw Ended{std::move(outcome)};
}

void Inconclusive(std::string why) {
  Outcome outcome;
  outcome.verdict = Verdict::kInconclusive;
  outcome.why = std::move(why);
  throw Ended{std::move(outcome)};
}

void Skipped(std::string why) {
  Outcome outcome;
  outcome.verdict = Verdict::kSkipped;
  outcome.why = std::move(why);
  throw Ended{std::move(outcome)};
}

Link::Link(std::unique_ptr<endpoint::Endpoint> endpoint, const Patience& patience, Bytes private_data)
    : endpoint_(std::move(endpoint)), patience_(patience) {
  const rpcrdma::Settings settings = rpcrdma::Agree(private_data, endpoint_->peer_private_data());
  call_threshold_ = settings.send_threshold;
  reply_threshold_ = settings.receive_threshold;
}

Link::~Link() { endpoint_.reset(); }  // before the memory that is registered with it

std::string Link::trouble() const {
  const std::string& text = endpoint_->trouble().text;
  return "the connection ended" + (text.empty() ? text : ": " + text);
}

Offered& Link::Offer(std::span<const uint32_t> lengths, endpoint::Access access, Bytes content) {
  Offered& memory = offered_.emplace_back(lengths, content);
  auto region = endpoint_->Register(MutableBytes(memory.storage), access);
  if (!region) Inconclusive("no memory could be registered: " + region.error().message);
  memory.region = *region;
  memory.registered = true;
  if (name_) {
    const auto [handle, offset] = *std::exchange(name_, {});
    if (auto named = endpoint_->Rename(memory.region, handle, offset); !named) Skipped(named.error().message);
  }
  return memory;
}

void Link::Fence(Offered& memory) {
  if (memory.registered) endpoint_->Deregister(memory.region);
  memory.registered = false;
}

Offered& Link::MakeLong(Call& call, std::span<const uint32_t> lengths) {
  const auto whole = static_cast<uint32_t>(call.rpc.size());
  Offered& memory = Offer(lengths.empty() ? std::span(&whole, 1) : lengths, endpoint::Access::kRemoteRead, call.rpc);
  call.header.proc = rpcrdma::kNomsg;
  call.inline_rpc = false;
  AddRead(call, 0, memory);
  return memory;
}

bool Link::TrySend(Bytes message) {
  sent_.emplace_back(message.begin(), message.end());
  auto region = endpoint_->Register(MutableBytes(sent_.back()), endpoint::Access::kLocal);
  const Bytes piece = region ? Bytes(region->bytes) : Bytes{};
  const Result<void> posted = region ? endpoint_->Send({&piece, 1}, 0) : tl::unexpected(region.error());
  if (posted) {
    endpoint_->Flush();
    return true;
  }
  // Why not may come with the completions that are left.
  const auto until = Clock::now() + kGoodbye;
  while (open() && Clock::now() < until) Poll(kSlice);
  if (open()) Inconclusive(posted.error().message);
  return false;
}

size_t Link::Poll(milliseconds wait) {
  std::array<endpoint::Completion, 16> completions;
  const size_t n = endpoint_->Poll(completions, wait);
  for (size_t i = 0; i < n; ++i) {
    const endpoint::Completion& c = completions[i];
    if (c.work != endpoint::Work::kReceive || c.outcome != endpoint::CompletionStatus::kOk) continue;
    Message message;
    message.bytes.assign(c.bytes.begin(), c.bytes.end());
    message.invalidated = c.invalidated;
    rpcrdma::Decode(message.bytes, message.bytes.size(), message.header);
    endpoint_->Release(c);
    const Bytes payload = message.payload();
    const bool backward = takes_backward_ && payload.size() >= 8 && LoadBe32(payload.data() + 4) == rpc::kCall;
    (backward ? backward_ : received_).push_back(std::move(message));
  }
  return n;
}

std::optional<Message> Link::Next(milliseconds wait) { return Take(received_, wait); }
std::optional<Message> Link::NextBackward(milliseconds wait) { return Take(backward_, wait); }

std::optional<Message> Link::Take(std::deque<Message>& from, milliseconds wait) {
  const auto until = Clock::now() + wait;
  for (;;) {
    if (!from.empty()) {
      Message message = std::move(from.front());
      from.pop_front();
      return message;
    }
    if (patience_.stopped && patience_.stopped()) Inconclusive("interrupted");
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    const bool over = !open();
    const size_t came = Poll(std::clamp(left, milliseconds{0}, kSlice));
    if (from.empty() && (left.count() <= 0 || (over && came == 0))) return {};
  }
}

Message Link::Answer(const Call& call, std::string_view expected) {
  std::optional<Message> message = Next(patience_.answer);
  if (!message) Failed(std::string(expected), open() ? "nothing in " + Milliseconds(patience_.answer) : trouble());
  if (message->header.words < 1 || message->header.xid != call.header.xid)
    Failed(fmt::format("{} with the Call's xid, 0x{:08x}", expected, call.header.xid),
           fmt::format("{}, xid 0x{:08x}", Describe(*message), message->header.xid));
  return std::move(*message);
}

void Link::ExpectQuiet(std::string_view why) {
  if (const auto message = Next(patience_.quiet)) Failed(std::string(why), Describe(*message));
  if (!open()) Failed(std::string(why), trouble());
}

std::vector<std::byte> Link::RpcReply(const Call& call, const Message& answer) {
  const rpcrdma::Header& header = answer.header;
  if (header.status != ParseStatus::kOk || (header.proc != rpcrdma::kMsg && header.proc != rpcrdma::kNomsg))
    Failed("an RPC Reply", Describe(answer));
  if (!header.reads.empty()) Failed("a Reply without a Read list", "a Reply with one");
  if (header.write_chunks.size() != call.header.write_chunks.size())
    Failed(fmt::format("the Call's Write list, with Write chunks: {}", call.header.write_chunks.size()),
           fmt::format("Write chunks: {}", header.write_chunks.size()));
  if (header.reply_chunk && !call.header.reply_chunk) Failed("a Reply without a Reply chunk", "a Reply with one");
  if (!header.reply_chunk && call.header.reply_chunk) Failed("the Call's Reply chunk", "a Reply without it");
  for (size_t i = 0; i < header.write_chunks.size(); ++i) Collect(call, answer, i);
  const Bytes payload = answer.payload();
  std::vector<std::byte> reply(payload.begin(), payload.end());
  if (call.header.reply_chunk) {
    std::vector<std::byte> chunk = Collect(call, *call.header.reply_chunk, answer, *header.reply_chunk);
    if (header.proc == rpcrdma::kNomsg) reply = std::move(chunk);
  } else if (header.proc == rpcrdma::kNomsg) {
    Failed("RDMA_MSG, for no Reply chunk was offered", "RDMA_NOMSG");
  }
  if (reply.size() < 12 || LoadBe32(reply.data()) != LoadBe32(call.rpc.data()) ||
      LoadBe32(reply.data() + 4) != rpc::kReply)
    Failed("an RPC Reply with the Call's xid", fmt::format("{} bytes that are none", reply.size()));
  return reply;
}

std::vector<std::byte> Link::Collect(const Call& call, const rpcrdma::Chunk& offered, const Message& answer,
                                     const rpcrdma::Chunk& returned) {
  if (offered.count != returned.count)
    Failed(fmt::format("a chunk of {} segments, as offered", offered.count),
           fmt::format("a chunk of {} segments", returned.count));
  std::vector<std::byte> bytes;
  bool ended = false;
  for (uint32_t i = 0; i < offered.count; ++i) {
    const rpcrdma::Segment& o = call.header.segments[offered.first + i];
    const rpcrdma::Segment& r = answer.header.segments[returned.first + i];
    if (r.handle != o.handle || r.offset != o.offset)
      Failed("the Call's handle and offset in each segment", fmt::format("others in segment {}", i + 1));
    if (r.length > o.length)
      Failed(fmt::format("at most {} bytes in segment {}", o.length, i + 1), fmt::format("{} bytes", r.length));
    if (ended && r.length > 0)
      Failed("a chunk that is filled in order", fmt::format("bytes in segment {} behind one that is not full", i + 1));
    ended = r.length < o.length;
    for (Offered& memory : offered_) {
      for (size_t k = 0; k < memory.count(); ++k) {
        if (memory.segment(k) != o) continue;
        const Bytes part = memory.bytes(k).first(r.length);
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
    }
  }
  return bytes;
}

void Link::Settle() {
  for (Offered& memory : offered_) Fence(memory);
  if (open() && !offered_.empty()) {
    // Whatever the server still does to the memory shows as a refusal.
    const auto until = Clock::now() + patience_.quiet;
    while (open() && Clock::now() < until) Poll(std::chrono::ceil<milliseconds>(until - Clock::now()));
  }
  if (!open() && endpoint_->trouble().kind == endpoint::Trouble::Kind::kLocalAccess && !refusal_allowed_)
    Failed("only memory that a Call under way offers is touched", trouble());
  for (const Offered& memory : offered_)
    if (!memory.guarded())
      Failed("nothing is written beside the segments of a chunk", "bytes beside them have changed");
  Disconnect();
}

void Link::Disconnect() {
  if (!open()) return;
  endpoint_->Disconnect();
  const auto until = Clock::now() + kGoodbye;
  while (open() && Clock::now() < until) Poll(kSlice);
}

}  // namespace stag::probe
