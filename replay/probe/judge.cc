// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stag::probe {

Judge::Found Judge::Take() { return std::exchange(found_, {}); }

void Judge::OnEvent(const fabric::Event& event) {
  session_.OnEvent(event);
  if (also_) also_->OnEvent(event);
}

void Judge::OnFinding(const conformance::Finding& finding) {
  if (finding.client_to_server != (judged_ == Judged::kClient) || finding.severity == conformance::Severity::kNote)
    return;
  std::string text = fmt::format("{}: {}", finding.rule->id, finding.message);
  if (!finding.actual.empty()) text += fmt::format(" ({})", finding.actual);
  auto& to = finding.severity == conformance::Severity::kError ? found_.errors : found_.warnings;
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

}  // namespace stag::probe
