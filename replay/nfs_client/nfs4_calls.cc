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

constexpr uint32_t kUnusedSeqid = 0;  // in version 4.1
constexpr uint32_t kDenyNone = 0, kClaimNull = 0;

// Arguments as they go: numbers and flags, texts with their lengths, bytes of a fixed size, channels.
template <typename T>
void PutOne(Writer& out, const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    rpcrdma::PutBool(out, v);
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    out.U32(v);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    out.U64(v);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    rpcrdma::PutString(out, v);
  } else if constexpr (std::is_same_v<T, Channel>) {
    PutChannel(out, v);
  } else {
    out.Put(v);
  }
}
template <typename... Parts>
void PutAll(Writer& out, const Parts&... parts) {
  (PutOne(out, parts), ...);
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
  // No flags, SP4_NONE, no implementation id.
  return PutAll(Operation(nfs::kOpExchangeId), verifier, owner, 0u, 0u, 0u), *this;
}

Compound& Compound::CreateSession(uint64_t client, uint32_t sequence, const Channel& fore, const Channel& back) {
  // Flags: not persistent, no backchannel on this connection, no step up to RDMA (it is one already).
  constexpr uint32_t kFlags = 0, kCallbackProgram = 0x40000000, kSecurityParameters = 1;
  PutAll(Operation(nfs::kOpCreateSession), client, sequence, kFlags, fore, back, kCallbackProgram, kSecurityParameters,
         uint32_t{rpc::kAuthNone});
  return *this;
}

Compound& Compound::DestroySession(const SessionId& session) {
  return PutAll(Operation(nfs::kOpDestroySession), session), *this;
}
Compound& Compound::DestroyClientId(uint64_t client) {
  return PutAll(Operation(nfs::kOpDestroyClientid), client), *this;
}
Compound& Compound::ReclaimComplete() { return PutAll(Operation(nfs::kOpReclaimComplete), false), *this; }
Compound& Compound::Put(const nfs4::Sequence& s) {
  return PutAll(Operation(nfs::kOpSequence), s.session, s.sequence, s.slot, s.highest_slot, s.cache), *this;
}
Compound& Compound::PutRootHandle() { return Operation(nfs::kOpPutrootfh), *this; }
Compound& Compound::PutHandle(Bytes handle) { return Operation(nfs::kOpPutfh).Opaque(handle), *this; }
Compound& Compound::GetHandle() { return Operation(nfs::kOpGetfh), *this; }
Compound& Compound::Lookup(std::string_view name) { return PutAll(Operation(nfs::kOpLookup), name), *this; }

Compound& Compound::Open(uint64_t client, std::string_view owner, std::string_view name, bool create) {
  constexpr uint32_t kShareBoth = 3, kWantNoDelegation = 0x0400, kUnchecked = 0;
  constexpr uint32_t kModeWord1 = 1u << 1;  // attribute 33, mode
  Writer& out = Operation(nfs::kOpOpen);
  PutAll(out, kUnusedSeqid, kShareBoth | kWantNoDelegation, kDenyNone, client, owner, create);
  if (create) PutAll(out, kUnchecked, 2u, kSizeBit, kModeWord1, 8u + 4u, uint64_t{0}, 0644u);
  return PutAll(out, kClaimNull, name), *this;
}

Compound& Compound::OpenDelegated(uint64_t client, std::string_view owner, std::string_view name) {
  constexpr uint32_t kShareRead = 1, kWantReadDelegation = 0x0100;
  PutAll(Operation(nfs::kOpOpen), kUnusedSeqid, kShareRead | kWantReadDelegation, kDenyNone, client, owner, false,
         kClaimNull, name);
  return *this;
}

Compound& Compound::ReturnDelegation(const StateId& delegation) {
  return PutAll(Operation(nfs::kOpDelegreturn), delegation), *this;
}
Compound& Compound::Close(const StateId& state) { return PutAll(Operation(nfs::kOpClose), kUnusedSeqid, state), *this; }
Compound& Compound::Remove(std::string_view name) { return PutAll(Operation(nfs::kOpRemove), name), *this; }
Compound& Compound::GetAttributes() {
  return PutAll(Operation(nfs::kOpGetattr), 1u, kTypeBit | kChangeBit | kSizeBit), *this;
}
Compound& Compound::Read(const StateId& state, uint64_t offset, uint32_t count) {
  return PutAll(Operation(nfs::kOpRead), state, offset, count), *this;
}
Compound& Compound::Write(const StateId& state, uint64_t offset, uint32_t count, uint32_t stable) {
  return PutAll(Operation(nfs::kOpWrite), state, offset, stable, count), *this;
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
