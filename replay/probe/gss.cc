// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of RPCSEC_GSS (RFC 2203) with Kerberos 5 over RDMA (RFC 8166 section 8.2.2): what is reduced and what is not,
// and what becomes of Calls whose checksums, sequence numbers or contexts are wrong.
#include <fmt/format.h>

#include <algorithm>

#include "replay/probe/exchange.h"
#include "replay/probe/gss_bench.h"

namespace stag::probe {
namespace {

using endpoint::Access;
using rpc::GssService;

constexpr uint32_t kRoom = 1024;  // of a Reply chunk, beside the data: headers, attributes, checksums

void Establish(Bench& bench) {
  Link& link = bench.Connect();
  bench.Case("RPCSEC_GSS_INIT");
  GssBench plain(bench, link);
  for (const GssService service : {rpc::kGssNone, rpc::kGssIntegrity, rpc::kGssPrivacy}) plain.AskNull(link, service);
  bench.Case("RPCSEC_GSS_INIT with a sequence number and a service that say nothing");
  GssBench ignored(bench, link, {rpc::kGssMaxSequence + 1, 99});
  ignored.AskNull(link);
}

void ControlWriteChunk(Bench& bench) {
  constexpr uint32_t kChunk = 4096;
  Link& link = bench.Connect();
  GssBench(bench, link).AskNull(link);  // there is RPCSEC_GSS
  bench.Case("RPCSEC_GSS_INIT");
  GssBench gss(bench, link, {0, rpc::kGssNone}, kChunk);
  bench.Case("RPCSEC_GSS_DESTROY");
  const gss::Protection protection = gss.Next(rpc::kGssNone);
  Call destroy = gss.Destroy(protection);
  AddWrite(destroy, link.Offer({kChunk}, Access::kRemoteWrite));
  const Message answer = link.Ask(destroy);
  (void)gss.Results(link, destroy, protection, answer);
  ExpectUnused(link, destroy, answer, "a verifier is not reduced");
}

void AnotherConnection(Bench& bench) {
  Link& first = bench.Connect();
  GssBench gss(bench, first);
  gss.AskNull(first);
  gss.AskNull(bench.Connect(), rpc::kGssIntegrity);
}

void Verifier(Bench& bench) {
  constexpr uint32_t kCalls = 8;
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const gss::Protection first = gss.Next(rpc::kGssNone);
  const Call before = gss.Null(first);
  const Message answer = link.Ask(before);  // with the grant for the others
  (void)gss.Results(link, before, first, answer);
  const uint32_t at_once = std::min({kCalls, gss.context().window(), std::max(1u, answer.header.credit)});
  std::vector<std::pair<uint32_t, gss::Protection>> made;  // xids
  Exchange(
      bench, link, {kCalls, at_once},
      [&](size_t) {
        const gss::Protection protection = gss.Next(rpc::kGssNone);
        Call call = gss.Null(protection);
        made.emplace_back(call.header.xid, protection);
        return call;
      },
      [&](const Call& call, const Message& reply) {
        const auto of = std::ranges::find(made, call.header.xid, &std::pair<uint32_t, gss::Protection>::first);
        (void)gss.Results(link, call, of->second, reply);
      });
}

void NoneChunks(Bench& bench) {
  constexpr uint32_t kCount = 3001;
  NeedGss(bench);
  NeedFile(bench);
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const Data data = Pattern(kCount);
  bench.Case("WRITE with a Read chunk");
  gss::Protection protection = gss.Next(rpc::kGssNone);
  Call write = gss.Nfs3(nfs_client::nfs3::kWrite, protection, gss.WriteArguments(kPlayground, kCount));
  const auto position = static_cast<uint32_t>(write.rpc.size());
  AddRead(write, position, link.Offer({2000, kCount - 2000}, Access::kRemoteRead, data));
  gss.ExpectWritten(gss.Results(link, write, protection, link.Ask(write)), kCount);

  bench.Case("READ with a Write chunk");
  protection = gss.Next(rpc::kGssNone);
  Call read = gss.Read(protection, kPlayground, kCount);
  AddWrite(read, link.Offer({4096}, Access::kRemoteWrite));
  const Message answer = link.Ask(read);
  const Data results = gss.Results(link, read, protection, answer);
  const Data chunk = link.Collect(read, answer, 0);
  if (chunk.empty()) Failed("the data in the Write chunk", "an unused Write chunk");
  const Bytes chunks[] = {chunk};
  gss.ExpectData(results, chunks, data);
}

void IntegrityShort(Bench& bench) {
  NeedGss(bench);
  NeedFile(bench);
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const gss::Protection protection = gss.Next(rpc::kGssIntegrity);
  const Call call = gss.Read(protection, 0, kInline);
  const Message answer = link.Ask(call);
  gss.ExpectData(gss.Results(link, call, protection, answer), {}, Pattern(kInline));
}

// READ of more than goes inline. Its data are wrapped, so they are in the Reply chunk, whatever else is offered.
void ReadWrapped(Bench& bench, GssService service, bool write_chunk) {
  constexpr uint32_t kCount = kLong;
  NeedGss(bench);
  NeedFile(bench);
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const gss::Protection protection = gss.Next(service);
  Call call = gss.Read(protection, 0, kCount);
  if (write_chunk) AddWrite(call, link.Offer({kCount}, Access::kRemoteWrite));
  SetReply(call, link.Offer({2048, kCount + kRoom - 2048}, Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  const Data results = gss.Results(link, call, protection, answer);
  ExpectUnused(link, call, answer, "what is wrapped is not reduced");
  gss.ExpectData(results, {}, Bytes(Pattern(kFileSize)).first(kCount));
}

void IntegrityLong(Bench& bench) { ReadWrapped(bench, rpc::kGssIntegrity, false); }
void IntegrityWriteChunk(Bench& bench) { ReadWrapped(bench, rpc::kGssIntegrity, true); }
void PrivacyWriteChunk(Bench& bench) { ReadWrapped(bench, rpc::kGssPrivacy, true); }

void WrappedLongCall(Bench& bench) {
  NeedGss(bench);
  NeedFile(bench);
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  for (const auto& [service, count] : {std::pair{rpc::kGssIntegrity, kLong}, {rpc::kGssPrivacy, kLong + 1}}) {
    bench.Case(service == rpc::kGssIntegrity ? "integrity" : "privacy");
    const Data data = Pattern(count);
    Data arguments = gss.WriteArguments(kPlayground, count);
    Writer out(arguments);
    out.Put(data);
    out.Zeros(static_cast<size_t>(RoundUp4(count)) - count);
    gss::Protection protection = gss.Next(service);
    Call write = gss.Nfs3(nfs_client::nfs3::kWrite, protection, arguments);
    link.MakeLong(write, {100, static_cast<uint32_t>(write.rpc.size()) - 100});
    SetReply(write, link.Offer({kRoom}, Access::kRemoteWrite));
    gss.ExpectWritten(gss.Results(link, write, protection, link.Ask(write)), count);
    protection = gss.Next(service);
    Call read = gss.Read(protection, kPlayground, count);
    SetReply(read, link.Offer({count + kRoom}, Access::kRemoteWrite));
    gss.ExpectData(gss.Results(link, read, protection, link.Ask(read)), {}, data);
  }
}

// The last byte of `part`, which points into `whole`, is another.
void Spoil(Data& whole, Bytes part) {
  whole[static_cast<size_t>(part.data() - whole.data()) + part.size() - 1] ^= std::byte{1};
}

void WrongVerifier(Bench& bench) {
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  Call call = gss.Null(gss.Next(rpc::kGssNone));
  Spoil(call.rpc, rpc::DecodeCall(call.rpc, call.rpc.size()).verifier.body);
  ExpectDenied(link, call, link.Ask(call), rpc::kGssCredProblem);
  gss.AskNull(link);
}

void UnknownHandle(Bench& bench) {
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const Data handle(gss.context().handle().begin(), gss.context().handle().end());
  gss.context().SetHandle(Data(16, std::byte{0xee}));
  const Call call = gss.Null(gss.Next(rpc::kGssNone));
  ExpectDenied(link, call, link.Ask(call), rpc::kGssCredProblem);
  gss.context().SetHandle(handle);
  gss.AskNull(link);
}

void Destroyed(Bench& bench) {
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  gss.AskNull(link);
  const gss::Protection protection = gss.Next(rpc::kGssNone);
  const Call destroy = gss.Destroy(protection);
  (void)gss.Results(link, destroy, protection, link.Ask(destroy));
  const Call call = gss.Null(gss.Next(rpc::kGssNone));
  ExpectDenied(link, call, link.Ask(call), rpc::kGssCredProblem);
  bench.AskNull(link);
}

void WrongArguments(Bench& bench) {
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const auto ask = [&](std::string text, GssService service, uint32_t inner_ahead, bool spoil) {
    bench.Case(std::move(text));
    const gss::Protection protection = gss.Next(service);
    auto body = gss.context().Protect(service, protection.sequence + inner_ahead, {});
    if (!body) Inconclusive("GSS-API: " + body.error().message);
    if (spoil)
      Spoil(*body, service == rpc::kGssIntegrity ? rpc::DecodeGssIntegrity(*body).checksum
                                                 : rpc::DecodeGssToken(*body).value());
    const Call call = gss.NullWith(protection, *body);
    Bench::ExpectStatus(link, call, link.Ask(call), "GARBAGE_ARGS");
    gss.AskNull(link, service);
  };
  ask("integrity, with a wrong checksum", rpc::kGssIntegrity, 0, true);
  ask("integrity, of another sequence number", rpc::kGssIntegrity, 1, false);
  ask("privacy, with a wrong byte", rpc::kGssPrivacy, 0, true);
  ask("privacy, of another sequence number", rpc::kGssPrivacy, 1, false);
}

// The Call is not answered; the connection and the context go on. False: the server ends the connection, which is
// advice.
bool IsDropped(Bench& bench, Link& link, GssBench& gss, const Call& call, std::string_view what) {
  if (bench.Discards(link, call.Encoded(), what)) return gss.AskNull(link), true;
  bench.Advise(fmt::format("the connection ends with {}, which is to be discarded silently", what));
  return false;
}

void SequenceAgain(Bench& bench) {
  constexpr int kTimes = 4;  // so many credits are not given back
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const gss::Protection protection = gss.Next(rpc::kGssNone);
  const Call call = gss.Null(protection);
  (void)gss.Results(link, call, protection, link.Ask(call));
  bool goes_on = true;
  for (int i = 0; i < kTimes && goes_on; ++i)
    goes_on = IsDropped(bench, link, gss, gss.Null(protection), "a Call whose sequence number was used before");
}

void SequenceBelow(Bench& bench) {
  constexpr uint32_t kAbove = 10, kBelow = 5, kLargest = 1 << 30;
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const uint32_t window = gss.context().window();
  if (window > kLargest) Inconclusive(fmt::format("the window is too large: {} sequence numbers", window));
  gss.context().SetSequence(window + kAbove - 1);
  gss.AskNull(link);
  (void)IsDropped(bench, link, gss, gss.Null({kBelow, rpc::kGssNone}),
                  "a Call whose sequence number is below the window");
}

void SequenceOrder(Bench& bench) {
  constexpr uint32_t kCalls = 8;
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  const uint32_t last = std::min(kCalls, gss.context().window());
  for (uint32_t sequence = last; sequence > 0; --sequence) {
    bench.Case(fmt::format("number {}", sequence));
    const gss::Protection protection{sequence, rpc::kGssNone};
    const Call call = gss.Null(protection);
    (void)gss.Results(link, call, protection, link.Ask(call));
  }
  gss.context().SetSequence(last);
  gss.AskNull(link);
}

void SequenceMax(Bench& bench) {
  Link& link = bench.Connect();
  GssBench gss(bench, link);
  gss.AskNull(link);
  const Call call = gss.Null({rpc::kGssMaxSequence + 1, rpc::kGssNone});
  ExpectDenied(link, call, link.Ask(call), rpc::kGssCtxProblem);
  bench.AskNull(link);
}

}  // namespace

std::span<const Probe> GssProbes() {
  static const Probe probes[] = {
      {"gss.establish", "A context is made over RDMA",
       "RPCSEC_GSS_INIT, in NULL; then NULLs with each service. Another, whose credential has a sequence number and a "
       "service that have no meaning there, and are ignored.",
       "RFC 2203 5.2.2, RFC 2203 5.2.3.1, RFC 8166 8.2.2", "GSS-003", Establish},
      {"gss.control-write-chunk", "Tokens and verifiers are not reduced",
       "RPCSEC_GSS_INIT and RPCSEC_GSS_DESTROY with a Write chunk, which comes back unused.",
       "RFC 8166 8.2.2, RFC 8166 4.3.2", "GSS-003, WRLIST-008", ControlWriteChunk},
      {"gss.another-connection", "A context holds on other connections, too",
       "A context that is made on one connection, and used on another, as clients do that make theirs over TCP.",
       "RFC 2203 5.3.3.1, RFC 8166 8.2.2", "", AnotherConnection},
      {"gss.verifier", "Each Reply has the checksum of its own sequence number",
       "Eight NULLs under way at once: the verifiers of the Replies are those of their Calls.", "RFC 2203 5.3.3.2", "",
       Verifier},
      {"gss.none-chunks", "Without integrity and privacy READ and WRITE are reduced",
       "A WRITE with a Read chunk, and a READ with a Write chunk, with rpc_gss_svc_none: all is as with AUTH_SYS.",
       "RFC 8166 8.2.2, RFC 2203 5.3.2.1", "GSS-008, WRLIST-010", NoneChunks},
      {"gss.integrity-short", "With integrity Call and Reply go inline",
       "A READ of 512 bytes with rpc_gss_svc_integrity, without chunks: the checksum of the results is right.",
       "RFC 8166 8.2.2, RFC 2203 5.3.2.2", "GSS-002", IntegrityShort},
      {"gss.integrity-long", "With integrity a large Reply is in the Reply chunk",
       "A READ of more than goes inline, with rpc_gss_svc_integrity and a Reply chunk: all of the Reply is in it.",
       "RFC 8166 8.2.2, RFC 8166 3.5.3, RFC 2203 5.3.2.2", "GSS-002", IntegrityLong},
      {"gss.integrity-write-chunk", "With integrity a Write chunk comes back unused",
       "The same with a Write chunk for the data, too: nothing is put there.",
       "RFC 8166 8.2.2, RFC 8166 4.3.2, RFC 2203 5.3.2.2", "GSS-002, WRLIST-008", IntegrityWriteChunk},
      {"gss.privacy-write-chunk", "With privacy a Write chunk comes back unused",
       "The same with rpc_gss_svc_privacy: what comes in the Reply chunk can be decrypted.",
       "RFC 8166 8.2.2, RFC 8166 4.3.2, RFC 2203 5.3.2.3", "GSS-002, WRLIST-008", PrivacyWriteChunk},
      {"gss.long-call", "With integrity and privacy WRITE is a Long Call",
       "WRITEs by a Position Zero Read chunk, with a Reply chunk in the same header, and READs of what was written.",
       "RFC 8166 8.2.2, RFC 8166 3.5.3, RFC 2203 5.3.2.2, RFC 2203 5.3.2.3", "GSS-004, LONG-003", WrappedLongCall},
      {"gss.wrong-verifier", "A wrong verifier gets RPCSEC_GSS_CREDPROBLEM",
       "A NULL whose header has another checksum. The next with the context is answered.",
       "RFC 2203 5.3.3.1, RFC 2203 5.3.3.3", "", WrongVerifier},
      {"gss.unknown-handle", "An unknown context gets RPCSEC_GSS_CREDPROBLEM",
       "A NULL with a handle that the server gave to nobody.", "RFC 2203 5.3.3.1, RFC 2203 5.3.3.3", "", UnknownHandle},
      {"gss.destroyed", "A context that was ended gets RPCSEC_GSS_CREDPROBLEM",
       "RPCSEC_GSS_DESTROY, which is answered, then a NULL with the handle.", "RFC 2203 5.4, RFC 2203 5.3.3.3", "",
       Destroyed},
      {"gss.wrong-arguments", "Arguments with a wrong checksum get GARBAGE_ARGS",
       "NULLs with integrity and privacy: one byte is another, or the sequence number is not that of the credential.",
       "RFC 2203 5.3.3.4.2, RFC 2203 5.3.3.4.3", "", WrongArguments},
      {"gss.sequence-again", "A sequence number that was used is discarded silently",
       "NULLs whose sequence number was used before, with a new xid. They are not answered; what follows is.",
       "RFC 2203 5.3.3.1, RFC 8166 3.3.1", "", SequenceAgain},
      {"gss.sequence-below", "A sequence number below the window is discarded silently",
       "A NULL whose sequence number is new, and below the window that the server gave.", "RFC 2203 5.3.3.1", "",
       SequenceBelow},
      {"gss.sequence-order", "Sequence numbers in the window come in any order",
       "NULLs with the sequence numbers 8 to 1: all are answered.", "RFC 2203 5.3.3.1", "", SequenceOrder},
      {"gss.sequence-max", "A sequence number beyond MAXSEQ gets RPCSEC_GSS_CTXPROBLEM", "A NULL with a larger one.",
       "RFC 2203 5.3.3.3", "", SequenceMax},
  };
  return probes;
}

}  // namespace stag::probe
