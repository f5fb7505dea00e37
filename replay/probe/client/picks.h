// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which Calls tricks pick.
#pragma once

#include "protocol/rpc/message.h"
#include "replay/probe/client/probe.h"

namespace stag::probe::client {

inline bool IsCall(const Seen& message) {
  if (message.header.proc == rpcrdma::kNomsg) return !message.header.reads.empty();
  return message.header.proc == rpcrdma::kMsg && message.rest.size() >= 8 && message.Word(4) == rpc::kCall;
}
inline bool IsNfs3(const Seen& call, uint32_t procedure) {
  return call.Word(4) == 0 && call.Word(12) == 100003 && call.Word(16) == 3 && call.Word(20) == procedure;
}
inline bool HasWriteChunk(const Seen& call) {
  return !call.header.write_chunks.empty() && call.header.write_chunks[0].count > 0;
}
inline bool HasReplyChunk(const Seen& call) { return call.header.reply_chunk && call.header.reply_chunk->count > 0; }
inline bool HasReadChunk(const Seen& call) { return !call.header.reads.empty(); }

inline void PickRead(Trick& trick) {
  trick.picks = [](const Seen& call) { return IsNfs3(call, 6) && HasWriteChunk(call); };
  trick.needs = "NFSv3 READ with a Write chunk";
}
inline void PickWriteChunk(Trick& trick) {
  trick.picks = HasWriteChunk;
  trick.needs = "Call with a Write chunk";
}
inline void PickReplyChunk(Trick& trick) {
  trick.picks = HasReplyChunk;
  trick.needs = "Call with a Reply chunk";
}
inline void PickReadChunk(Trick& trick) {
  trick.picks = HasReadChunk;
  trick.needs = "Call with a Read chunk";
}
inline void PickPlain(Trick& trick) {
  trick.picks = [](const Seen& call) { return call.header.proc == rpcrdma::kMsg && !call.header.has_chunks(); };
  trick.needs = "Call without chunks";
}

}  // namespace stag::probe::client
