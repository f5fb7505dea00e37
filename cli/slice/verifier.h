// SPDX-License-Identifier: GPL-2.0-or-later
//
// Verifier: whether a slice shows what it was made for: the findings and RPCs that were chosen.
#pragma once

#include <set>

#include "cli/slice/chooser.h"

namespace stag::cli {

class Verifier final : public session::Observer, public conformance::FindingSink {
 public:
  explicit Verifier(const Choice& choice);
  bool WantsDeliveries() const override { return true; }
  void OnTransaction(const session::Connection&, const session::Transaction& t) override;
  void OnFinding(const conformance::Finding& finding) override;

  // The connections of what the slice does not show; 0: a finding of no connection.
  std::set<uint32_t> Missing() const;

 private:
  const Choice& choice_;
  // Indices into what was chosen, by frame.
  std::vector<size_t> rpcs_, findings_;
  FrameSet shown_rpcs_, shown_findings_;  // indices + 1
};

}  // namespace stag::cli
