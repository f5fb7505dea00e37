// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of credits (RFC 8166 section 3.3).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replay/probe/exchange.h"

namespace stag::probe {
namespace {

constexpr uint32_t kMost = 48;  // Calls under way at once; receives are posted for that

Call Request(Bench& bench, uint32_t credits) {
  Call call = bench.Null();
  call.header.credit = credits;
  return call;
}

// How many Calls may be under way.
size_t WindowOf(Bench& bench, Link& link) { return std::min(Grant(bench, link, kMost), kMost); }

void NeverZero(Bench& bench) {
  Link& link = bench.Connect();
  for (const uint32_t credits : {1u, 8u, 1000u, UINT32_MAX, 1u}) Grant(bench, link, credits);
}

void ZeroRequest(Bench& bench) {
  Link& link = bench.Connect();
  Grant(bench, link, 0);
  Grant(bench, link, 32);
}

// What is refused or discarded took a receive as any other message, which must be there again.
void AfterErrors(Bench& bench) {
  Link& link = bench.Connect();
  const uint32_t granted = std::min(Grant(bench, link, kMost), 128u);
  bool advised = false;
  for (uint32_t i = 0; i <= granted; ++i) {
    Call done = Request(bench, kMost);
    done.header.proc = rpcrdma::kDone;
    done.inline_rpc = false;
    link.Send(done);
    Call call = Request(bench, kMost);
    call.header.vers = 99;
    const Message answer = link.Ask(call, "RDMA_ERROR ERR_VERS");
    Bench::ExpectError(call, answer, rpcrdma::kErrVers);
    if (answer.header.credit == 0 && !std::exchange(advised, true))
      bench.Advise("an RDMA_ERROR grants 0 credits (RFC 8166 section 3.3.1 speaks of every message)");
  }
  bench.AskNull(link);
}

void ExchangeNulls(Bench& bench, Link& link, const Window& window, uint32_t credits = kMost) {
  Exchange(
      bench, link, window, [&](size_t) { return Request(bench, credits); },
      [&](const Call& call, const Message& answer) { bench.ExpectNull(link, call, answer); });
}

void FullWindow(Bench& bench) {
  Link& link = bench.Connect();
  const size_t window = WindowOf(bench, link);
  ExchangeNulls(bench, link, {.calls = window * 4, .under_way = window});
}

void Overrun(Bench& bench) {
  constexpr uint32_t kReceives = 256, kExcess = 16;
  Link& link = bench.Connect({.receives = kReceives});
  const uint32_t granted = Grant(bench, link, 4);
  if (granted + uint64_t{kExcess} > kReceives)
    Inconclusive(fmt::format("{} credits are granted: more than this probe sends", granted));
  ExchangeNulls(bench, link, {.calls = granted + kExcess, .under_way = granted + kExcess, .may_break = true});
}

void LongWindow(Bench& bench) {
  Link& link = bench.Connect();
  ExchangeNulls(bench, link, {.calls = 2000, .under_way = WindowOf(bench, link)});
}

void WindowOfLongCalls(Bench& bench) {
  Link& link = bench.Connect();
  const size_t window = WindowOf(bench, link);
  Exchange(
      bench, link, {.calls = window * 3, .under_way = window},
      [&](size_t i) {
        Call call = Request(bench, kMost);
        link.MakeLong(call, {static_cast<uint32_t>(i % 7 + 1), static_cast<uint32_t>(call.rpc.size() - i % 7 - 1)});
        return call;
      },
      [&](const Call& call, const Message& answer) { bench.ExpectNull(link, call, answer); });
}

void WindowOfLongReplies(Bench& bench) {
  Link& link = bench.Connect();
  const size_t window = WindowOf(bench, link);
  Exchange(
      bench, link, {.calls = window * 2, .under_way = window},
      [&](size_t) {
        Call call = bench.Long(link, kLong);
        call.header.credit = kMost;
        SetReply(call, link.Offer({3000, 5000}, endpoint::Access::kRemoteWrite));
        return call;
      },
      [&](const Call& call, const Message& answer) { Bench::ExpectLong(link.RpcReply(call, answer), kLong); });
}

void WindowWithErrors(Bench& bench) {
  Link& link = bench.Connect();
  const size_t window = WindowOf(bench, link);
  Exchange(
      bench, link, {.calls = window * 4, .under_way = window},
      [&](size_t i) {
        Call call = Request(bench, kMost);
        if (i % 2 == 1) call.header.vers = 99;
        return call;
      },
      [&](const Call& call, const Message& answer) {
        if (call.header.vers != rpcrdma::kVersion1) return Bench::ExpectError(call, answer, rpcrdma::kErrVers);
        bench.ExpectNull(link, call, answer);
      });
}

// Each request brings a grant, and as many Calls as that and the request allow.
void RequestChanges(Bench& bench) {
  Link& link = bench.Connect();
  for (const uint32_t credits : {1u, 48u, 2u, 32u, 3u, 48u, 1u}) {
    bench.Case(fmt::format("a request of {}", credits));
    const size_t window = std::min(Grant(bench, link, credits), credits);
    ExchangeNulls(bench, link, {.calls = window * 2, .under_way = window}, credits);
  }
}

}  // namespace

std::span<const Probe> CreditProbes() {
  static const Probe probes[] = {
      {"credit.grant", "The grant is never zero", "NULLs that request 1, 8, 1000, 4294967295 and again 1 credit.",
       "RFC 8166 3.3.1", "CRED-001, CRED-002, CRED-010", NeverZero},
      {"credit.zero-request", "A request of zero credits does not stop the connection",
       "NULLs that request 0 credits and then 32.", "RFC 8166 3.3.1", "CRED-002", ZeroRequest},
      {"credit.after-errors", "Messages that are refused or discarded use up nothing",
       "As many Calls of version 99 as are granted, each behind an RDMA_DONE, and one more; then a NULL.",
       "RFC 8166 3.3.1, RFC 8166 4.5", "CRED-007, CRED-010, ERR-017", AfterErrors},
      {"credit.full-window", "As many Calls as are granted are answered",
       "As many NULLs at a time as the server grants (at most 48), four times over: each is answered once.",
       "RFC 8166 3.3.1", "CRED-007, XID-004", FullWindow},
      {"credit.overrun", "More Calls than granted do not harm the server",
       "16 NULLs more than are granted, at once. Answers, silence and the end of the connection are all allowed; the "
       "server lives on.",
       "RFC 8166 3.3.1", "CRED-003, CRED-013", Overrun},
      {"credit.long-window", "A window stays full for long",
       "2000 NULLs, as many at a time as are granted (at most 48): each is answered once.", "RFC 8166 3.3.1",
       "CRED-001, CRED-007, CRED-010, XID-004", LongWindow},
      {"credit.window-of-long-calls", "A window of Long Calls is answered",
       "As many Long Calls of two segments at a time as are granted, three times over.",
       "RFC 8166 3.3.1, RFC 8166 3.5.3", "CRED-007, LONG-002, MEM-002", WindowOfLongCalls},
      {"credit.window-of-long-replies", "A window of Long Replies is answered",
       "As many Calls with a Reply chunk at a time as are granted, twice over; each Reply is in its own chunk (needs "
       "--export, or ECHO).",
       "RFC 8166 3.3.1, RFC 8166 3.5.3", "CRED-007, REPLY-007, MEM-003", WindowOfLongReplies},
      {"credit.window-with-errors", "Refusals in a full window are answers like others",
       "As many Calls at a time as are granted, every other of version 99: each gets its own answer.",
       "RFC 8166 3.3.1, RFC 8166 4.5", "CRED-007, CRED-010, ERR-003", WindowWithErrors},
      {"credit.request-changes", "Requests that grow and shrink are followed",
       "NULLs that request 1, 48, 2, 32, 3, 48 and 1 credits, with as many at a time as the request and the grant "
       "allow.",
       "RFC 8166 3.3.1", "CRED-001, CRED-002, CRED-006", RequestChanges},
  };
  return probes;
}

}  // namespace stag::probe
