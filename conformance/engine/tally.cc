// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/tally.h"

#include <algorithm>

namespace stag::conformance {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNotApplicable: return "not applicable";
    case Outcome::kPass: return "pass";
    case Outcome::kFail: return "fail";
    case Outcome::kGap: return "gap";
    case Outcome::kTruncated: return "truncation";
    case Outcome::kNoSetup: return "set-up not seen";
    case Outcome::kUpperLayer: return "upper layer not decodable";
  }
  return "";
}

Outcome RuleTally::verdict() const {
  if ((*this)[Outcome::kFail] > 0) return Outcome::kFail;
  if ((*this)[Outcome::kPass] > 0) return Outcome::kPass;
  Outcome most = Outcome::kNotApplicable;
  for (const Outcome reason : {Outcome::kGap, Outcome::kTruncated, Outcome::kNoSetup, Outcome::kUpperLayer})
    if ((*this)[reason] > (most == Outcome::kNotApplicable ? 0 : (*this)[most])) most = reason;
  return most;
}

void AddTallies(std::vector<RuleTally>& to, const std::vector<RuleTally>& from) {
  auto at = to.begin();
  for (const RuleTally& tally : from) {
    while (at != to.end() && at->rule < tally.rule) ++at;  // one array, in the order of the catalogue
    if (at == to.end() || at->rule != tally.rule) {
      at = to.insert(at, tally);
    } else {
      for (size_t i = 0; i < kOutcomes; ++i) at->counts[i] += tally.counts[i];
    }
  }
}

}  // namespace stag::conformance
