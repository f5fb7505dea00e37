// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDMA_ERROR instead of a Reply, or beside it (RFC 8166 section 4.5).
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

Buffer ErrorTo(const Turn& turn, uint32_t err, uint32_t low = 1, uint32_t high = 1) {
  rpcrdma::Header header;
  header.xid = turn.call.header.xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = turn.reply.header.credit;
  header.proc = rpcrdma::kError;
  header.err = err;
  header.vers_low = low;
  header.vers_high = high;
  Buffer out;
  rpcrdma::Encode(header, out);
  return out;
}

// The Call gets this and no Reply.
bool Instead(const Turn& turn, Buffer error) {
  turn.scene.Send(std::move(error));
  return false;
}

void ErrorChunk(Trick& trick) {
  trick.reply = [](Turn& turn) { return Instead(turn, ErrorTo(turn, rpcrdma::kErrChunk)); };
}
void ChunkPlain(Trick& trick) {
  PickPlain(trick);
  ErrorChunk(trick);
}
void ChunkWrite(Trick& trick) {
  PickWriteChunk(trick);
  ErrorChunk(trick);
}
void ChunkRead(Trick& trick) {
  PickReadChunk(trick);
  ErrorChunk(trick);
}
void ChunkReply(Trick& trick) {
  PickReplyChunk(trick);
  ErrorChunk(trick);
}
void Vers(Trick& trick) {
  trick.reply = [](Turn& turn) { return Instead(turn, ErrorTo(turn, rpcrdma::kErrVers)); };
}
void VersOther(Trick& trick) {
  trick.reply = [](Turn& turn) { return Instead(turn, ErrorTo(turn, rpcrdma::kErrVers, 2, 3)); };
}
void Many(Trick& trick) {
  PickPlain(trick);
  ErrorChunk(trick);
  trick.times = 24;
}
void NoCredit(Trick& trick) {
  trick.reply = [](Turn& turn) {
    turn.reply.header.credit = 0;
    return Instead(turn, ErrorTo(turn, rpcrdma::kErrChunk));
  };
}
void ThenReply(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    turn.scene.Send(ErrorTo(turn, rpcrdma::kErrChunk));
    return true;
  };
}
void AfterReply(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    turn.scene.After({}, [error = ErrorTo(turn, rpcrdma::kErrChunk)](Scene& scene) { scene.Send(error); });
    return true;
  };
}
void UnknownCode(Trick& trick) {
  trick.reply = [](Turn& turn) { return turn.WrongFirst(ErrorTo(turn, 77)); };
}
void ErrorForNoCall(Trick& trick) {
  trick.reply = [](Turn& turn) {
    Buffer error = ErrorTo(turn, rpcrdma::kErrChunk);
    StoreBe32(error.data(), turn.call.header.xid ^ 0x80000000);
    turn.scene.Send(std::move(error));
    return true;
  };
}
void NoCode(Trick& trick) {
  trick.reply = [](Turn& turn) {
    Buffer error = ErrorTo(turn, rpcrdma::kErrChunk);
    error.resize(16);
    return turn.WrongFirst(std::move(error));
  };
}
void NoRange(Trick& trick) {
  trick.reply = [](Turn& turn) {
    Buffer error = ErrorTo(turn, rpcrdma::kErrVers);
    error.resize(20);
    return turn.WrongFirst(std::move(error));
  };
}

using enum Taken;

}  // namespace

std::span<const ClientProbe> ErrorProbes() {
  static const ClientProbe probes[] = {
      {"error.chunk", "ERR_CHUNK completes a Call without chunks",
       "A Call without chunks gets ERR_CHUNK. That Call fails, and the connection goes on.",
       "RFC 8166 4.5, RFC 8166 4.5.2", "ERR-011", kAllowed, kAdvice, ChunkPlain},
      {"error.chunk-write-chunk", "ERR_CHUNK completes a Call with a Write chunk",
       "A Call with a Write chunk, which was written to, gets ERR_CHUNK. That Call fails, and the connection goes on.",
       "RFC 8166 4.5, RFC 8166 4.5.2", "ERR-011", kAllowed, kAdvice, ChunkWrite},
      {"error.chunk-read-chunk", "ERR_CHUNK completes a Call with a Read chunk",
       "A Call with a Read chunk gets ERR_CHUNK. That Call fails, and the connection goes on.",
       "RFC 8166 4.5, RFC 8166 4.5.2", "ERR-011", kAllowed, kAdvice, ChunkRead},
      {"error.chunk-reply-chunk", "ERR_CHUNK completes a Call with a Reply chunk",
       "A Call with a Reply chunk gets ERR_CHUNK. That Call fails, and the connection goes on.",
       "RFC 8166 4.5, RFC 8166 4.5.3", "ERR-011", kAllowed, kAdvice, ChunkReply},
      {"error.vers", "ERR_VERS completes a Call",
       "A Call gets ERR_VERS with version 1 in its range. That Call fails; the client lives.",
       "RFC 8166 4.5, RFC 8166 4.5.1", "ERR-011", kAllowed, kAllowed, Vers},
      {"error.vers-range", "ERR_VERS without version 1 completes a Call",
       "A Call gets ERR_VERS with versions 2 to 3. That Call fails; the client lives.", "RFC 8166 4.5, RFC 8166 4.5.1",
       "ERR-011", kAllowed, kAllowed, VersOther},
      {"error.many", "Each ERR_CHUNK gives its credit back",
       "24 Calls without chunks get ERR_CHUNK. They fail, and later Calls are sent and answered.",
       "RFC 8166 4.5, RFC 8166 3.3.1", "ERR-011, ERR-017, CRED-003", kAllowed, kAdvice, Many},
      {"error.no-credit", "An RDMA_ERROR that grants nothing does not stop the client",
       "ERR_CHUNK with rdma_credit 0. That Call fails, and later Calls are sent.", "RFC 8166 4.5, RFC 8166 3.3.1",
       "ERR-011, CRED-002", kAllowed, kAllowed, NoCredit},
      {"error.then-reply", "A Reply behind an RDMA_ERROR is nobody's",
       "ERR_CHUNK for a Call, and right behind it the Reply to it. The Call is over; the Reply is discarded.",
       "RFC 8166 4.5, RFC 8166 4.2.1", "ERR-011", kAllowed, kAdvice, ThenReply},
      {"error.after-reply", "An RDMA_ERROR behind a Reply is nobody's",
       "The Reply to a Call, and behind it ERR_CHUNK for the same Call. The work succeeds.",
       "RFC 8166 4.5, RFC 8166 4.2.1", "ERR-011", kFault, kAdvice, AfterReply},
      {"error.unknown-code", "An unknown code is discarded",
       "RDMA_ERROR with rdma_err 77, then the Reply to the same Call. What cannot be decoded is discarded silently.",
       "RFC 8166 4.5", "ERR-005, ERR-012", kFault, kAdvice, UnknownCode},
      {"error.unknown-xid", "An RDMA_ERROR for no Call is discarded",
       "ERR_CHUNK with an xid that no Call has, then the Reply to a Call. The work succeeds.",
       "RFC 8166 4.5, RFC 8166 4.2.1", "XID-002, ERR-012", kFault, kAdvice, ErrorForNoCall},
      {"error.no-code", "An RDMA_ERROR without a code is discarded",
       "The 16 bytes of an RDMA_ERROR without rdma_err, then the Reply to the same Call. The work succeeds.",
       "RFC 8166 4.5", "ERR-010, ERR-012", kFault, kAdvice, NoCode},
      {"error.no-range", "ERR_VERS without its range is discarded",
       "ERR_VERS that ends where its range begins, then the Reply to the same Call. The work succeeds.",
       "RFC 8166 4.5, RFC 8166 4.5.1", "ERR-006, ERR-012", kFault, kAdvice, NoRange},
  };
  return probes;
}

}  // namespace stag::probe::client
