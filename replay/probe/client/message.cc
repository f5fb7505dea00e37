// SPDX-License-Identifier: GPL-2.0-or-later
//
// Messages that cannot be read, which a Requester has to discard silently (RFC 8166 sections 4.5 and 4.6), and RPC
// Replies that are cut or unusual (RFC 5531 section 9).
#include "protocol/base/writer.h"
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

constexpr size_t kFixedWords = 16;  // bytes of xid, version, credit, procedure
constexpr size_t kRpcHeader = 24;   // bytes of an accepted RPC Reply without a verifier's body

// `make`, from the right Reply, before it.
void Before(Trick& trick, Buffer (*make)(const Turn&), size_t times = 1) {
  PickPlain(trick);
  trick.times = times;
  trick.reply = [=](Turn& turn) {
    turn.scene.Send(make(turn));
    // Many of them take no time; one leaves some to the client.
    if (times > 1) return true;
    turn.Later();
    return false;
  };
}

Buffer WithProc(const Turn& turn, uint32_t proc) {
  Buffer message = turn.reply.Encoded();
  StoreBe32(message.data() + 12, proc);
  return message;
}
Buffer WithVersion(const Turn& turn) {
  Buffer message = turn.reply.Encoded();
  StoreBe32(message.data() + 4, 2);
  return message;
}
Buffer FirstBytes(const Turn& turn, size_t n) {
  Buffer message = turn.reply.Encoded();
  message.resize(n);
  return message;
}
Buffer WithLists(const Turn& turn, std::initializer_list<uint32_t> words) {
  Buffer message = FirstBytes(turn, kFixedWords);
  Writer out(message);
  for (const uint32_t word : words) out.U32(word);
  out.Put(turn.reply.rest);
  return message;
}

void Msgp(Trick& trick) {
  Before(trick, [](const Turn& turn) {
    Seen message = turn.reply;
    message.header.proc = rpcrdma::kMsgp;
    return message.Encoded();
  });
}
void Done(Trick& trick) {
  Before(trick, [](const Turn& turn) {
    Buffer message = FirstBytes(turn, kFixedWords);
    StoreBe32(message.data() + 12, rpcrdma::kDone);
    return message;
  });
}
void UnknownProc(Trick& trick) {
  Before(trick, [](const Turn& turn) { return WithProc(turn, 9); });
}
void Version(Trick& trick) { Before(trick, WithVersion); }
void ManyVersions(Trick& trick) { Before(trick, WithVersion, SIZE_MAX); }
void Short(Trick& trick) {
  Before(trick, [](const Turn& turn) { return FirstBytes(turn, 20); });
}
void ManyShort(Trick& trick) {
  Before(
      trick, [](const Turn& turn) { return FirstBytes(turn, 20); }, SIZE_MAX);
}
void Empty(Trick& trick) {
  Before(trick, [](const Turn&) { return Buffer(); });
}
void Discriminator(Trick& trick) {
  Before(trick, [](const Turn& turn) { return WithLists(turn, {2, 0, 0}); });
}
void Overrun(Trick& trick) {
  Before(trick, [](const Turn& turn) { return WithLists(turn, {0, 1, 0x7fffffff, 0}); });
}
void EndlessReadList(Trick& trick) {
  Before(trick, [](const Turn& turn) {
    Buffer message = FirstBytes(turn, kFixedWords);
    Writer out(message);
    for (int i = 0; i < 20; ++i)
      for (const uint32_t word : {1u, 40u, 0x1234u, 4u, 0u, 0u}) out.U32(word);
    return message;
  });
}

// Instead of the right Reply, to a Call without chunks.
void Instead(Trick& trick, void (*change)(Buffer& rpc), size_t times = 1) {
  PickPlain(trick);
  trick.times = times;
  trick.reply = [=](Turn& turn) {
    change(turn.reply.rest);
    return true;
  };
}

// Each time four bytes more of the results are there.
void CutResults(Trick& trick) {
  PickPlain(trick);
  trick.times = 12;
  auto words = std::make_shared<size_t>(0);
  trick.reply = [words](Turn& turn) {
    const size_t size = kRpcHeader + 4 * (*words)++;
    if (turn.reply.rest.size() > size) turn.reply.rest.resize(size);
    return true;
  };
}
void Superfluous(Trick& trick) {
  Instead(trick, [](Buffer& rpc) { rpc.insert(rpc.end(), 64, std::byte{0xee}); });
}
void Words(Buffer& rpc, std::initializer_list<uint32_t> words) {
  rpc.resize(4);
  Writer out(rpc);
  for (const uint32_t word : words) out.U32(word);
}
void Denied(Trick& trick) {  // MSG_DENIED, AUTH_ERROR, AUTH_TOOWEAK
  Instead(trick, [](Buffer& rpc) { Words(rpc, {1, 1, 1, 5}); });
}
void SystemError(Trick& trick) {  // MSG_ACCEPTED, no verifier, SYSTEM_ERR
  Instead(trick, [](Buffer& rpc) { Words(rpc, {1, 0, 0, 0, 5}); });
}
void UnknownStatus(Trick& trick) {
  Instead(trick, [](Buffer& rpc) { Words(rpc, {1, 0, 0, 0, 77}); });
}
void LongVerifier(Trick& trick) {  // a verifier that is longer than the message
  Instead(trick, [](Buffer& rpc) { Words(rpc, {1, 0, 6, 400, 0, 0}); });
}
void WrongType(Trick& trick) {
  Before(trick, [](const Turn& turn) {
    Seen message = turn.reply;
    StoreBe32(message.rest.data() + 4, 7);
    return message.Encoded();
  });
}
void NoRpc(Trick& trick) {
  Before(trick, [](const Turn& turn) {
    Seen message = turn.reply;
    message.rest.clear();
    return message.Encoded();
  });
}

constexpr std::string_view kDiscard = "RFC 8166 4.5";
using enum Taken;

}  // namespace

std::span<const ClientProbe> MessageProbes() {
  static const ClientProbe probes[] = {
      {"message.msgp", "RDMA_MSGP is discarded", "An RDMA_MSGP, then the Reply. The work succeeds.", "RFC 8166 4.6.1",
       "MSGP-001, MSGP-003", kFault, kAdvice, Msgp},
      {"message.done", "RDMA_DONE is discarded",
       "An RDMA_DONE with the xid of a Call, then the Reply to it. The work succeeds.", "RFC 8166 4.6.2",
       "DONE-001, DONE-002", kFault, kAdvice, Done},
      {"message.unknown-proc", "An unknown rdma_proc is discarded",
       "A message with rdma_proc 9, then the Reply. The work succeeds.", kDiscard, "HDR-004, ERR-009", kFault, kAdvice,
       UnknownProc},
      {"message.version", "Another version is discarded",
       "A message with rdma_vers 2, then the Reply. The work succeeds.", "RFC 8166 4.5, RFC 8166 4.2.2",
       "HDR-003, ERR-009", kFault, kAdvice, Version},
      {"message.versions", "Discarded messages cost no receives",
       "A message with rdma_vers 2 before each Reply to a Call without chunks. The work succeeds on one connection.",
       "RFC 8166 4.5, RFC 8166 3.3.1", "HDR-003, CRED-008", kFault, kAdvice, ManyVersions},
      {"message.short", "A message under 28 bytes is discarded",
       "The first 20 bytes of a Reply, then the Reply. The work succeeds.", kDiscard, "HDR-005", kFault, kAdvice,
       Short},
      {"message.shorts", "Short messages cost no receives",
       "20 bytes before each Reply to a Call without chunks. The work succeeds on one connection.",
       "RFC 8166 4.5, RFC 8166 3.3.1", "HDR-005, CRED-008", kFault, kAdvice, ManyShort},
      {"message.empty", "A message of no bytes is discarded",
       "A Send without bytes, then the Reply. The work succeeds.", kDiscard, "HDR-005", kFault, kAdvice, Empty},
      {"message.discriminator", "A list that begins with neither 0 nor 1 is discarded",
       "A Reply whose Read list begins with 2, then the right one. The work succeeds.", "RFC 8166 4.5, RFC 8166 4.7",
       "HDR-007, ERR-009", kFault, kAdvice, Discriminator},
      {"message.list-overrun", "A Write chunk that goes beyond the message is discarded",
       "A Reply whose Write chunk has 2147483647 segments, then the right one. The work succeeds.",
       "RFC 8166 4.5, RFC 8166 4.7", "HDR-009, ERR-009", kFault, kAdvice, Overrun},
      {"message.read-list-overrun", "A Read list that does not end is discarded",
       "A Reply with a Read list of 20 segments and no end, then the right one. The work succeeds.",
       "RFC 8166 4.5, RFC 8166 4.7", "HDR-008, ERR-009", kFault, kAdvice, EndlessReadList},
      {"message.no-rpc", "A transport header alone is no Reply",
       "RDMA_MSG without an RPC message, then the right Reply. The Call may fail; no byte is wrong.", kDiscard,
       "HDR-012", kAllowed, kAllowed, NoRpc},
      {"message.wrong-type", "An RPC message that is neither Call nor Reply",
       "A Reply whose RPC message type is 7, then the right one. The Call may fail; no byte is wrong.", kDiscard,
       "HDR-014", kAllowed, kAllowed, WrongType},
      {"message.cut-results", "Results that are cut off fail the Call",
       "Twelve Replies, each with four bytes more of its results. The Calls fail, and the connection goes on.",
       "RFC 8166 4.5", "", kAllowed, kAdvice, CutResults},
      {"message.superfluous", "Bytes behind the results do no harm",
       "A Reply with 64 bytes more than its results have. It is taken, or the Call fails.", "RFC 8166 4.5", "",
       kAllowed, kAdvice, Superfluous},
      {"message.denied", "An RPC refusal is an answer",
       "MSG_DENIED with AUTH_TOOWEAK. The Call may fail; the connection goes on.", "RFC 8166 4.5.4", "", kAllowed,
       kAdvice, Denied},
      {"message.system-error", "SYSTEM_ERR is an answer",
       "An accepted Reply with SYSTEM_ERR. The Call may fail; the connection goes on.", "RFC 8166 4.5.4", "", kAllowed,
       kAdvice, SystemError},
      {"message.unknown-status", "An unknown status is an answer",
       "An accepted Reply with accept_stat 77. The Call fails; the connection goes on.", "RFC 8166 4.5.4", "", kAllowed,
       kAdvice, UnknownStatus},
      {"message.long-verifier", "A verifier that is longer than the message does no harm",
       "A Reply whose verifier says 400 bytes and has eight. The Call fails; the connection goes on.", "RFC 8166 4.5.4",
       "", kAllowed, kAdvice, LongVerifier},
  };
  return probes;
}

}  // namespace stag::probe::client
