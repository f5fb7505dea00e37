// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of credits (RFC 8166 section 3.3).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "replay/probe/bench.h"

namespace stag::probe {
namespace {

constexpr uint32_t kMost = 48;  // Calls under way at once; receives are posted for that

Call Request(Bench& bench, uint32_t credits) {
  Call call = bench.Null();
  call.header.credit = credits;
  return call;
}

uint32_t Grant(Bench& bench, Link& link, uint32_t credits) {
  const Call call = Request(bench, credits);
  const Message answer = link.Ask(call);
  bench.ExpectNull(link, call, answer);
  if (answer.header.credit == 0)
    Failed("a grant of one credit at least", fmt::format("a grant of 0 for a request of {}", credits));
  return answer.header.credit;
}

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

// Sends `count` NULLs, at most `window` under way, and takes their answers, in any order. What ends it all is no
// failure when `may_break`.
void Exchange(Bench& bench, Link& link, size_t count, size_t window, bool may_break) {
  std::vector<Call> calls;
  std::set<uint32_t> under_way;
  for (size_t sent = 0, answered = 0; answered < count;) {
    while (sent < count && under_way.size() < window) {
      if (may_break && !link.open()) return;
      calls.push_back(Request(bench, kMost));
      under_way.insert(calls.back().header.xid);
      link.Send(calls.back());
      ++sent;
    }
    const auto answer = link.Next(bench.options().patience.answer);
    if (!answer && may_break) return;
    const std::string expected = fmt::format("an answer to each of {} Calls, {} at a time", count, window);
    if (!answer)
      Failed(expected, fmt::format("{} answers, then {}", answered, link.open() ? "nothing" : link.trouble()));
    const auto call = std::ranges::find(calls, answer->header.xid, [](const Call& c) { return c.header.xid; });
    if (call == calls.end() || under_way.erase(answer->header.xid) == 0)
      Failed(expected, fmt::format("{} for no Call that is under way", Describe(*answer)));
    if (answer->header.proc != rpcrdma::kError || !may_break) bench.ExpectNull(link, *call, *answer);
    ++answered;
  }
  if (!may_break) link.ExpectQuiet("one answer to each Call");
}

void FullWindow(Bench& bench) {
  Link& link = bench.Connect();
  const size_t window = std::min(Grant(bench, link, kMost), kMost);
  Exchange(bench, link, window * 4, window, false);
}

void Overrun(Bench& bench) {
  constexpr uint32_t kReceives = 256, kExcess = 16;
  Link& link = bench.Connect({.receives = kReceives});
  const uint32_t granted = Grant(bench, link, 4);
  if (granted + uint64_t{kExcess} > kReceives)
    Inconclusive(fmt::format("{} credits are granted: more than this probe sends", granted));
  Exchange(bench, link, granted + kExcess, granted + kExcess, true);
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
  };
  return probes;
}

}  // namespace stag::probe
