// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/recall.h"

#include "protocol/rpc/message.h"

namespace stag::probe {
namespace {

using nfs_client::nfs4::Compound;
using nfs_client::nfs4::CompoundResults;
using nfs_client::nfs4::StateId;

// CB_SEQUENCE, where a CB_COMPOUND begins with it (RFC 8881 sections 20.2 and 20.9).
struct CbSequence {
  uint32_t operations = 0;  // of the CB_COMPOUND
  Bytes session, sequence_and_slot;
  uint32_t highest = 0;
  bool plain = true;  // no referring calls
};
std::optional<CbSequence> TakeSequence(Cursor& arguments) {
  CbSequence s;
  arguments.Skip(RoundUp4(arguments.U32()));  // tag
  arguments.Skip(4 + 4);                      // minor version, callback_ident
  s.operations = arguments.U32();
  if (s.operations == 0 || arguments.U32() != nfs::kCbSequence) return std::nullopt;
  s.session = arguments.Take(16), s.sequence_and_slot = arguments.Take(8);
  s.highest = arguments.U32();
  arguments.Skip(4);  // csa_cachethis
  s.plain = arguments.U32() == 0;
  return arguments.ok() ? std::optional(s) : std::nullopt;
}

// Results of CB_COMPOUND (RFC 8881 section 20.2): CB_SEQUENCE and CB_RECALL succeed, what is neither ends it.
void PutResults(Cursor arguments, Writer& out) {
  const auto sequence = TakeSequence(arguments);
  if (!sequence || sequence->operations > 2) {
    for (const uint32_t word : {uint32_t{kErrOpIllegal}, 0u, 0u}) out.U32(word);
    return;
  }
  const uint32_t count = sequence->operations;
  const uint32_t op = count == 2 && sequence->plain ? arguments.U32() : 0;
  const uint32_t status = !arguments.ok() || (count == 2 && op != nfs::kCbRecall) ? uint32_t{kErrOpIllegal} : 0;
  for (const uint32_t word : {status, 0u, count, uint32_t{nfs::kCbSequence}, 0u}) out.U32(word);
  out.Put(sequence->session);
  out.Put(sequence->sequence_and_slot);
  out.U32(sequence->highest);
  out.U32(sequence->highest);  // the target
  if (count == 2) out.U32(op), out.U32(status);
}

// The arguments of a callback; nullopt: it has none.
std::optional<Cursor> ArgumentsOf(const Message& callback) {
  const Bytes call = callback.payload();
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  if (header.status != ParseStatus::kOk || header.procedure == 0) return std::nullopt;
  return Cursor(call.subspan(header.length));
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

Recall::Recall(Bench& bench, uint32_t slots) : bench_(bench), client_(bench, {.back_slots = slots}) {
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
  Writer out(reply.rpc);
  if (const auto arguments = ArgumentsOf(*callback_)) PutResults(*arguments, out);
  client_.link().Send(reply);
}

void Recall::Refuse(uint32_t status) {
  Call reply = ReplyTo(callback_->header.xid, bench_);
  Writer out(reply.rpc);
  for (const uint32_t word : {status, 0u, 1u, uint32_t{nfs::kCbSequence}, status}) out.U32(word);
  client_.link().Send(reply);
}

std::optional<uint32_t> Recall::slot() const {
  auto arguments = ArgumentsOf(*callback_);
  const auto sequence = arguments ? TakeSequence(*arguments) : std::nullopt;
  return sequence ? std::optional(LoadBe32(sequence->sequence_and_slot.data() + 4)) : std::nullopt;
}

bool Recall::ReachSlot() {
  constexpr int kCallbacks = 3;  // CB_NULL comes first
  for (int i = 0; i < kCallbacks && !slot(); ++i) {
    Answer();
    if (delegation_ == StateId{} && !bench_.options().nfs4_path.empty()) Provoke();
    if (!Again()) return false;
  }
  return slot().has_value();
}

bool Recall::Again() {
  auto next = client_.link().NextBackward(bench_.options().patience.answer);
  if (!next) return false;
  callback_ = std::move(next);
  return true;
}

}  // namespace stag::probe
