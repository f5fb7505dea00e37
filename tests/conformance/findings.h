// SPDX-License-Identifier: GPL-2.0-or-later
//
// A finding made by hand, for tests of what comes after the engine.
#pragma once

#include <string_view>

#include "conformance/engine/finding.h"

namespace stag::test {

inline conformance::Finding MakeFinding(std::string_view id, uint64_t frame = 12) {
  conformance::Finding finding;
  finding.rule = conformance::FindRule(id);
  finding.severity = finding.rule->severity;
  finding.frame = finding.proven = {frame, 1709210096123456789};
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
