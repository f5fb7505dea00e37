// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with sessions of NFSv4.1.
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

// Places in a Call of ours, behind its header of 64 bytes, and in a Reply.
constexpr size_t kFirstOperation = 76, kSlotWord = 100;
constexpr size_t kCompoundStatus = 24, kResultOperation = 36, kResultSession = 44, kResultSlot = 64;
constexpr uint32_t kServerFault = 10006, kDoneAlready = 10054, kSequenceOp = 53, kCreateSessionOp = 43;

// Another status than the one that probe asks for.
Fault Instead(std::string_view probe, uint32_t status) {
  return {.probe = probe,
          .words = "came NFS4ERR_SERVERFAULT",
          .send = [=](Seen& message, const Seen&, Invalidate&, Scene&) {
            if (message.Word(kCompoundStatus) == status) StoreBe32(message.rest.data() + kCompoundStatus, kServerFault);
            return true;
          }};
}

// Executes again what comes as the n-th message of a connection, or, 0: what came before on any.
Fault ExecutesAgain(std::string_view probe, size_t n = 0) {
  return {.probe = probe,
          .words = "came NFS4ERR_COMPLETE_ALREADY: it was executed again",
          .send = [=](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
            if (n > 0 ? scene.received == n : scene.all.count(call.header.xid) > 1)
              StoreBe32(message.rest.data() + kCompoundStatus, kDoneAlready);
            return true;
          }};
}

auto UsesSlot(uint32_t slot) {
  return [slot](const Seen& m) { return m.Word(kFirstOperation) == kSequenceOp && m.Word(kSlotWord) == slot; };
}

}  // namespace

std::vector<Fault> SessionFaults() {
  std::vector<Fault> faults = {
      Instead("session.ahead", 10063),
      Instead("session.far-ahead", 10063),
      Instead("session.behind", 10063),
      Instead("session.bad-slot", 10053),
      Instead("session.bad-session", 10052),
      Instead("session.bad-high-slot", 10077),
      Instead("session.no-sequence", 10071),
      Instead("session.second-sequence", 10064),
      Instead("session.too-many-operations", 10070),
      Instead("session.request-too-big", 10065),
      Instead("session.reply-too-big", 10066),
      Instead("session.reply-too-big-cached", 10067),
      Instead("session.create-misordered", 10063),
      Instead("session.create-stale", 10022),
      Instead("session.destroyed", 10052),
      Instead("session.client-busy", 10074),
      Instead("session.minor-version", 10021),
      Instead("session.illegal-operation", 10044),
      Instead("session.again-other", 10076),
      ExecutesAgain("session.again-cached"),
      ExecutesAgain("session.again-uncached"),
      ExecutesAgain("session.again-reconnected"),
      ExecutesAgain("session.again-other-xid", 4),
      On(
          "session.again-long-call", kRefused, [](const Seen& m) { return m.header.proc == rpcrdma::kNomsg; }, kRefuse),
      Changes(
          "session.again-reply-chunk", "expected the Call's Reply chunk; came a Reply without it",
          [](const Seen& call) {
            return ReplyLike(call.header, {100, 4000});
          },
          [](Header& reply, const Seen&) { reply.reply_chunk.reset(); }),
      Changes(
          "session.again-write-chunk", "with Write chunks: 1; came Write chunks: 0",
          [](const Seen& call) { return WriteLike(call.header, {512}); },
          [](Header& reply, const Seen&) { reply.write_chunks.clear(); }),
      On("session.slots", kEnded, UsesSlot(5), HangUp),
      On("session.highest-changes", kEnded, UsesSlot(3), HangUp),
      {.probe = "session.window",
       .words = "answers, then nothing",
       .send = [](Seen&, const Seen& call, Invalidate&, Scene&) { return !UsesSlot(3)(call); }},
      On(
          "session.two-connections", kEnded,
          [](const Seen& m, const Scene& scene) {
            return scene.received == 1 && m.Word(kFirstOperation) == kSequenceOp;
          },
          HangUp),
      {.probe = "session.create",
       .words = "expected the session, sequence number and slot of the SEQUENCE; came others",
       .send =
           [](Seen& message, const Seen&, Invalidate&, Scene&) {
             if (message.Word(kResultOperation) == kSequenceOp) StoreBe32(message.rest.data() + kResultSlot, 9);
             return true;
           }},
      {.probe = "session.create-again",
       .words = "expected the session of the first time; came another",
       .send =
           [](Seen& message, const Seen&, Invalidate&, Scene& scene) {
             if (scene.received == 4 && message.Word(kResultOperation) == kCreateSessionOp)
               StoreBe32(message.rest.data() + kResultSession, 0x7777);
             return true;
           }},
  };
  for (Fault& fault : faults) fault.alone = true;
  return faults;
}

}  // namespace stag::probe::test
