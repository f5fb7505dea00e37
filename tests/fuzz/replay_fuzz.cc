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
#include "replay/replay/plan_account.h"
#include "replay/replay/plan_builder.h"

namespace {

using namespace stag;

struct LiveReply {
  Bytes body;
  bool chunk = false;
};

class Collected final : public replay::PlanSink {
 public:
  void OnPlanned(replay::PlannedCallPtr planned) override {
    if (planned->what == replay::PlannedCall::What::kCall) calls.push_back(std::move(planned));
  }
  std::vector<replay::PlannedCallPtr> calls;
};

// Calls in order, each with the answers it waits for: no Call waits for one that comes after it.
void CheckOrder(std::span<const replay::PlannedCallPtr> plan) {
  std::vector<size_t> asked(plan.size(), SIZE_MAX);
  for (size_t i = 0; i < plan.size(); ++i) {
    if (plan[i]->answer == replay::kUnanswered) continue;
    if (plan[i]->answer >= asked.size()) std::abort();
    asked[plan[i]->answer] = i;
  }
  for (size_t i = 0; i < plan.size(); ++i)
    for (uint64_t rank = 0; rank < plan[i]->after; ++rank)
      if (asked[rank] >= i) std::abort();
}

void Play(std::span<const replay::PlannedCallPtr> plan, std::span<const LiveReply> replies) {
  replay::LiveValues values({"/fuzz", 1}, 1 << 16);
  const std::byte root[64] = {};
  replay::RewrittenCall call;
  replay::Values reply;
  size_t next = 0;
  for (const replay::PlannedCallPtr& one : plan) {
    const replay::PlannedCall& planned = *one;
    if (!planned.root.empty()) values.Set(planned.root, root);
    if (!values.Rewrite(planned, call)) continue;
    // No value grows by more than its largest form.
    if (call.message.size() > planned.rpc.call.bytes.size() + planned.uses.size() * 1024) std::abort();
    const uint64_t size = call.message.size() + RoundUp4(call.item.size());
    if (planned.item && call.item_offset + planned.item->length > size) std::abort();
    if (next == replies.size()) continue;
    const LiveReply& live = replies[next++];
    const Bytes data = live.chunk ? live.body.first(live.body.size() / 2) : Bytes{};
    const std::vector<Bytes> chunks(live.chunk ? 1 : 0, data);
    rpc::ReplyHeader header;
    header.msg_type = rpc::kReply;
    std::vector<std::byte> message;
    rpc::Encode(header, message);
    message.insert(message.end(), live.body.begin() + static_cast<ptrdiff_t>(data.size()), live.body.end());
    const Bytes recorded = planned.rpc.call.bytes;
    reply.OfReply(rpc::DecodeCall(recorded, recorded.size()), rpc::DecodeReply(message, message.size()), message,
                  chunks);
    values.Learn(planned, reply);
    values.Release(call.slot, reply.sequence_done());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  replay::PlanOptions options;
  options.window = 1 << 16;
  options.largest = 1 << 20;
  options.slack = 8;
  Collected plan;
  replay::PlanBuilder builder(options, plan);
  session::Session session({}, {&builder});
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
    session.OnEvent({info, what, now, now, fabric::Send{{bytes, bytes.size()}, false, {}, {}}});
  }
  session.Finish();
  builder.Finish();
  CheckOrder(plan.calls);
  replay::PlanAccount account(1 << 16);
  for (const replay::PlannedCallPtr& call : plan.calls) account.Add(*call);
  Play(plan.calls, replies);
  return 0;
}
