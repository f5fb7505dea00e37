// SPDX-License-Identifier: GPL-2.0-or-later
//
// Hostile recordings, and hostile live replies to what is played of them. Input: records of u8 what, u16 length and so
// many bytes: 0 a Send of the client, 1 a Send of the server, 2 a live reply to the next Call of the plan (without its
// RPC header), 3 likewise with its first half in a Write chunk. Whatever comes, nothing crashes, the order of the plan
// can be kept, and what is rewritten stays within the bounds of its parts.
#include <algorithm>
#include <cstdlib>

#include "protocol/base/cursor.h"
#include "replay/replay/live_values.h"

namespace {

using namespace stag;

struct LiveReply {
  Bytes body;
  bool chunk = false;
};

// Calls in order, each with the answers it waits for: no Call waits for one that comes after it.
void CheckOrder(const replay::Plan& plan) {
  std::vector<size_t> asked(plan.answers, SIZE_MAX);
  for (size_t i = 0; i < plan.calls.size(); ++i)
    if (plan.calls[i].answer != replay::kUnanswered) asked[plan.calls[i].answer] = i;
  for (size_t i = 0; i < plan.calls.size(); ++i)
    for (uint32_t rank = 0; rank < plan.calls[i].after; ++rank)
      if (asked[rank] >= i) std::abort();
}

void Play(const replay::Plan& plan, std::span<const LiveReply> replies) {
  replay::LiveValues values(plan, {"/fuzz", 1});
  const std::byte root[64] = {};
  values.SetRoot(root);
  replay::RewrittenCall call;
  replay::Values reply;
  size_t next = 0;
  for (const replay::PlannedCall& planned : plan.calls) {
    if (!values.Rewrite(planned, call)) continue;
    // No value grows by more than its largest form.
    if (call.message.size() > planned.rpc->call.bytes.size() + size_t{planned.uses} * 1024) std::abort();
    if (planned.item && call.item_offset + planned.item->length > call.message.size()) std::abort();
    if (next == replies.size()) continue;
    const LiveReply& live = replies[next++];
    const Bytes data = live.chunk ? live.body.first(live.body.size() / 2) : Bytes{};
    const std::vector<Bytes> chunks(live.chunk ? 1 : 0, data);
    rpc::ReplyHeader header;
    header.msg_type = rpc::kReply;
    std::vector<std::byte> message;
    rpc::Encode(header, message);
    message.insert(message.end(), live.body.begin() + static_cast<ptrdiff_t>(data.size()), live.body.end());
    const Bytes recorded = planned.rpc->call.bytes;
    reply.OfReply(rpc::DecodeCall(recorded, recorded.size()), rpc::DecodeReply(message, message.size()), message,
                  chunks);
    values.Learn(planned, reply);
    values.Release(call.slot, reply.sequence_done());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recording::RecordingBuilder recorder(1 << 20);
  session::Session session({}, {&recorder});
  fabric::ConnectionInfo info;
  info.id = 1;
  info.service_port = 20049;
  Cursor cursor(std::as_bytes(std::span(data, size)));
  std::vector<LiveReply> replies;
  uint64_t frame = 0;
  while (cursor.remaining() > 0) {
    const uint8_t what = cursor.U8() & 3;
    const Bytes bytes = cursor.Take(std::min<size_t>(cursor.U16(), cursor.remaining()));
    if (what >= 2) {
      replies.push_back({bytes, what == 3});
      continue;
    }
    const FrameRef now{++frame, 0};
    session.OnEvent({&info, what, now, now, now, fabric::Send{{bytes, bytes.size()}, false, {}, {}}});
  }
  session.Finish();
  const auto recording = recorder.Finish();
  if (!recording) return 0;
  replay::PlanOptions options;
  options.memory = 1 << 20;
  options.largest = 1 << 20;
  const auto plan = replay::MakePlan(*recording, options);
  if (!plan) return 0;
  CheckOrder(*plan);
  Play(*plan, replies);
  return 0;
}
