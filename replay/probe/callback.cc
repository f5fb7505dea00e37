// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of the backward direction (RFC 8167): what a client answers that nobody asked, and the back channel of an
// NFSv4.1 session, on which the server calls by itself or to recall a delegation.
#include <fmt/format.h>

#include "protocol/rpc/message.h"
#include "replay/probe/recall.h"

namespace stag::probe {
namespace {

constexpr uint32_t kNobodysXid = 0x5eed0001;

void UnaskedReply(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  for (uint32_t i = 0; i < 3; ++i)
    bench.ExpectDiscarded(link, ReplyTo(kNobodysXid + i, bench).Encoded(), "an RPC Reply");
}

void UnaskedReplyChunks(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  Call reply = ReplyTo(kNobodysXid, bench);
  AddWrite(reply, link.Offer({64, 64}, endpoint::Access::kRemoteWrite));
  bench.ExpectDiscarded(link, reply.Encoded(), "an RPC Reply with a Write chunk");
}

void UnaskedReplyShort(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  for (const size_t words : {2u, 3u, 5u}) {
    bench.Case(fmt::format("its first {} words", words));
    Call reply = ReplyTo(kNobodysXid, bench);
    reply.rpc.resize(words * 4);
    bench.ExpectDiscarded(link, reply.Encoded(), "the beginning of an RPC Reply");
  }
}

// A Reply whose xid is that of a Call under way: xids of the two directions have nothing to do with each other.
void UnaskedReplyInUse(Bench& bench) {
  Link& link = bench.Connect();
  bench.AskNull(link);
  for (int i = 0; i < 3; ++i) {
    Call call = bench.Null();
    link.MakeLong(call);
    link.Send(call);
    link.Send(ReplyTo(call.header.xid, bench));
    bench.ExpectNull(link, call, link.Answer(call));
  }
  link.ExpectQuiet("one answer to each Call");
}

void ExpectForward(Nfs4& client, std::string_view what) {
  for (int i = 0; i < 3; ++i) Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, what);
}

void Form(Bench& bench) {
  Recall recall(bench);
  const Message& callback = recall.callback();
  const rpcrdma::Header& header = callback.header;
  if (header.proc != rpcrdma::kMsg || !header.reads.empty() || !header.write_chunks.empty() || header.reply_chunk)
    Failed("an RDMA_MSG without chunks, which were not agreed on", "another form");
  if (header.credit == 0) Failed("a request of one credit at least", "a request of 0");
  const rpc::CallHeader call = rpc::DecodeCall(callback.payload(), callback.payload().size());
  if (call.xid != header.xid) Failed("one xid in the header and in the RPC Call", "two");
  if (call.status != ParseStatus::kOk || call.program != kCallbackProgram)
    Failed("an RPC Call of the program that CREATE_SESSION named", fmt::format("program {}", call.program));
  recall.Answer();
  ExpectForward(recall.client(), "a COMPOUND behind the callback");
}

void Unanswered(Bench& bench) {
  Recall recall(bench);
  ExpectForward(recall.client(), "a COMPOUND beside a callback that is not answered");
}

// One credit is granted by each message of the client, and none of its messages is a Reply: one Call is outstanding.
void Credits(Bench& bench) {
  Recall recall(bench);
  ExpectForward(recall.client(), "a COMPOUND beside the callback");
  if (recall.client().link().NextBackward(bench.options().patience.quiet))
    Failed("one backward Call until the first backward Reply", "two");
  recall.Answer();
  ExpectForward(recall.client(), "a COMPOUND behind the callback");
}

// A forward Call has the xid of the backward Call that is outstanding.
void SameXid(Bench& bench) {
  Recall recall(bench);
  Call call = recall.client().Make(AddRoot);
  SetXid(call, recall.callback().header.xid);
  Nfs4::Expect(recall.client().Ask(call), nfs::kNfs4Ok, "a COMPOUND with the callback's xid");
  recall.Answer();
  ExpectForward(recall.client(), "a COMPOUND behind the callback");
}

// The callback is answered twice: the second Reply is one that nobody asked for.
void AnsweredTwice(Bench& bench) {
  Recall recall(bench);
  for (int i = 0; i < 2; ++i) recall.Answer();
  ExpectForward(recall.client(), "a COMPOUND behind a callback that was answered twice");
}

// The callback is refused: the forward direction goes on, or the connection ends, and another works.
void RefusedCallback(Bench& bench) {
  Recall recall(bench);
  Nfs4& client = recall.client();
  Call error = ReplyTo(recall.callback().header.xid, bench);
  error.header.proc = rpcrdma::kError;
  error.header.err = rpcrdma::kErrChunk;
  error.inline_rpc = false;
  client.link().Send(error);
  const Call call = client.Make(AddRoot);
  const bool sent = client.link().open() && client.link().TrySend(call.Encoded());
  const auto answer = sent ? client.link().Next(bench.options().patience.answer) : std::nullopt;
  if (answer) return Nfs4::Expect(Nfs4::Take(client.link(), call, *answer), nfs::kNfs4Ok, "a COMPOUND behind it");
  if (client.link().open()) Failed("an answer to the COMPOUND behind it", "nothing");
  bench.Advise("the connection ends when a callback gets ERR_CHUNK; the forward direction could go on");
  client.Reconnect();
  ExpectForward(client, "a COMPOUND on another connection");
}

// A slot that the client has not is no slot to call with again (RFC 8881 section 20.9.3).
void BadSlot(Bench& bench) {
  constexpr uint32_t kSlots = 4;
  Recall recall(bench, kSlots);
  if (!recall.ReachSlot()) Inconclusive("the server makes no CB_COMPOUND with CB_SEQUENCE");
  const auto slot = recall.slot();
  recall.Refuse(kErrBadSlot);
  if (!recall.Again()) {
    bench.Advise("a callback that gets NFS4ERR_BADSLOT is not made again");
    return ExpectForward(recall.client(), "a COMPOUND behind it");
  }
  const auto next = recall.slot();
  recall.Answer();
  if (next == slot)
    Failed(fmt::format("another slot than {}, which got NFS4ERR_BADSLOT", *slot), fmt::format("slot {} again", *slot));
  ExpectForward(recall.client(), "a COMPOUND behind it");
}

void NoneWithout(Bench& bench) {
  Nfs4 client(bench);
  ExpectForward(client, "a COMPOUND");
  if (client.link().NextBackward(bench.options().patience.quiet))
    Failed("no Call of the server on a connection that is no back channel", "one");
}

}  // namespace

std::span<const Probe> CallbackProbes() {
  static const Probe probes[] = {
      {"callback.unasked-reply", "An RPC Reply that nobody waits for is discarded",
       "RPC Replies for xids that the server never used, each followed by a NULL: only that is answered.",
       "RFC 8166 4.5, RFC 8167 2", "BC-001, ERR-002", UnaskedReply,
       "libevpl without the fix of MUS-063 (docs/museum.md) aborts"},
      {"callback.unasked-reply-chunks", "An RPC Reply with chunks that nobody waits for is discarded",
       "The same with a Write chunk, which is left alone.", "RFC 8166 4.5, RFC 8167 2", "BC-001, MEM-003",
       UnaskedReplyChunks, "libevpl without the fix of MUS-063 (docs/museum.md) aborts"},
      {"callback.unasked-reply-short", "What only begins as an RPC Reply is discarded",
       "The first two, three and five words of an RPC Reply, each followed by a NULL.", "RFC 8166 4.5, RFC 8167 2",
       "BC-001", UnaskedReplyShort, "libevpl without the fix of MUS-063 (docs/museum.md) aborts"},
      {"callback.reply-xid-in-use", "Each direction has xids of its own",
       "A Long Call, and while it is pulled an RPC Reply with its xid: the Call is answered, once.",
       "RFC 8167 2, RFC 8166 4.2.1", "BC-004, XID-004", UnaskedReplyInUse,
       "libevpl without the fix of MUS-063 (docs/museum.md) aborts"},
      {"callback.none-without", "A connection that is no back channel gets no Calls",
       "A session without CREATE_SESSION4_FLAG_CONN_BACK_CHAN, and COMPOUNDs.", "RFC 8881 2.10.3.1, RFC 8881 18.36.3",
       "BC-005", NoneWithout},
      {"callback.form", "A callback is an RDMA_MSG without chunks",
       "A session with a back channel: the first callback has one xid, a credit, no chunks, and the program that was "
       "named. It is what the server sends on a new back channel, or, with --nfs4-export, CB_RECALL of a delegation "
       "(NFSv4.1; inconclusive where it does neither, as in the next ones).",
       "RFC 8167 4, RFC 8881 18.36.3", "BC-003, XID-001, CRED-001", Form},
      {"callback.unanswered", "A callback that is not answered stops nobody",
       "The first callback is not answered; COMPOUNDs are.", "RFC 8167 4, RFC 8881 2.10.3.1", "BC-002", Unanswered},
      {"callback.credits", "One callback is outstanding before the first backward Reply",
       "The first callback is answered late: no other comes before.", "RFC 8167 4, RFC 8166 3.3.3", "BC-002, CRED-005",
       Credits},
      {"callback.same-xid", "A forward Call may have a callback's xid",
       "A COMPOUND with the xid of the callback that is outstanding; then that is answered.", "RFC 8167 2",
       "BC-004, XID-001", SameXid},
      {"callback.answered-twice", "The second answer to a callback is discarded",
       "The first callback is answered twice; COMPOUNDs behind it succeed.", "RFC 8166 4.5, RFC 8167 2", "BC-001",
       AnsweredTwice, "libevpl without the fix of MUS-063 (docs/museum.md) aborts"},
      {"callback.refused", "A callback that is refused stops nobody",
       "The first callback gets ERR_CHUNK; a COMPOUND behind it succeeds. The end of the connection is advice.",
       "RFC 8166 4.5, RFC 8167 4", "BC-001, ERR-001", RefusedCallback},
      {"callback.bad-slot", "After NFS4ERR_BADSLOT a callback has another slot",
       "A back channel of four slots; the first CB_SEQUENCE gets NFS4ERR_BADSLOT. The next callback has another slot. "
       "That none comes is advice.",
       "RFC 8881 20.9.3, RFC 8167 4", "", BadSlot},
  };
  return probes;
}

}  // namespace stag::probe
