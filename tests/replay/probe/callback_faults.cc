// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with the backward direction, of servers that call on a new back channel, or to recall a delegation.
#include <memory>

#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

constexpr size_t kMessageType = 4, kFirstOperationAt = 76, kSessionFlagsAt = 92;  // in a Call of ours
constexpr uint32_t kCreateSessionNumber = 43, kBackChannelFlag = 2;
constexpr uint32_t kCallbackXid = 0xcb000001;
constexpr size_t kStatus = 24;  // in a Reply to a CB_COMPOUND
constexpr uint32_t kErrBadSlot = 10053;

Buffer Callback(uint32_t xid, uint32_t credit, uint32_t program) {
  Header header;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = credit;
  header.proc = rpcrdma::kMsg;
  Buffer out;
  rpcrdma::Encode(header, out);
  Writer words(out);
  for (const uint32_t word : {xid, 0u, 2u, program, 1u, 0u, 0u, 0u, 0u, 0u}) words.U32(word);
  return out;
}

// CB_SEQUENCE and CB_RECALL.
Buffer RecallCallback(uint32_t credit) {
  Buffer out = Callback(kCallbackXid, credit, 0x40000000);
  StoreBe32(out.data() + 28 + 20, 1);  // behind the header without chunks: CB_COMPOUND
  Writer words(out);
  for (const uint32_t word : {0u, 1u, 0u, 2u, 11u}) words.U32(word);
  words.Zeros(16);
  for (const uint32_t word : {1u, 0u, 0u, 0u, 0u, 4u}) words.U32(word);
  words.Zeros(16 + 4);
  for (const uint32_t word : {4u, 0x66696c65u}) words.U32(word);  // the file's handle
  return out;
}

bool IsReply(const Seen& m) {
  return m.header.proc == rpcrdma::kMsg && m.rest.size() >= 8 && m.Word(kMessageType) == 1;
}
bool AsksForBackChannel(const Seen& call) {
  return call.Word(kFirstOperationAt) == kCreateSessionNumber && call.Word(kSessionFlagsAt) == kBackChannelFlag;
}

using Receive = std::function<bool(Seen&, Scene&)>;

// Calls `count` times, once a session with a back channel is there.
Fault CallsBackThen(std::string_view probe, std::string_view words, Receive receive = {}, uint32_t credit = 1,
                    uint32_t count = 1) {
  Fault fault{.probe = probe, .words = words, .receive = std::move(receive)};
  fault.send = [=](Seen&, const Seen& call, Invalidate&, Scene& scene) {
    if (!AsksForBackChannel(call)) return true;
    scene.After(std::chrono::milliseconds{0}, [=](Scene& later) {
      for (uint32_t i = 0; i < count; ++i) later.Send(Callback(kCallbackXid + i, credit, 0x40000000));
    });
    return true;
  };
  fault.alone = true;
  return fault;
}

// A CB_COMPOUND with CB_SEQUENCE in slot 0, once a session is there, and the same after it was refused.
Fault SameSlotAgain() {
  Fault fault{.probe = "callback.bad-slot",
              .words = "expected another slot than 0, which got NFS4ERR_BADSLOT; came slot 0 again"};
  fault.send = [](Seen&, const Seen& call, Invalidate&, Scene& scene) {
    if (AsksForBackChannel(call))
      scene.After(std::chrono::milliseconds{0}, [](Scene& later) { later.Send(RecallCallback(1)); });
    return true;
  };
  fault.receive = [](Seen& m, Scene& scene) {
    if (m.header.xid == kCallbackXid && IsReply(m) && m.Word(kStatus) == kErrBadSlot) scene.Send(RecallCallback(1));
    return true;
  };
  fault.alone = true;
  return fault;
}

// Gives the client that has a back channel a delegation, and recalls it when another client opens the file.
Fault RecallsThen(std::string_view probe, std::string_view words, uint32_t credit = 1) {
  constexpr size_t kThirdOperationAt = kFirstOperationAt + 36 + 4;
  constexpr uint32_t kOpenNumber = 18, kReadDelegation = 1;
  struct State {
    Scene* back = nullptr;
    bool given = false;
    int opens = 0;
  };
  const auto state = std::make_shared<State>();
  Fault fault{.probe = probe, .words = words};
  fault.send = [=](Seen& reply, const Seen& call, Invalidate&, Scene& scene) {
    if (AsksForBackChannel(call)) *state = {&scene};
    if (!state->back || call.Word(kThirdOperationAt) != kOpenNumber) return true;
    if (state->back == &scene) {
      if (++state->opens == 1) return true;  // not yet
      state->given = true;
      reply.rest.resize(reply.rest.size() - 4);  // no delegation
      Writer delegation(reply.rest);
      delegation.U32(kReadDelegation);
      delegation.Put(Buffer(16, std::byte{0x66}));
      delegation.Zeros(4 + 12 + 4);  // not recalled yet; an ACE
    } else if (state->given) {
      state->back->After(std::chrono::milliseconds{0}, [=](Scene& later) { later.Send(RecallCallback(credit)); });
    }
    return true;
  };
  // A callback that is answered at all is answered with two results that succeeded, or has no slot.
  fault.receive = [](Seen& m, Scene& scene) {
    constexpr size_t kCount = 32, kLastStatus = 80;
    if (m.header.xid == kCallbackXid && IsReply(m) && m.Word(kStatus) != kErrBadSlot &&
        (m.Word(kStatus) != 0 || m.Word(kCount) != 2 || m.Word(kLastStatus) != 0))
      return HangUp(m, scene);
    return true;
  };
  fault.alone = true;
  return fault;
}

}  // namespace

Fault Recalls() { return RecallsThen("callback.form", ""); }
Fault CallsBack() { return CallsBackThen("callback.form", ""); }

std::vector<Fault> CallbackFaults() {
  const auto hangs_up = [](auto like) {
    return [like](Seen& m, Scene& scene) { return like(m, scene) ? HangUp(m, scene) : true; };
  };
  constexpr std::string_view kForward = "the connection ended";
  std::vector<Fault> faults = {
      On(
          "callback.unasked-reply", "is discarded, and the Call behind it is answered; came RDMA_ERROR ERR_CHUNK",
          [](const Seen& m) { return IsReply(m) && m.header.segments.empty() && m.rest.size() == 24; }, kRefuse),
      On(
          "callback.unasked-reply-chunks", "came RDMA_ERROR ERR_CHUNK",
          [](const Seen& m) { return IsReply(m) && !m.header.segments.empty(); }, kRefuse),
      On(
          "callback.unasked-reply-short", kEnded, [](const Seen& m) { return IsReply(m) && m.rest.size() < 24; },
          HangUp),
      On(
          "callback.reply-xid-in-use", kEnded,
          [](const Seen& m, const Scene& scene) { return IsReply(m) && scene.times.count(m.header.xid) > 1; }, HangUp),
      RecallsThen("callback.form", "expected a request of one credit at least; came a request of 0", 0),
      CallsBackThen("callback.credits", "expected one backward Call until the first backward Reply; came two", {}, 1,
                    2),
      CallsBackThen("callback.unanswered", kForward,
                    hangs_up([](const Seen&, const Scene& scene) { return scene.received == 4; })),
      CallsBackThen("callback.same-xid", kForward,
                    hangs_up([](const Seen& m, const Scene&) { return m.header.xid == kCallbackXid && !IsReply(m); })),
      CallsBackThen("callback.answered-twice", kForward, hangs_up([](const Seen& m, const Scene& scene) {
                      return IsReply(m) && scene.times.count(m.header.xid) > 1;
                    })),
      CallsBackThen("callback.refused", "expected an answer to the COMPOUND behind it; came nothing",
                    [](Seen&, Scene& scene) {
                      return std::ranges::none_of(
                          scene.calls, [](const auto& c) { return c.second.header.proc == rpcrdma::kError; });
                    }),
      SameSlotAgain(),
      {.probe = "callback.none-without",
       .words = "expected no Call of the server on a connection that is no back channel; came one",
       .send =
           [](Seen&, const Seen& call, Invalidate&, Scene& scene) {
             if (call.Word(kFirstOperationAt) == kCreateSessionNumber)
               scene.After(std::chrono::milliseconds{0},
                           [](Scene& later) { later.Send(Callback(kCallbackXid, 1, 0x40000000)); });
             return true;
           }},
  };
  for (Fault& fault : faults) fault.alone = true;
  return faults;
}

}  // namespace stag::probe::test
