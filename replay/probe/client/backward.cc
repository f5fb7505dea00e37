// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls of the server (RFC 8167) to a client that may have no use for them.
#include "protocol/base/writer.h"
#include "replay/probe/client/holder.h"
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

constexpr uint32_t kCallback = 0x40000000;  // the program that NFSv4 clients choose most often
constexpr uint32_t kXid = 0xbac00000;       // of backward Calls

struct BackwardCall {
  rpcrdma::Header header;
  Buffer rpc;
  Buffer Encoded() const {
    Buffer out;
    rpcrdma::Encode(header, out);
    out.insert(out.end(), rpc.begin(), rpc.end());
    return out;
  }
};

BackwardCall Make(uint32_t xid, uint32_t program = kCallback) {
  BackwardCall call;
  call.header.xid = xid;
  call.header.vers = rpcrdma::kVersion1;
  call.header.credit = 8;
  call.header.proc = rpcrdma::kMsg;
  Writer out(call.rpc);
  for (const uint32_t word : {xid, 0u, 2u, program, 1u, 0u, 0u, 0u, 0u, 0u}) out.U32(word);
  return call;
}

// Sends that while a Call is outstanding; its Reply comes later.
void Meanwhile(Trick& trick, void (*send)(Turn&)) {
  PickPlain(trick);
  trick.reply = [=](Turn& turn) {
    send(turn);
    turn.Later();
    return false;
  };
}

void Null(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) { turn.scene.Send(Make(kXid).Encoded()); });
}
void UnknownProgram(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) { turn.scene.Send(Make(kXid, 0x20202020).Encoded()); });
}
void XidInUse(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) { turn.scene.Send(Make(turn.call.header.xid).Encoded()); });
}
void TwoXids(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    BackwardCall call = Make(kXid);
    call.header.xid = turn.call.header.xid;
    turn.scene.Send(call.Encoded());
  });
}
void Flood(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    for (uint32_t i = 0; i < 64; ++i) turn.scene.Send(Make(kXid + i).Encoded());
  });
}
void ReadChunk(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    BackwardCall call = Make(kXid);
    call.header.reads.push_back({40, {0x1234, 64, 0}});
    turn.scene.Send(call.Encoded());
  });
}
void WriteChunk(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    BackwardCall call = Make(kXid);
    call.header.segments = {{0x1234, 4096, 0}, {0x1235, 4096, 0}};
    call.header.write_chunks = {{0, 1}};
    call.header.reply_chunk = rpcrdma::Chunk{1, 1};
    turn.scene.Send(call.Encoded());
  });
}
void LongCall(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    BackwardCall call = Make(kXid);
    call.header.proc = rpcrdma::kNomsg;
    call.header.reads.push_back({0, {0x1234, static_cast<uint32_t>(call.rpc.size()), 0}});
    call.rpc.clear();
    turn.scene.Send(call.Encoded());
  });
}
// What looks like a Call and has five words (MUS-029 of docs/museum.md).
void Garbage(Trick& trick) {
  Meanwhile(trick, [](Turn& turn) {
    BackwardCall call = Make(1);
    call.rpc.clear();
    Writer out(call.rpc);
    for (const uint32_t word : {1u, 0u, 0u, 0u, 4u}) out.U32(word);
    turn.scene.Send(call.Encoded());
  });
}

// While several Calls are outstanding and stay so for a while.
void UnderLoad(Trick& trick) {
  HoldReplies(trick, 4, [](const std::shared_ptr<HeldReplies>& held, Scene& scene, Play& play) {
    for (uint32_t i = 0; i < 2; ++i) scene.Send(Make(kXid + i).Encoded());
    scene.After(play.late, [held](Scene& later) {
      for (const Held& each : *held) each.Send(later);
    });
  });
}

constexpr std::string_view kBackward = "RFC 8167 5.1, RFC 8167 5.3";
using enum Taken;

}  // namespace

std::span<const ClientProbe> BackwardProbes() {
  static const ClientProbe probes[] = {
      {"backward.null", "A Call of the server does no harm",
       "CB_NULL while a Call is outstanding, then the Reply. The client answers or discards it; the work succeeds.",
       kBackward, "BC-001, BC-005", kFault, kAdvice, Null},
      {"backward.unknown-program", "A Call of the server for no program does no harm",
       "NULL of program 0x20202020 while a Call is outstanding, then the Reply. The work succeeds.", kBackward,
       "BC-001, BC-005", kFault, kAdvice, UnknownProgram},
      {"backward.xid-in-use", "A Call of the server has xids of its own",
       "CB_NULL with the xid of an outstanding Call, then the Reply to that Call. Neither is taken for the other; the "
       "work succeeds.",
       "RFC 8167 5.1, RFC 8166 4.2.1", "BC-001, BC-004", kFault, kAdvice, XidInUse},
      {"backward.two-xids", "A Call of the server with two xids does no harm",
       "CB_NULL whose transport header has the xid of an outstanding Call, and whose RPC message has another; then "
       "the Reply. The work succeeds.",
       "RFC 8167 5.1, RFC 8166 4.2.1", "BC-001, XID-001", kFault, kAdvice, TwoXids},
      {"backward.flood", "More Calls of the server than the client granted do no harm",
       "64 times CB_NULL at once. The connection may end; the Calls of the client come again, and the work succeeds.",
       "RFC 8167 4.2, RFC 8166 3.3.1", "BC-002", kAdvice, kAllowed, Flood},
      {"backward.read-chunk", "A Call of the server with a Read chunk does no harm",
       "CB_NULL with a Read chunk of memory that the server has not. The work succeeds.", "RFC 8167 5.3", "BC-003",
       kFault, kAllowed, ReadChunk},
      {"backward.write-chunk", "A Call of the server with Write and Reply chunks does no harm",
       "CB_NULL with a Write chunk and a Reply chunk of memory that the server has not. The work succeeds.",
       "RFC 8167 5.3", "BC-003", kFault, kAllowed, WriteChunk},
      {"backward.long-call", "A Long Call of the server does no harm",
       "RDMA_NOMSG with a Position Zero Read chunk of memory that the server has not. The work succeeds.",
       "RFC 8167 5.3", "BC-003", kFault, kAllowed, LongCall},
      {"backward.under-load", "A Call of the server does no harm while others are outstanding",
       "Two CB_NULL while four Calls are outstanding, which are answered late. The work succeeds on one connection.",
       kBackward, "BC-001, BC-002", kFault, kAdvice, UnderLoad},
      {"backward.garbage", "What only looks like a Call of the server is discarded",
       "RDMA_MSG with xid 1 and five words whose message type is CALL, then the Reply. The work succeeds.",
       "RFC 8166 4.5", "BC-001, BC-005", kFault, kAdvice, Garbage,
       "Linux clients without the fix of MUS-029 (docs/museum.md) crash on it when the mount has no callback service"},
  };
  return probes;
}

}  // namespace stag::probe::client
