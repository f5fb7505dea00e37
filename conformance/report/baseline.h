// SPDX-License-Identifier: GPL-2.0-or-later
//
// Baseline: findings that are known, recorded by an earlier run. A filter before the reporter.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine/engine.h"
#include "protocol/base/result.h"
#include "text/json_reader.h"

namespace stag::conformance {

class Baseline final : public FindingSink {
 public:
  // With `record`, all findings are noted for Recorded().
  explicit Baseline(bool record) : record_(record) {}

  // Findings that are not known go on to `next`. Returns itself.
  FindingSink& Before(FindingSink& next) {
    next_ = &next;
    return *this;
  }

  // Adds known findings: `text` is what Recorded() gave, or `stag check --format jsonl` or json wrote. The error says
  // what is wrong, with the line where there is one.
  Result<void> Add(std::string_view text);

  void OnFinding(const Finding& finding) override;

  uint64_t suppressed() const { return suppressed_; }
  // Known findings, of rules that are selected, that did not come again: for people.
  std::vector<std::string> Unused(const EngineOptions& selection) const;

  // The different findings that came, a JSON line each, in an order that does not depend on the capture's.
  std::string Recorded() const;
  // There were too many to note.
  bool overflowed() const { return overflowed_; }

 private:
  struct Known {
    std::string rule, message;  // may be empty
    bool used = false;
  };

  bool AddKnown(const JsonValue& finding);  // false: it has no fingerprint
  Result<void> AddDocument(std::string_view text);

  FindingSink* next_ = nullptr;
  const bool record_;
  bool overflowed_ = false;
  uint64_t suppressed_ = 0;
  std::map<std::string, Known, std::less<>> known_;                          // by fingerprint
  std::map<std::pair<const RuleInfo*, std::string>, std::string> recorded_;  // by rule and fingerprint: its line
};

}  // namespace stag::conformance
