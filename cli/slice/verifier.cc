// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/verifier.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace stag::cli {

Verifier::Verifier(const Choice& choice)
    : choice_(choice), rpcs_(choice.wanted_rpcs.size()), findings_(choice.wanted_findings.size()) {
  std::iota(rpcs_.begin(), rpcs_.end(), size_t{0});
  std::iota(findings_.begin(), findings_.end(), size_t{0});
  std::ranges::sort(rpcs_, {}, [&](size_t i) { return choice.wanted_rpcs[i].call_frame; });
  std::ranges::sort(findings_, {}, [&](size_t i) { return choice.wanted_findings[i].frame; });
}

void Verifier::OnTransaction(const session::Connection&, const session::Transaction& t) {
  const auto frame_of = [this](size_t i) { return choice_.wanted_rpcs[i].call_frame; };
  const uint64_t frame = t.call.frame.number;
  for (auto i = std::ranges::lower_bound(rpcs_, frame, {}, frame_of); i != rpcs_.end() && frame_of(*i) == frame; ++i) {
    const WantedRpc& wanted = choice_.wanted_rpcs[*i];
    if (wanted.xid == t.xid && (SeenOf(t) & wanted.seen) == wanted.seen) shown_rpcs_.Add(*i + 1);
  }
}

void Verifier::OnFinding(const conformance::Finding& finding) {
  const auto frame_of = [this](size_t i) { return choice_.wanted_findings[i].frame; };
  const uint64_t frame = finding.frame.number;
  const size_t message = std::hash<std::string>{}(finding.message);
  auto i = std::ranges::lower_bound(findings_, frame, {}, frame_of);
  for (; i != findings_.end() && frame_of(*i) == frame; ++i) {
    const WantedFinding& wanted = choice_.wanted_findings[*i];
    const bool as_before = finding.certainty == conformance::Certainty::kPresumed || wanted.message == message;
    if (wanted.rule->id == finding.rule->id && as_before) shown_findings_.Add(*i + 1);
  }
}

std::set<uint32_t> Verifier::Missing() const {
  std::set<uint32_t> connections;
  for (size_t i = 0; i < choice_.wanted_rpcs.size(); ++i)
    if (!shown_rpcs_.Contains(i + 1)) connections.insert(choice_.wanted_rpcs[i].connection);
  for (size_t i = 0; i < choice_.wanted_findings.size(); ++i)
    if (!shown_findings_.Contains(i + 1)) connections.insert(choice_.wanted_findings[i].connection);
  return connections;
}

}  // namespace stag::cli
