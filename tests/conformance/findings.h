// SPDX-License-Identifier: GPL-2.0-or-later
//
// Findings made by hand, and a sink that keeps them, for tests of what comes after the engine.
#pragma once

#include <string_view>
#include <vector>

#include "conformance/engine/engine.h"

namespace stag::test {

struct KeptFindings : conformance::FindingSink {
  std::vector<conformance::Finding> all;
  void OnFinding(const conformance::Finding& finding) override { all.push_back(finding); }
};

inline conformance::Finding MakeFinding(std::string_view id, uint64_t frame = 12) {
  conformance::Finding finding;
  finding.rule = conformance::FindRule(id);
  finding.severity = finding.rule->severity;
  finding.frame = {frame, 1709210096123456789};
  finding.connection = 3;
  finding.client_to_server = false;
  finding.xid = 0x1a2b3c4d;
  finding.message = "A \"message\"";
  finding.expected = "this";
  finding.actual = "that";
  finding.related_frames = {4, 9};
  finding.see_also = {"WRLIST-012"};
  return finding;
}

}  // namespace stag::test
