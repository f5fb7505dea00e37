// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/gss_bench.h"

#include <fmt/format.h>

namespace stag::probe {
namespace {

constexpr uint32_t kPerm = 1, kAcces = 13;  // NFS3ERR_PERM, NFS3ERR_ACCES

// With the xid of `call`.
gss::Target TargetOf(const Call& call, uint32_t program, uint32_t version, uint32_t procedure) {
  return {call.header.xid, program, version, procedure};
}

gss::Credentials& CredentialsOf(const Bench& bench) {
  NeedGss(bench);
  return *bench.options().gss;
}

void ExpectAllowed(uint32_t status) {
  if (status == kPerm || status == kAcces)
    Inconclusive("the principal of the key table may not read and write the file: NFS3ERR_ACCES");
}

}  // namespace

void NeedGss(const Bench& bench) {
  if (!bench.options().gss) Skipped("a key table is needed: give --keytab");
}

void Fit(Link& link, Call& call) {
  if (call.Encoded().size() > link.call_threshold()) link.MakeLong(call);
}

GssBench::GssBench(Bench& bench, Link& link) : bench_(bench), context_(CredentialsOf(bench)) {
  Create(link, {0, rpc::kGssNone}, 0, true);
}

GssBench::GssBench(Bench& bench, Link& link, const gss::Protection& undefined, uint32_t write_chunk)
    : bench_(bench), context_(CredentialsOf(bench)) {
  Create(link, undefined, write_chunk, false);
}

// `first`: a server that refuses has no RPCSEC_GSS.
void GssBench::Create(Link& link, const gss::Protection& undefined, uint32_t write_chunk, bool first) {
  constexpr int kSteps = 8;
  constexpr uint32_t kTokenRoom = 16384;  // for a token
  const Target& target = bench_.target();
  for (int step = 0; step < kSteps && !context_.established(); ++step) {
    Call call = bench_.Null();
    auto rpc = context_.Create(TargetOf(call, target.program, target.version, 0), undefined);
    call = Take(std::move(call), std::move(rpc));
    Fit(link, call);
    if (write_chunk > 0) AddWrite(call, link.Offer({write_chunk}, endpoint::Access::kRemoteWrite));
    if (link.reply_threshold() < call.rpc.size())  // the answer has a token, too
      SetReply(call, link.Offer({kTokenRoom}, endpoint::Access::kRemoteWrite));
    const Message answer = link.Ask(call);
    const Data reply = link.RpcReply(call, answer);
    const std::string failure = nfs_client::TakeResults(reply).failure;
    if (!failure.empty() && first)
      Skipped(fmt::format("the server takes no RPCSEC_GSS: {} for RPCSEC_GSS_INIT", failure));
    if (!failure.empty()) Failed("an RPC Reply (SUCCESS)", fmt::format("an RPC Reply ({})", failure));
    ExpectUnused(link, call, answer, "what makes a context is not reduced");
    const auto created = context_.Created(reply);
    if (!created && first && context_.refused()) Skipped("the server makes no context: " + created.error().message);
    if (!created) Failed("results of RPCSEC_GSS_INIT that make a context", created.error().message);
  }
  if (!context_.established()) Failed("a context", fmt::format("none after {} tokens", kSteps));
}

Call GssBench::Take(Call call, Result<gss::Buffer> rpc) const {
  if (!rpc) Inconclusive("GSS-API: " + rpc.error().message);
  call.rpc = std::move(*rpc);
  return call;
}

Call GssBench::MakeNull(const gss::Protection& protection, uint32_t proc) {
  const Target& target = bench_.target();
  Call call = bench_.Null();
  const gss::Target to = TargetOf(call, target.program, target.version, 0);
  auto rpc = proc == rpc::kGssData ? context_.Call(to, protection, {}) : context_.Destroy(to, protection);
  return Take(std::move(call), std::move(rpc));
}

Call GssBench::Nfs3(uint32_t procedure, const gss::Protection& protection, Bytes arguments) {
  Call call = bench_.Make(nfs::kNfsProgram, 3, procedure);
  auto rpc = context_.Call(TargetOf(call, nfs::kNfsProgram, 3, procedure), protection, arguments);
  return Take(std::move(call), std::move(rpc));
}

Call GssBench::Read(const gss::Protection& protection, uint64_t offset, uint32_t count) {
  Data arguments;
  Writer out(arguments);
  nfs_client::nfs3::PutRead(out, bench_.target().file, offset, count);
  return Nfs3(nfs_client::nfs3::kRead, protection, arguments);
}

Data GssBench::WriteArguments(uint64_t offset, uint32_t count) const {
  Data arguments;
  Writer out(arguments);
  nfs_client::nfs3::PutWrite(out, bench_.target().file, offset, count, nfs_client::nfs3::kFileSync);
  return arguments;
}

Call GssBench::NullWith(const gss::Protection& protection, Bytes body) {
  const Target& target = bench_.target();
  Call call = bench_.Null();
  auto rpc = context_.Header(TargetOf(call, target.program, target.version, 0), rpc::kGssData, protection);
  if (rpc) rpc->insert(rpc->end(), body.begin(), body.end());
  return Take(std::move(call), std::move(rpc));
}

Data GssBench::Results(Link& link, const Call& call, const gss::Protection& protection, const Message& answer) {
  const Data reply = link.RpcReply(call, answer);
  const nfs_client::RpcResults rpc = nfs_client::TakeResults(reply);
  if (!rpc.failure.empty()) Failed("an RPC Reply (SUCCESS)", fmt::format("an RPC Reply ({})", rpc.failure));
  auto results = context_.Results(reply, protection);
  if (!results) Failed("a Reply whose checksums are right", results.error().message);
  return std::move(*results);
}

void GssBench::ExpectData(Bytes results, std::span<const Bytes> chunks, Bytes expected) const {
  const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(results, chunks);
  if (result.ok) ExpectAllowed(result.status);
  ExpectStatus(result, "a READ");
  ExpectSame(result.data, expected, "bytes of the file");
}

void GssBench::ExpectWritten(Bytes results, size_t count) const {
  const nfs_client::nfs3::WriteResult result = nfs_client::nfs3::DecodeWrite(results);
  if (result.ok) ExpectAllowed(result.status);
  ExpectStatus(result, "a WRITE");
  if (result.count != count)
    Failed(fmt::format("a WRITE of {} bytes", count), fmt::format("{} bytes written", result.count));
}

void GssBench::AskNull(Link& link, rpc::GssService service) {
  const gss::Protection protection = Next(service);
  const Call call = Null(protection);
  if (!Results(link, call, protection, link.Ask(call)).empty()) Failed("no results of a NULL", "some");
}

void ExpectUnused(Link& link, const Call& call, const Message& answer, std::string_view why) {
  for (size_t i = 0; i < call.header.write_chunks.size(); ++i)
    if (!link.Collect(call, answer, i).empty())
      Failed(fmt::format("an unused Write chunk, for {}", why), "one with data");
}

void ExpectDenied(Link& link, const Call& call, const Message& answer, uint32_t auth_stat) {
  Bench::ExpectStatus(link, call, answer, fmt::format("AUTH_ERROR {}", auth_stat));
}

}  // namespace stag::probe
