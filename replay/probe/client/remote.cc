// SPDX-License-Identifier: GPL-2.0-or-later
//
// The client's memory: RDMA after the Reply, beyond a segment, in the wrong direction, by a wrong handle; and Sends
// with Invalidate of what they must not invalidate (RFC 8166 sections 4.4.1 and 8.1, RFC 8797 section 4).
#include <algorithm>

#include "replay/probe/client/holder.h"
#include "replay/probe/client/picks.h"
#include "replay/probe/link.h"

namespace stag::probe::client {
namespace {

using rpcrdma::Segment;

constexpr uint64_t kFar = uint64_t{1} << 40;  // behind a segment
constexpr uint32_t kNobody = 0x00a5a500;      // turns a handle into one that the client has not, most likely

bool Names(const rpcrdma::Header& call, uint32_t handle) {
  const auto same = [=](const Segment& segment) { return segment.handle == handle; };
  return std::any_of(call.segments.begin(), call.segments.end(), same) ||
         std::any_of(call.reads.begin(), call.reads.end(), [&](const auto& read) { return same(read.target); });
}

const Segment& FirstOf(const Seen& call) {
  return call.header.reads.empty() ? call.header.segments[call.header.write_chunks[0].first]
                                   : call.header.reads[0].target;
}

// The first Call that is picked is answered, in whatever way; its memory is the client's again. One Call is granted, so
// that a later one shows that the client knows. While such a one, which does not name that memory, waits for its Reply,
// `touch` does something to it. The Reply comes behind that, in order: a client that takes it did not refuse.
void AfterTheReply(Trick& trick, bool (*answer)(Turn&), void (*touch)(Scene&, const Segment&, const Buffer& held)) {
  struct State {
    std::optional<Segment> target;
    Buffer bytes;  // that the server wrote there
    size_t on = 0, turns = 0;
    bool done = false;
  };
  constexpr size_t kLeftAlone = 8;
  auto state = std::make_shared<State>();
  trick.by_hand = true;
  trick.after = 0;
  trick.times = SIZE_MAX;
  trick.responder.credits = 1;
  trick.write = [state](Bytes from, uint32_t, uint64_t, Scene&, Play&) {
    const Bytes begin = from.first(std::min<size_t>(from.size(), 4));
    if (!state->target) state->bytes.assign(begin.begin(), begin.end());
    return true;
  };
  const auto first = trick.picks;
  trick.picks = {};
  trick.reply = [=](Turn& turn) {
    turn.invalidate.reset();  // that is the client's own affair here
    if (!state->target) {
      if (++state->turns <= kLeftAlone || !first(turn.call)) return true;
      state->target = FirstOf(turn.call);
      state->on = turn.scene.ordinal;
      return answer(turn);
    }
    if (state->done || turn.scene.ordinal != state->on || Names(turn.call.header, state->target->handle)) return true;
    state->done = true;
    turn.play.Fire(turn.scene);
    turn.scene.After(turn.play.quiet, [state, touch](Scene& scene) { touch(scene, *state->target, state->bytes); });
    turn.Later();
    return false;
  };
}

bool Answered(Turn&) { return true; }
bool Refused(Turn& turn) {
  turn.scene.SendError(turn.call.header.xid, rpcrdma::kErrChunk, turn.reply.header.credit);
  return false;
}
// What is there already is written again, so that a client that does not refuse is not harmed more than necessary.
void WriteAgain(Scene& scene, const Segment& target, const Buffer& held) {
  scene.Write(held.empty() ? Buffer(4) : held, target);
}
void ReadAgain(Scene& scene, const Segment& target, const Buffer&) { scene.Read(target); }

void WriteAfterReply(Trick& trick) {
  PickWriteChunk(trick);
  AfterTheReply(trick, Answered, WriteAgain);
}
void WriteAfterError(Trick& trick) {
  PickWriteChunk(trick);
  AfterTheReply(trick, Refused, WriteAgain);
}
void ReadAfterReply(Trick& trick) {
  PickReadChunk(trick);
  AfterTheReply(trick, Answered, ReadAgain);
}
void ReadAfterError(Trick& trick) {
  PickReadChunk(trick);
  AfterTheReply(trick, Refused, ReadAgain);
}

// While the Call is outstanding; the Reply comes behind it, in order.
void Misuse(Trick& trick, void (*touch)(Scene&, Segment)) {
  trick.reply = [=](Turn& turn) {
    touch(turn.scene, FirstOf(turn.call));
    return true;
  };
}

void WriteBeyond(Trick& trick) {
  PickWriteChunk(trick);
  Misuse(trick, [](Scene& scene, Segment segment) { scene.Write(Buffer(4), segment, kFar); });
}
void ReadBeyond(Trick& trick) {
  PickReadChunk(trick);
  Misuse(trick, [](Scene& scene, Segment segment) { scene.Read(segment, kFar); });
}
void WriteIntoReadChunk(Trick& trick) {
  PickReadChunk(trick);
  Misuse(trick, [](Scene& scene, Segment segment) { scene.Write(Buffer(4), segment); });
}
void WriteByWrongHandle(Trick& trick) {
  PickWriteChunk(trick);
  Misuse(trick, [](Scene& scene, Segment segment) {
    segment.handle ^= kNobody;
    scene.Write(Buffer(4), segment);
  });
}
void ReadByWrongHandle(Trick& trick) {
  PickReadChunk(trick);
  Misuse(trick, [](Scene& scene, Segment segment) {
    segment.handle ^= kNobody;
    scene.Read(segment);
  });
}

// Replies to two Calls with chunks are held; the first one's Send invalidates memory of the second.
void InvalidateOther(Trick& trick) {
  struct State {
    std::optional<Held> first;
    bool done = false;
  };
  auto state = std::make_shared<State>();
  PickWriteChunk(trick);
  trick.by_hand = true;
  trick.times = SIZE_MAX;
  trick.needs = "two Calls with Write chunks at a time";
  trick.reply = [=](Turn& turn) {
    if (state->done) return true;
    if (!state->first) {
      state->first = Held{turn.reply, turn.call, turn.invalidate};
      turn.scene.After(turn.play.quiet, [state](Scene& scene) {
        if (state->done) return;
        state->first->Send(scene);
        state->first.reset();
      });
      return false;
    }
    if (Names(state->first->call.header, FirstOf(turn.call).handle)) return true;
    state->done = true;
    turn.play.Fire(turn.scene);
    turn.scene.Send(state->first->reply.Encoded(), FirstOf(turn.call).handle);
    turn.invalidate.reset();
    turn.Later();
    return false;
  };
}

void InvalidateUnknown(Trick& trick) {
  PickWriteChunk(trick);
  trick.reply = [](Turn& turn) {
    turn.invalidate = FirstOf(turn.call).handle ^ kNobody;
    return true;
  };
}
void InvalidateUnasked(Trick& trick) {
  PickWriteChunk(trick);
  trick.responder.remote_invalidation = false;
  trick.reply = [](Turn& turn) {
    turn.invalidate = FirstOf(turn.call).handle;
    return true;
  };
}
void InvalidateTwice(Trick& trick) {
  PickWriteChunk(trick);
  trick.times = 2;
  trick.by_hand = true;
  auto handle = std::make_shared<std::optional<uint32_t>>();
  trick.reply = [handle](Turn& turn) {
    if (!*handle) {
      *handle = turn.invalidate = FirstOf(turn.call).handle;
      return true;
    }
    turn.play.Fire(turn.scene);
    turn.invalidate = *handle;
    return true;
  };
  trick.needs = "two Calls with Write chunks";
}
void InvalidateNever(Trick& trick) {
  trick.times = SIZE_MAX;
  trick.reply = [](Turn& turn) {
    turn.invalidate.reset();
    return true;
  };
}

constexpr std::string_view kFenced = "RFC 8166 4.4.1, RFC 8166 8.1.3";
using enum Taken;

}  // namespace

std::span<const ClientProbe> RemoteProbes() {
  static const ClientProbe probes[] = {
      {"remote.write-after-reply", "Nothing is written to a Write chunk after the Reply",
       "After the Reply to a Call with a Write chunk, while another Call is outstanding, the first four bytes of that "
       "chunk are written again. The client refuses.",
       kFenced, "MEM-004, MEM-009", kAdvice, kRequired, WriteAfterReply},
      {"remote.write-after-error", "Nothing is written to a Write chunk after an RDMA_ERROR",
       "The same after ERR_CHUNK for the Call. The client refuses.", kFenced, "MEM-004, MEM-009", kAllowed, kRequired,
       WriteAfterError},
      {"remote.read-after-reply", "Nothing is read of a Read chunk after the Reply",
       "After the Reply to a Call with a Read chunk, while another Call is outstanding, that chunk is read again. The "
       "client refuses.",
       kFenced, "MEM-004, MEM-009", kAdvice, kRequired, ReadAfterReply},
      {"remote.read-after-error", "Nothing is read of a Read chunk after an RDMA_ERROR",
       "The same after ERR_CHUNK for the Call. The client refuses.", kFenced, "MEM-004, MEM-009", kAllowed, kRequired,
       ReadAfterError},
      {"remote.write-beyond", "Nothing is written far behind a segment",
       "An RDMA Write a tebibyte behind a segment of a Write chunk. The client refuses, and the Calls come again.",
       "RFC 8166 8.1.1, RFC 8166 4.5.5", "MEM-003", kAdvice, kRequired, WriteBeyond},
      {"remote.read-beyond", "Nothing is read far behind a segment",
       "An RDMA Read a tebibyte behind a segment of a Read chunk. The client refuses, and the Calls come again.",
       "RFC 8166 8.1.1, RFC 8166 4.5.5", "MEM-002", kAdvice, kRequired, ReadBeyond},
      {"remote.write-into-read-chunk", "Nothing is written to a Read chunk",
       "An RDMA Write of four zero bytes to a Read chunk. The client refuses, and the Calls come again.",
       "RFC 8166 8.1.1, RFC 8166 4.5.5", "MEM-003", kAdvice, kRequired, WriteIntoReadChunk},
      {"remote.write-by-wrong-handle", "Nothing is written by a handle of nobody",
       "An RDMA Write by another handle than the Call's. The client refuses, and the Calls come again.",
       "RFC 8166 8.1.1, RFC 8166 4.5.5", "MEM-003", kAdvice, kRequired, WriteByWrongHandle},
      {"remote.read-by-wrong-handle", "Nothing is read by a handle of nobody",
       "An RDMA Read by another handle than the Call's. The client refuses, and the Calls come again.",
       "RFC 8166 8.1.1, RFC 8166 4.5.5", "MEM-002", kAdvice, kRequired, ReadByWrongHandle},
      {"remote.invalidate-other", "A Send that invalidates memory of another Call does no harm",
       "The Reply to one Call invalidates a handle of another outstanding one. The client lives; no byte is wrong.",
       "RFC 8797 4, RFC 8166 4.4.1", "PVT-007", kAllowed, kAllowed, InvalidateOther},
      {"remote.invalidate-unknown", "A Send that invalidates a handle of nobody does no harm",
       "A Reply invalidates a handle that the client never gave. The client lives, and the Calls come again.",
       "RFC 8797 4, RFC 8166 4.5.5", "PVT-007", kAdvice, kAllowed, InvalidateUnknown},
      {"remote.invalidate-unasked", "A Send with Invalidate although R is clear does no harm",
       "The server's private data have R clear, and a Reply invalidates a handle of its Call. The client lives; no "
       "byte is wrong.",
       "RFC 8797 4", "PVT-006", kAllowed, kAllowed, InvalidateUnasked},
      {"remote.invalidate-twice", "A handle that is invalidated a second time does no harm",
       "Two Replies invalidate the same handle of the first Call. The client lives, and the Calls come again.",
       "RFC 8797 4, RFC 8166 4.5.5", "PVT-007", kAdvice, kAllowed, InvalidateTwice},
      {"remote.invalidate-never", "Without Sends with Invalidate the client invalidates by itself",
       "R is set in both private data, and no Reply invalidates anything. The work succeeds.",
       "RFC 8797 4, RFC 8166 4.4.1", "PVT-005, MEM-009", kFault, kFault, InvalidateNever},
  };
  return probes;
}

}  // namespace stag::probe::client
