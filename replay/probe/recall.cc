// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/recall.h"

#include "protocol/rpc/message.h"

namespace stag::probe {
namespace {

using nfs_client::nfs4::Compound;
using nfs_client::nfs4::CompoundResults;
using nfs_client::nfs4::StateId;

constexpr Nfs4Terms kWithBackChannel{.back_channel = true};

// Results of CB_COMPOUND (RFC 8881 section 20.2): CB_SEQUENCE and CB_RECALL succeed, what is neither ends it.
void PutResults(Cursor arguments, Writer& out) {
  enum : uint32_t { kCbRecall = 4, kCbSequence = 11 };
  arguments.Skip(RoundUp4(arguments.U32()));  // tag
  arguments.Skip(4 + 4);                      // minor version, callback_ident
  const uint32_t count = arguments.U32();
  if (count == 0 || count > 2 || arguments.U32() != kCbSequence) {
    for (const uint32_t word : {uint32_t{kErrOpIllegal}, 0u, 0u}) out.U32(word);
    return;
  }
  const Bytes session = arguments.Take(16), sequence_and_slot = arguments.Take(8);
  const uint32_t highest = arguments.U32();
  arguments.Skip(4);                        // csa_cachethis
  const bool plain = arguments.U32() == 0;  // no referring calls
  const uint32_t op = count == 2 && plain ? arguments.U32() : 0;
  const uint32_t status = !arguments.ok() || (count == 2 && op != kCbRecall) ? uint32_t{kErrOpIllegal} : 0;
  for (const uint32_t word : {status, 0u, count, uint32_t{kCbSequence}, 0u}) out.U32(word);
  out.Put(session);
  out.Put(sequence_and_slot);
  out.U32(highest);
  out.U32(highest);  // the target
  if (count == 2) out.U32(op), out.U32(status);
}

}  // namespace

Call ReplyTo(uint32_t xid, Bench& bench) {
  Call reply = bench.Null();
  reply.header.xid = xid;
  reply.rpc.clear();
  Writer out(reply.rpc);
  for (const uint32_t word : {xid, uint32_t{rpc::kReply}, 0u, 0u, 0u, 0u}) out.U32(word);
  return reply;
}

Recall::Recall(Bench& bench) : bench_(bench), client_(bench, kWithBackChannel) {
  if (!client_.has_back_channel()) Inconclusive("the server takes no back channel on the connection of CREATE_SESSION");
  const Patience& patience = bench.options().patience;
  const bool can_provoke = !bench.options().nfs4_path.empty();
  callback_ = client_.link().NextBackward(can_provoke ? patience.quiet : patience.answer);
  if (!callback_ && can_provoke) {
    Provoke();
    callback_ = client_.link().NextBackward(patience.answer);
  }
  if (!callback_)
    Inconclusive(can_provoke ? "the server recalls no delegation"
                             : "the server calls nothing on a new back channel, which is its choice; with "
                               "--nfs4-export a delegation is recalled");
}

void Recall::Provoke() {
  Nfs4File& file = file_.emplace(bench_);
  Nfs4::Expect(file.client().Ask(file.Make([&](Compound& c) { c.Close(file.state()); })), nfs::kNfs4Ok, "CLOSE");
  // A server gives none as long as it has not let go of the file that was written: it is asked again.
  constexpr int kAttempts = 8;
  for (int attempt = 0; delegation_ == StateId{}; ++attempt) {
    if (attempt == kAttempts) Inconclusive("the server gives no delegation, and so recalls none");
    if (attempt > 0) client_.link().ExpectQuiet("there is nothing to recall");
    const Compounded opened = client_.Ask(client_.Make(
        [&](Compound& c) { file.PutDirectory(c).OpenDelegated(client_.client(), client_.owner(), file.name()); }));
    Nfs4::Expect(opened, nfs::kNfs4Ok, "OPEN to read");
    CompoundResults results = opened.results();
    StateId state;
    bool good = results.Sequence() && results.Plain(nfs::kOpPutrootfh);
    for (size_t i = 0; good && i < file.depth(); ++i) good = results.Plain(nfs::kOpLookup);
    if (!good || !results.Open(state, &delegation_)) Failed("results of OPEN", "others");
  }
  file.link().Send(file.client().Make([&](Compound& c) {
    file.PutDirectory(c).Open(file.client().client(), file.client().owner(), file.name(), false);
  }));
  opening_ = true;
}

Recall::~Recall() {
  if (delegation_ == StateId{}) return;
  try {
    Link& link = client_.link().open() ? client_.link() : client_.Reconnect();
    const uint32_t slot = client_.slots() - 1;  // the first may have been left in disorder
    const Call call = client_.Make([this](Compound& c) { file_->Put(c).ReturnDelegation(delegation_); }, slot);
    if (link.TrySend(call.Encoded())) (void)link.Next(bench_.options().patience.answer);
    if (opening_ && file_->link().open()) (void)file_->link().Next(bench_.options().patience.answer);
  } catch (const Ended&) {  // the lease ends it
  }
}

void Recall::Answer() {
  Call reply = ReplyTo(callback_->header.xid, bench_);
  const Bytes call = callback_->payload();
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  if (header.status == ParseStatus::kOk && header.procedure != 0) {
    Writer out(reply.rpc);
    PutResults(Cursor(call.subspan(header.length)), out);
  }
  client_.link().Send(reply);
}

}  // namespace stag::probe
