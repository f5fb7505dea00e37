// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/gss/acceptor.h"

#include <algorithm>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::gss {
namespace {

constexpr uint32_t kAuthError = 1, kAuthBadCredential = 1;  // RFC 5531 section 9

rpc::ReplyHeader ReplyTo(uint32_t xid) {
  rpc::ReplyHeader reply;
  reply.xid = xid;
  reply.msg_type = rpc::kReply;
  reply.reply_stat = rpc::kAccepted;
  return reply;
}

Acceptor::Taken Answer(const rpc::ReplyHeader& header) {
  Acceptor::Taken taken;
  rpc::Encode(header, taken.reply);
  return taken;
}

Acceptor::Taken Deny(uint32_t xid, uint32_t auth_stat) {
  rpc::ReplyHeader reply = ReplyTo(xid);
  reply.reply_stat = rpc::kDenied;
  reply.reject_stat = kAuthError;
  reply.auth_stat = auth_stat;
  return Answer(reply);
}

// The number that a handle of ours is; 0: it is none.
uint64_t NumberOf(Bytes handle) { return handle.size() == sizeof(uint64_t) ? LoadBe64(handle.data()) : 0; }

Acceptor::Taken Garbage(uint32_t xid, Bytes verifier = {}) {
  rpc::ReplyHeader reply = ReplyTo(xid);
  reply.accept_stat = rpc::kGarbageArgs;
  if (!verifier.empty()) reply.verifier = {rpc::kRpcsecGss, verifier};
  return Answer(reply);
}

}  // namespace

Acceptor::Taken Acceptor::Take(Bytes call, const rpc::CallHeader& header) {
  const rpc::GssCredential credential = rpc::DecodeGssCredential(header.credential.body);
  const bool creates = credential.proc == rpc::kGssInit || credential.proc == rpc::kGssContinueInit;
  const bool known = credential.proc == rpc::kGssData || credential.proc == rpc::kGssDestroy;
  if (credential.status != ParseStatus::kOk || credential.version != rpc::kGssVersion || (!creates && !known))
    return Deny(header.xid, kAuthBadCredential);
  const std::scoped_lock lock(mutex_);
  if (creates) return Create(call, header, credential);

  if (credential.service < rpc::kGssNone || credential.service > rpc::kGssPrivacy)
    return Deny(header.xid, kAuthBadCredential);
  const auto found = peers_.find(NumberOf(credential.handle));
  if (found == peers_.end() || !found->second->context->established()) return Deny(header.xid, rpc::kGssCredProblem);
  const std::shared_ptr<Peer> peer = found->second;
  constexpr size_t kWords = 24 + 8;  // those of the header, and flavor and length of the credential
  const Bytes checked = call.first(kWords + static_cast<size_t>(RoundUp4(header.credential.body.size())));
  if (header.verifier.flavor != rpc::kRpcsecGss || !peer->context->Verify(checked, header.verifier.body))
    return Deny(header.xid, rpc::kGssCredProblem);
  if (credential.sequence > rpc::kGssMaxSequence) return Deny(header.xid, rpc::kGssCtxProblem);
  Taken taken;
  if (!IsNew(*peer, credential.sequence)) {
    taken.verdict = Verdict::kDiscard;
    return taken;
  }
  auto verifier = peer->context->Mic(rpc::GssWord(credential.sequence));
  if (!verifier) return Deny(header.xid, rpc::kGssCtxProblem);
  if (credential.proc == rpc::kGssDestroy) {
    peers_.erase(found);
    rpc::ReplyHeader reply = ReplyTo(header.xid);
    reply.verifier = {rpc::kRpcsecGss, *verifier};
    return Answer(reply);
  }

  const Bytes body = call.subspan(header.length);
  if (credential.service == rpc::kGssNone) {
    taken.arguments.assign(body.begin(), body.end());
  } else {
    Buffer data;
    if (credential.service == rpc::kGssIntegrity) {
      const rpc::GssIntegrity integrity = rpc::DecodeGssIntegrity(body);
      if (integrity.status != ParseStatus::kOk || !peer->context->Verify(integrity.data, integrity.checksum))
        return Garbage(header.xid, *verifier);
      data.assign(integrity.data.begin(), integrity.data.end());
    } else {
      const auto wrapped = rpc::DecodeGssToken(body);
      auto plain = wrapped ? peer->context->Unwrap(*wrapped) : std::nullopt;
      if (!plain || plain->size() < rpc::kGssDataHeader) return Garbage(header.xid, *verifier);
      data = std::move(*plain);
    }
    if (LoadBe32(data.data()) != credential.sequence) return Garbage(header.xid, *verifier);
    taken.arguments.assign(data.begin() + rpc::kGssDataHeader, data.end());
  }
  taken.verdict = Verdict::kExecute;
  taken.verifier = std::move(*verifier);
  taken.peer = peer;
  taken.sequence = credential.sequence;
  taken.service = credential.service;
  return taken;
}

Acceptor::Taken Acceptor::Create(Bytes call, const rpc::CallHeader& header, const rpc::GssCredential& credential) {
  const auto token = rpc::DecodeGssToken(call.subspan(header.length));
  if (header.procedure != 0 || !token) return Garbage(header.xid);
  uint64_t number = 0;
  std::shared_ptr<Peer> peer;
  if (credential.proc == rpc::kGssInit) {
    peer = std::make_shared<Peer>();
    peer->context = credentials_->NewContext();
  } else {
    number = NumberOf(credential.handle);
    const auto found = peers_.find(number);
    if (found == peers_.end() || found->second->context->established()) return Deny(header.xid, rpc::kGssCredProblem);
    peer = found->second;
  }
  const auto next = peer->context->Step(*token);
  rpc::ReplyHeader reply = ReplyTo(header.xid);
  rpc::GssInitResults results;
  Buffer handle, verifier;
  if (!next) {
    peers_.erase(number);
    results.major = rpc::kGssFailure;
  } else {
    if (number == 0) {
      if (peers_.size() >= kMaxContexts) peers_.erase(peers_.begin());
      number = ++last_;
      peers_.emplace(number, peer);
    }
    Writer(handle).U64(number);
    results.handle = handle;
    results.major = peer->context->established() ? rpc::kGssComplete : rpc::kGssContinueNeeded;
    results.window = kWindow;
    results.token = *next;
    if (peer->context->established()) {
      auto mic = peer->context->Mic(rpc::GssWord(kWindow));
      if (!mic) return Deny(header.xid, rpc::kGssCtxProblem);
      verifier = std::move(*mic);
      reply.verifier = {rpc::kRpcsecGss, verifier};
    }
  }
  Taken taken = Answer(reply);
  rpc::Encode(results, taken.reply);
  return taken;
}

bool Acceptor::IsNew(Peer& peer, uint32_t sequence) {
  if (sequence > peer.newest) {
    const uint32_t moved = sequence - peer.newest;
    peer.seen = moved < kWindow ? peer.seen << moved : std::bitset<kWindow>{};
    peer.newest = sequence;
  }
  const uint32_t behind = peer.newest - sequence;
  if (behind >= kWindow || peer.seen.test(behind)) return false;
  peer.seen.set(behind);
  return true;
}

std::optional<size_t> Acceptor::Finish(const Taken& taken, Buffer& reply) {
  rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (header.status != ParseStatus::kOk || header.reply_stat != rpc::kAccepted) return 0;
  header.verifier = {rpc::kRpcsecGss, taken.verifier};
  const Bytes results = Bytes(reply).subspan(header.length);
  Buffer out;
  rpc::Encode(header, out);
  if (taken.service == rpc::kGssNone || !header.success()) {
    out.insert(out.end(), results.begin(), results.end());
    const size_t moved = out.size() - reply.size();
    reply = std::move(out);
    return moved;
  }
  Buffer data;
  Writer(data).U32(taken.sequence);
  data.insert(data.end(), results.begin(), results.end());
  const bool integrity = taken.service == rpc::kGssIntegrity;
  const std::scoped_lock lock(mutex_);
  const auto made = integrity ? taken.peer->context->Mic(data) : taken.peer->context->Wrap(data);
  if (!made)
    out = Deny(header.xid, rpc::kGssCtxProblem).reply;
  else if (integrity)
    rpc::Encode(rpc::GssIntegrity{ParseStatus::kOk, data, *made}, out);
  else
    Writer(out).Opaque(*made);
  reply = std::move(out);
  return {};
}

}  // namespace stag::gss
