// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/nfs4_calls.h"

#include <algorithm>

#include "replay/nfs_client/read_data.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::nfs_client::nfs4 {
namespace {

constexpr uint32_t kTypeBit = 1u << 1, kChangeBit = 1u << 3, kSizeBit = 1u << 4;  // RFC 8881 section 5.8.1

void PutChannel(Writer& out, const Channel& channel) {
  for (const uint32_t word : {0u /*headerpadsize*/, channel.request_bytes, channel.response_bytes, channel.cached_bytes,
                              channel.operations, channel.requests, 0u /*no rdma_ird*/})
    out.U32(word);
}

Channel GetChannel(Cursor& in) {
  Channel channel;
  in.Skip(4);
  for (uint32_t* word :
       {&channel.request_bytes, &channel.response_bytes, &channel.cached_bytes, &channel.operations, &channel.requests})
    *word = in.U32();
  const uint32_t ird = in.U32();
  if (ird > 1) in.Fail(ParseStatus::kMalformed);
  in.Skip(ird * 4);
  return channel;
}

template <size_t N>
void GetFixed(Cursor& in, std::array<std::byte, N>& to) {
  const Bytes bytes = in.Take(N);
  std::ranges::copy(bytes, to.begin());
}

void SkipBitmap(Cursor& in) {
  const uint64_t words = in.U32();
  in.Skip(words * 4);
}

// nfsace4.
void SkipAce(Cursor& in) {
  in.Skip(12);
  (void)rpcrdma::GetOpaque(in);
}

// open_delegation4. Returns the stateid of one that is given, or zeros.
StateId TakeDelegation(Cursor& in) {
  enum : uint32_t { kNone = 0, kRead = 1, kWrite = 2, kNoneExt = 3 };
  enum : uint32_t { kLimitSize = 1, kLimitBlocks = 2 };
  enum : uint32_t { kContention = 1, kResource = 2 };
  StateId given{};
  switch (in.U32()) {
    case kNone: break;
    case kRead:
      GetFixed(in, given);
      in.Skip(4);
      SkipAce(in);
      break;
    case kWrite: {
      GetFixed(in, given);
      in.Skip(4);
      const uint32_t limit = in.U32();
      if (limit != kLimitSize && limit != kLimitBlocks) in.Fail(ParseStatus::kMalformed);
      in.Skip(8);
      SkipAce(in);
      break;
    }
    case kNoneExt: {
      const uint32_t why = in.U32();
      if (why == kContention || why == kResource) in.Skip(4);
      break;
    }
    default: in.Fail(ParseStatus::kMalformed);
  }
  return given;
}

}  // namespace

Compound::Compound(const RpcCalls& calls, std::vector<std::byte>& out) : bytes_(out), out_(out) {
  calls.Begin(kCompound, out);
  out_.U32(0);  // tag
  out_.U32(1);  // minor version
  count_at_ = out_.size();
  out_.U32(0);
}

Writer& Compound::Operation(uint32_t op) {
  StoreBe32(bytes_.data() + count_at_, ++count_);
  out_.U32(op);
  return out_;
}

Compound& Compound::ExchangeId(std::string_view owner, uint64_t verifier) {
  Writer& out = Operation(nfs::kOpExchangeId);
  out.U64(verifier);
  rpcrdma::PutString(out, owner);
  out.U32(0);  // flags
  out.U32(0);  // SP4_NONE
  out.U32(0);  // no implementation id
  return *this;
}

Compound& Compound::CreateSession(uint64_t client, uint32_t sequence, const Channel& fore, const Channel& back) {
  Writer& out = Operation(nfs::kOpCreateSession);
  out.U64(client);
  out.U32(sequence);
  out.U32(0);  // flags: not persistent, no backchannel on this connection, no step up to RDMA (it is one already)
  PutChannel(out, fore);
  PutChannel(out, back);
  out.U32(0x40000000);  // cb_program
  out.U32(1);           // one callback_sec_parms4:
  out.U32(rpc::kAuthNone);
  return *this;
}

Compound& Compound::DestroySession(const SessionId& session) {
  Operation(nfs::kOpDestroySession).Put(session);
  return *this;
}

Compound& Compound::DestroyClientId(uint64_t client) {
  Operation(nfs::kOpDestroyClientid).U64(client);
  return *this;
}

Compound& Compound::ReclaimComplete() {
  rpcrdma::PutBool(Operation(nfs::kOpReclaimComplete), false);
  return *this;
}

Compound& Compound::Put(const nfs4::Sequence& sequence) {
  Writer& out = Operation(nfs::kOpSequence);
  out.Put(sequence.session);
  out.U32(sequence.sequence);
  out.U32(sequence.slot);
  out.U32(sequence.highest_slot);
  rpcrdma::PutBool(out, sequence.cache);
  return *this;
}

Compound& Compound::PutRootHandle() {
  Operation(nfs::kOpPutrootfh);
  return *this;
}

Compound& Compound::PutHandle(Bytes handle) {
  Operation(nfs::kOpPutfh).Opaque(handle);
  return *this;
}

Compound& Compound::GetHandle() {
  Operation(nfs::kOpGetfh);
  return *this;
}

Compound& Compound::Lookup(std::string_view name) {
  rpcrdma::PutString(Operation(nfs::kOpLookup), name);
  return *this;
}

Compound& Compound::Open(uint64_t client, std::string_view owner, std::string_view name, bool create) {
  constexpr uint32_t kShareBoth = 3, kWantNoDelegation = 0x0400, kDenyNone = 0, kCreate = 1, kUnchecked = 0;
  constexpr uint32_t kModeWord1 = 1u << 1;  // attribute 33, mode
  Writer& out = Operation(nfs::kOpOpen);
  out.U32(0);  // seqid, not used in version 4.1
  out.U32(kShareBoth | kWantNoDelegation);
  out.U32(kDenyNone);
  out.U64(client);
  rpcrdma::PutString(out, owner);
  out.U32(create ? kCreate : 0);
  if (create) {
    out.U32(kUnchecked);
    out.U32(2);
    out.U32(kSizeBit);
    out.U32(kModeWord1);
    out.U32(8 + 4);
    out.U64(0);
    out.U32(0644);
  }
  out.U32(0);  // CLAIM_NULL
  rpcrdma::PutString(out, name);
  return *this;
}

Compound& Compound::OpenDelegated(uint64_t client, std::string_view owner, std::string_view name) {
  constexpr uint32_t kShareRead = 1, kWantReadDelegation = 0x0100, kDenyNone = 0;
  Writer& out = Operation(nfs::kOpOpen);
  for (const uint32_t word : {0u, kShareRead | kWantReadDelegation, kDenyNone}) out.U32(word);
  out.U64(client);
  rpcrdma::PutString(out, owner);
  out.U32(0);  // OPEN4_NOCREATE
  out.U32(0);  // CLAIM_NULL
  rpcrdma::PutString(out, name);
  return *this;
}

Compound& Compound::ReturnDelegation(const StateId& delegation) {
  Operation(nfs::kOpDelegreturn).Put(delegation);
  return *this;
}

Compound& Compound::Close(const StateId& state) {
  Writer& out = Operation(nfs::kOpClose);
  out.U32(0);  // seqid, not used in version 4.1
  out.Put(state);
  return *this;
}

Compound& Compound::Remove(std::string_view name) {
  rpcrdma::PutString(Operation(nfs::kOpRemove), name);
  return *this;
}

Compound& Compound::GetAttributes() {
  Writer& out = Operation(nfs::kOpGetattr);
  out.U32(1);
  out.U32(kTypeBit | kChangeBit | kSizeBit);
  return *this;
}

Compound& Compound::Read(const StateId& state, uint64_t offset, uint32_t count) {
  Writer& out = Operation(nfs::kOpRead);
  out.Put(state);
  out.U64(offset);
  out.U32(count);
  return *this;
}

Compound& Compound::Write(const StateId& state, uint64_t offset, uint32_t count, uint32_t stable) {
  Writer& out = Operation(nfs::kOpWrite);
  out.Put(state);
  out.U64(offset);
  out.U32(stable);
  out.U32(count);
  return *this;
}

CompoundResults::CompoundResults(Bytes results) : in_(results) {
  in_.Skip(4);  // the status of the last operation that there is
  (void)rpcrdma::GetOpaque(in_);
  left_ = in_.U32();
}

bool CompoundResults::Begin(uint32_t op) {
  if (!in_.ok() || status_ != 0) return false;
  if (left_ == 0 || in_.U32() != op) in_.Fail(ParseStatus::kMalformed);
  const uint32_t status = in_.U32();
  if (!in_.ok()) return false;
  --left_;
  status_ = status;
  failed_ = status != 0 ? op : 0;
  return status == 0;
}

bool CompoundResults::Plain(uint32_t op) { return Begin(op); }

bool CompoundResults::ExchangeId(uint64_t& client, uint32_t& sequence) {
  if (!Begin(nfs::kOpExchangeId)) return false;
  client = in_.U64();
  sequence = in_.U32();
  in_.Skip(4);                                                // flags
  if (in_.U32() != 0) in_.Fail(ParseStatus::kMalformed);      // SP4_NONE was asked for
  in_.Skip(8);                                                // so_minor_id
  for (int i = 0; i < 2; ++i) (void)rpcrdma::GetOpaque(in_);  // so_major_id, server scope
  return End();
}

bool CompoundResults::CreateSession(SessionId& session, Channel& fore) {
  if (!Begin(nfs::kOpCreateSession)) return false;
  GetFixed(in_, session);
  in_.Skip(8);  // sequence, flags
  fore = GetChannel(in_);
  (void)GetChannel(in_);
  return End();
}

bool CompoundResults::Sequence() {
  if (!Begin(nfs::kOpSequence)) return false;
  in_.Skip(16 + 5 * 4);  // session; sequence, slot, highest slots, flags
  return End();
}

bool CompoundResults::GetHandle(Bytes& handle) {
  if (!Begin(nfs::kOpGetfh)) return false;
  handle = rpcrdma::GetOpaque(in_, kHandleMax);
  return End();
}

bool CompoundResults::Open(StateId& state, StateId* delegation) {
  if (!Begin(nfs::kOpOpen)) return false;
  GetFixed(in_, state);
  in_.Skip(4 + 8 + 8 + 4);  // change_info4, rflags
  SkipBitmap(in_);
  const StateId given = TakeDelegation(in_);
  if (delegation) *delegation = given;
  return End();
}

bool CompoundResults::GetAttributes(uint32_t& type, uint64_t& size) {
  if (!Begin(nfs::kOpGetattr)) return false;
  const uint32_t words = in_.U32();
  const uint32_t bits = in_.U32();
  if (words == 0 || bits != (kTypeBit | kChangeBit | kSizeBit)) in_.Fail(ParseStatus::kMalformed);
  in_.Skip((words - uint64_t{1}) * 4);
  if (in_.U32() != 4 + 8 + 8) in_.Fail(ParseStatus::kMalformed);
  type = in_.U32();
  in_.Skip(8);
  size = in_.U64();
  return End();
}

bool CompoundResults::Read(std::span<const Bytes> chunks, Bytes& data, bool& eof) {
  if (!Begin(nfs::kOpRead)) return false;
  eof = rpcrdma::GetBool(in_);
  data = TakeReadData(in_, chunks);
  return End();
}

bool CompoundResults::Write(uint32_t& count, uint64_t& verifier) {
  if (!Begin(nfs::kOpWrite)) return false;
  count = in_.U32();
  in_.Skip(4);  // committed
  verifier = in_.U64();
  return End();
}

}  // namespace stag::nfs_client::nfs4
