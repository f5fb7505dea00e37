// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/probe.h"

namespace stag::replay::probe {

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kFailed: return "failed";
    case Verdict::kInconclusive: return "inconclusive";
    case Verdict::kSkipped: break;
  }
  return "skipped";
}

std::span<const Probe> Catalogue() {
  static const std::vector<Probe> all = [] {
    std::vector<Probe> probes;
    for (const auto topic : {SetupProbes(), RpcProbes(), HeaderProbes(), ChunkProbes(), CreditProbes(), MemoryProbes(),
                             XidProbes(), Nfs3Probes()})
      probes.insert(probes.end(), topic.begin(), topic.end());
    return probes;
  }();
  return all;
}

const Probe* Find(std::string_view id) {
  for (const Probe& probe : Catalogue())
    if (probe.id == id) return &probe;
  return nullptr;
}

bool Selects(std::string_view selector, const Probe& probe) {
  return selector == probe.id || selector == probe.id.substr(0, probe.id.find('.'));
}

std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(", ");
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 2);
  }
  return parts;
}

}  // namespace stag::replay::probe
