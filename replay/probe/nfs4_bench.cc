// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/nfs4_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace stag::probe {
namespace {

constexpr uint32_t kVersion4 = 4;
constexpr size_t kSequenceResult = 8 + 16 + 5 * 4;
constexpr uint32_t kConnBackChannel = 2;           // CREATE_SESSION4_FLAG_CONN_BACK_CHAN
constexpr size_t kSessionFlags = 12 + 8 + 16 + 4;  // in the results of a COMPOUND of a CREATE_SESSION, without a tag
constexpr uint32_t kMostSlots = 16;                // that probes use

nfs_client::RpcCalls Calls(const Bench& bench) { return {nfs::kNfsProgram, kVersion4, bench.options().credential}; }

}  // namespace

std::string Nfs4StatusText(uint32_t status) {
  if (status == nfs::kNfs4Ok) return "NFS4_OK";
  const char* name = nfs::StatusName(4, status);
  return name ? name : std::to_string(status);
}

Bytes Compounded::behind_sequence() const {
  const size_t tag = bytes.size() >= 8 ? static_cast<size_t>(RoundUp4(LoadBe32(bytes.data() + 4))) : 0;
  const size_t at = 4 + 4 + tag + 4 + kSequenceResult;
  return at <= bytes.size() ? Bytes(bytes).subspan(at) : Bytes{};
}

void AddRoot(nfs_client::nfs4::Compound& compound) { compound.PutRootHandle().GetAttributes(); }

Nfs4::Nfs4(Bench& bench, const Nfs4Terms& terms)
    : bench_(bench),
      link_(&bench.Connect()),
      owner_(fmt::format("stag probe {:08x}{:08x}", std::random_device{}(), std::random_device{}())) {
  link_->TakeBackwardCalls();
  const Call exchange = Bare([this](nfs_client::nfs4::Compound& c) { c.ExchangeId(owner_, std::random_device{}()); });
  const Message answer = link_->Ask(exchange);
  if (const std::string status = Bench::Status(*link_, exchange, answer); status != "SUCCESS")
    Skipped(fmt::format("the server has no NFSv4.1: {}", status));
  const Compounded exchanged = Take(*link_, exchange, answer);
  if (exchanged.status == kErrMinorVersion) Skipped("the server has no NFSv4.1");
  Expect(exchanged, nfs::kNfs4Ok, "EXCHANGE_ID");
  if (!exchanged.results().ExchangeId(client_, create_sequence_)) Failed("results of EXCHANGE_ID", "others");
  const Compounded created = Ask(CreateSession(client_, create_sequence_, terms.fore, terms.back_slots));
  Expect(created, nfs::kNfs4Ok, "CREATE_SESSION");
  if (!created.results().CreateSession(id_, fore_) || fore_.requests == 0)
    Failed("results of CREATE_SESSION, and a slot", "others");
  has_back_channel_ = (LoadBe32(created.bytes.data() + kSessionFlags) & kConnBackChannel) != 0;
  sequences_.assign(std::min(fore_.requests, kMostSlots), 0);
  if (terms.reclaimed)
    Expect(Ask(Make([](nfs_client::nfs4::Compound& c) { c.ReclaimComplete(); })), nfs::kNfs4Ok, "RECLAIM_COMPLETE");
}

Nfs4::~Nfs4() {
  try {
    if (!link_->open()) link_ = bench_.TryConnect();
    if (!link_ || sequences_.empty()) return;
    for (const Call& call : {Bare([this](nfs_client::nfs4::Compound& c) { c.DestroySession(id_); }),
                             Bare([this](nfs_client::nfs4::Compound& c) { c.DestroyClientId(client_); })})
      if (link_->open() && link_->TrySend(call.Encoded())) (void)link_->Next(bench_.options().patience.answer);
  } catch (const Ended&) {  // the lease ends it
  }
}

Link& Nfs4::Reconnect() {
  link_->Disconnect();
  link_ = &bench_.Connect();
  link_->TakeBackwardCalls();
  return *link_;
}

nfs_client::nfs4::Sequence Nfs4::Next(uint32_t slot, bool cache) {
  return {id_, ++sequences_[slot], slot, slot, cache};
}

Call Nfs4::Bare(const Add& add) {
  Call call = bench_.Make(nfs::kNfsProgram, kVersion4, nfs_client::nfs4::kCompound);
  call.rpc.clear();
  nfs_client::nfs4::Compound compound(Calls(bench_), call.rpc);
  add(compound);
  SetXid(call, call.header.xid);
  return call;
}

Call Nfs4::At(const nfs_client::nfs4::Sequence& sequence, const Add& add) {
  return Bare([&](nfs_client::nfs4::Compound& c) { add(c.Put(sequence)); });
}

void Nfs4::SetMinorVersion(Call& call, uint32_t version) const {
  StoreBe32(call.rpc.data() + Calls(bench_).size() + 4, version);  // behind the empty tag
}

Call Nfs4::CreateSession(uint64_t client, uint32_t sequence, const nfs_client::nfs4::Channel& fore,
                         uint32_t back_slots) {
  const nfs_client::nfs4::Channel back{4096, 4096, 0, 2, std::max(back_slots, 1u)};
  size_t flags = 0;
  Call call = Bare([&](nfs_client::nfs4::Compound& c) {
    flags = c.size() + 4 + 8 + 4;  // behind the operation, the client and the sequence
    c.CreateSession(client, sequence, fore, back);
  });
  if (back_slots > 0) StoreBe32(call.rpc.data() + flags, kConnBackChannel);
  return call;
}

Compounded Nfs4::Take(Link& link, const Call& call, const Message& answer) {
  Compounded came;
  came.bytes = Results(link, call, answer);
  Cursor in(came.bytes);
  came.status = in.U32();
  in.Skip(RoundUp4(in.U32()));
  came.count = in.U32();
  if (!in.ok()) Failed("results of COMPOUND", fmt::format("{} bytes that are none", came.bytes.size()));
  return came;
}

void Nfs4::Expect(const Compounded& came, uint32_t status, std::string_view what) {
  if (came.status != status)
    Failed(fmt::format("{} for {}", Nfs4StatusText(status), what), Nfs4StatusText(came.status));
}

}  // namespace stag::probe
