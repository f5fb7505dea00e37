// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fingerprint: what makes a finding the same finding in another capture of the same implementations doing the same.
#pragma once

#include <string>
#include <string_view>

#include "conformance/engine/finding.h"

namespace stag::conformance {

// 16 hexadecimal digits: a hash of the rule, the direction, the RPC's program, version and procedure where known, and
// the message without its numbers. Of no influence: severity, addresses, ports, frames, times, xids, handles, sizes.
// Never changes its meaning: baselines rely on it.
std::string Fingerprint(const Finding& finding);
bool IsFingerprint(std::string_view text);  // 16 lowercase hexadecimal digits

// The message with every number, decimal or hexadecimal, as '#', and the word after it without a final s, so that "1
// segment" and "2 segments" are the same.
std::string WithoutNumbers(std::string_view message);

}  // namespace stag::conformance
