// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with connections, with the ways in which memory may be offered, and with credits over time.
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

constexpr uint32_t kLargest = 4 << 20;

void AddRegion(std::vector<Fault>& faults) {
  const auto read = [](auto like) {
    return [like](const Seen& m) { return m.header.reads.size() == 1 && like(m.header.reads[0].target); };
  };
  using rpcrdma::Segment;
  faults.push_back(
      On("region.high-offset", kRefused, read([](const Segment& s) { return s.offset > UINT64_MAX / 2; }), kRefuse));
  faults.push_back(
      On("region.odd-offset", kRefused, read([](const Segment& s) { return s.offset % 2 == 1; }), kRefuse));
  faults.push_back(On("region.handle-zero", kRefused, read([](const Segment& s) { return s.handle == 0; }), kRefuse));
  faults.push_back(
      On("region.handle-ones", kRefused, read([](const Segment& s) { return s.handle == UINT32_MAX; }), kRefuse));
  faults.push_back(On(
      "region.same-handle", kEnded,
      [](const Seen& m, const Scene& scene) {
        return scene.received > 2 && m.header.reads.size() == 1 && m.header.reads[0].target.handle == 0x33330001;
      },
      HangUp));
  faults.push_back(On(
      "region.many-read-segments", kEnded, [](const Seen& m) { return m.header.reads.size() > 16; }, HangUp));
  const auto first_is_short = [](Header& reply, const Seen&) { --reply.segments[0].length; };
  constexpr std::string_view kNotInOrder = "expected a chunk that is filled in order";
  faults.push_back(Changes(
      "region.many-reply-segments", kNotInOrder, [](const Seen& call) { return call.header.segments.size() == 100; },
      first_is_short));
  faults.push_back(On(
      "region.large-reply-chunk", kEnded, [](const Seen& m) { return ReplyLike(m.header, {kLargest}); }, HangUp));
  faults.push_back(Changes(
      "region.large-write-chunk", "expected an unused Write chunk: all lengths zero; came a segment of 4 bytes",
      [](const Seen& call) {
        return WriteLike(call.header, {kLargest / 2, kLargest / 2});
      },
      [](Header& reply, const Seen&) { reply.segments[0].length = 4; }));
  faults.push_back(On(
      "region.length-sum", kEnded,
      [](const Seen& m) {
        return ReplyLike(m.header, {1024, 0xfffff000, 0xfffff000});
      },
      HangUp));
  faults.push_back(On(
      "region.shared", kEnded,
      [](const Seen& m, const Scene& scene) {
        return m.header.reads.size() == 1 && scene.received == 2 &&
               std::ranges::any_of(scene.calls, [&m](const auto& c) {
                 const Header& other = c.second.header;
                 return c.first != m.header.xid && other.reads.size() == 1 &&
                        other.reads[0].target.handle == m.header.reads[0].target.handle;
               });
      },
      HangUp));
  faults.push_back(Changes(
      "region.reversed", kNotInOrder,
      [](const Seen& call) {
        return ReplyLike(call.header, {2000, 1000, 4096});
      },
      first_is_short));
}

void AddConnection(std::vector<Fault>& faults) {
  const auto add = [&faults](Fault fault) {
    fault.alone = true;
    faults.push_back(std::move(fault));
  };
  add(On(
      "connection.idle", kEnded,
      [](const Seen&, const Scene& scene) { return scene.ordinal > 1 && scene.received == 2; }, HangUp));
  add(On(
      "connection.silent", kEnded, [](const Seen&, const Scene& scene) { return scene.ordinal % 8 == 5; }, HangUp));
  const auto dies = [](auto like) {
    return [like](const Seen& m, const Scene& scene) { return scene.ordinal >= 4 && like(m, scene); };
  };
  add(On("connection.vanish-call", kGone, dies([](const Seen&, const Scene& scene) { return scene.received == 2; }),
         Die));
  add(On("connection.vanish-long-call", kGone,
         dies([](const Seen& m, const Scene&) { return m.header.reads.size() == 3; }), Die));
  add(On("connection.vanish-long-reply", kGone, dies([](const Seen& m, const Scene&) {
           return ReplyLike(m.header, {1024, 8192});
         }),
         Die));
  add(On("connection.close-with-calls", kGone,
         dies([](const Seen&, const Scene& scene) { return scene.received == 4; }), Die));
  add(On(
      "connection.many", kEnded, [](const Seen&, const Scene& scene) { return scene.ordinal % 100 == 60; }, HangUp));
  add(On(
      "connection.churn", kEnded, [](const Seen&, const Scene& scene) { return scene.ordinal % 50 == 30; }, HangUp));
  add(On(
      "connection.no-receive", kGone, [](const Seen& m) { return m.header.credit == 7; }, Die));
  Fault large = On(
      "connection.too-large-send", kGone, [](const Seen& m) { return m.size >= 300'000; }, Die);
  large.accept = [](endpoint::EndpointOptions& options, size_t) { options.receive_size = 1 << 19; };
  add(large);
  add({.probe = "connection.refusal-latency",
       .words = "expected RDMA_ERROR; came nothing",
       .send = [](Seen& message, const Seen&, Invalidate&, Scene& scene) {
         return message.header.proc != rpcrdma::kError || scene.received < 4;
       }});
  const auto invalidates = [](std::string_view probe, auto like) {
    return Fault{.probe = probe,
                 .words = "came a Send with Invalidate",
                 .send = [like](Seen&, const Seen& call, Invalidate& invalidate, Scene& scene) {
                   if (WriteLike(call.header, {64}) && like(scene.private_data))
                     invalidate = call.header.segments[0].handle;
                   return true;
                 }};
  };
  add(invalidates("connection.terms-change", [](Bytes data) { return data.empty(); }));
  add(invalidates("connection.r-beside-none", [](Bytes data) { return data.size() == 8 && data[5] == std::byte{0}; }));
}

void AddCreditOverTime(std::vector<Fault>& faults) {
  faults.push_back({.probe = "credit.long-window",
                    .words = "answers, then nothing",
                    .send = [](Seen&, const Seen&, Invalidate&, Scene& scene) { return scene.received < 1000; }});
  faults.push_back(On(
      "credit.window-of-long-calls", kEnded,
      [](const Seen& m, const Scene& scene) {
        return m.header.reads.size() == 2 && !m.header.reply_chunk && scene.received > 20;
      },
      HangUp));
  faults.push_back(Changes(
      "credit.window-of-long-replies", "expected a chunk that is filled in order",
      [](const Seen& call) {
        return ReplyLike(call.header, {3000, 5000}) && call.header.xid % 8 == 3;
      },
      [](Header& reply, const Seen&) { --reply.segments[0].length; }));
  faults.push_back(On(
      "credit.window-with-errors", "expected RDMA_ERROR ERR_VERS; came an RPC Reply (SUCCESS)",
      [](const Seen& m, const Scene& scene) {
        return m.header.vers == 99 && scene.received > 20 &&
               std::ranges::none_of(scene.calls, [](const auto& c) { return c.second.header.proc == rpcrdma::kDone; });
      },
      Succeed));
  faults.push_back({.probe = "credit.request-changes",
                    .words = "CRED-002",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene&) {
                      if (call.header.credit == 3) message.header.credit = 0;
                      return true;
                    }});
}

}  // namespace

std::vector<Fault> ConnectionFaults() {
  std::vector<Fault> faults;
  AddRegion(faults);
  AddConnection(faults);
  AddCreditOverTime(faults);
  return faults;
}

}  // namespace stag::probe::test
