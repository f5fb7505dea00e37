// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/exchange.h"

#include <fmt/format.h>

#include <map>

namespace stag::probe {

void Exchange(Bench& bench, Link& link, const Window& window, const std::function<Call(size_t)>& make,
              const std::function<void(const Call&, const Message&)>& expect) {
  const std::string expected =
      fmt::format("an answer to each of {} Calls, {} at a time", window.calls, window.under_way);
  std::map<uint32_t, Call> under_way;  // by xid
  size_t sent = 0;
  for (size_t answered = 0; answered < window.calls; ++answered) {
    while (sent < window.calls && under_way.size() < window.under_way) {
      if (window.may_break && !link.open()) return;
      Call call = make(sent++);
      link.Send(call);
      const uint32_t xid = call.header.xid;
      under_way.emplace(xid, std::move(call));
    }
    const auto answer = link.Next(bench.options().patience.answer);
    if (!answer && window.may_break) return;
    if (!answer)
      Failed(expected, fmt::format("{} answers, then {}", answered, link.open() ? "nothing" : link.trouble()));
    const auto call = under_way.extract(answer->header.xid);
    if (call.empty()) Failed(expected, fmt::format("{} for no Call that is under way", Describe(*answer)));
    if (answer->header.proc != rpcrdma::kError || !window.may_break) expect(call.mapped(), *answer);
  }
  if (!window.may_break) link.ExpectQuiet("one answer to each Call");
}

uint32_t Grant(Bench& bench, Link& link, uint32_t credits) {
  Call call = bench.Null();
  call.header.credit = credits;
  const Message answer = link.Ask(call);
  bench.ExpectNull(link, call, answer);
  if (answer.header.credit == 0)
    Failed("a grant of one credit at least", fmt::format("a grant of 0 for a request of {}", credits));
  return answer.header.credit;
}

}  // namespace stag::probe
