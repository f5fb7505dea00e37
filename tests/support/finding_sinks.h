// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the conformance engine finds, kept for a test: Findings whole, FindingTexts as a test can print them.
#pragma once

#include <string>
#include <vector>

#include "conformance/engine/engine.h"

namespace stag::test {

struct Findings : conformance::FindingSink {
  void OnFinding(const conformance::Finding& finding) override { all.push_back(finding); }
  std::vector<conformance::Finding> all;
};

struct FindingTexts : conformance::FindingSink {
  void OnFinding(const conformance::Finding& finding) override {
    all.push_back(std::string(finding.rule->id) + ": " + finding.message + " (" + finding.actual + ")");
  }
  std::vector<std::string> all;
};

}  // namespace stag::test
