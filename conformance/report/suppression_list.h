// SPDX-License-Identifier: GPL-2.0-or-later
//
// SuppressionList: findings that somebody has decided to accept, each with the reason. A filter before the reporter.
//
// JSON lines; empty lines and lines that begin with # are skipped. An entry covers the findings that have all it names:
//   "rule"         ids as --ignore takes them: "PVT-006", "PVT"
//   "fingerprint"  of one finding; rule, fingerprint or both must be there
//   "direction"    optional: "c2s" or "s2c"
//   "procedure"    optional: "NFSv3 READ", as reports name it
//   "reason"       why it is accepted; must be there
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine/engine.h"
#include "protocol/base/result.h"

namespace stag::conformance {

class SuppressionList final : public FindingSink {
 public:
  // Findings that no entry covers go on to `next`. Returns itself.
  FindingSink& Before(FindingSink& next) {
    next_ = &next;
    return *this;
  }

  // Adds the entries of a file. The error is "LINE: what is wrong".
  Result<void> Add(std::string_view text);

  void OnFinding(const Finding& finding) override;

  uint64_t suppressed() const { return suppressed_; }
  // Entries, for a rule that is selected, that covered nothing: for people.
  std::vector<std::string> Unused(const EngineOptions& selection) const;

 private:
  struct Entry {
    std::string rule, fingerprint, procedure, reason;  // rule in upper case
    std::optional<bool> client_to_server;
    bool used = false;
  };
  static bool Covers(const Entry& entry, const Finding& finding, std::string& fingerprint);

  FindingSink* next_ = nullptr;
  uint64_t suppressed_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace stag::conformance
