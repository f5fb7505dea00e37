// SPDX-License-Identifier: GPL-2.0-or-later
//
// Acceptance: --suppress, --baseline and --write-baseline of `stag check`: their files, and the filters between the
// engine and the reporter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/report/baseline.h"
#include "conformance/report/reporter.h"
#include "conformance/report/suppression_list.h"
#include "protocol/base/result.h"

namespace stag::cli {

struct AcceptanceOptions {
  std::vector<std::string> suppress, baseline;  // files to read
  std::string write_baseline;                   // file to write; empty: none
};

class Acceptance {
 public:
  explicit Acceptance(const AcceptanceOptions& options)
      : options_(options), baseline_(!options.write_baseline.empty()) {}

  // Reads the files. The error names file and line.
  Result<void> Read();

  // Where the engine's findings go; those that are not accepted go on to the reporter.
  conformance::FindingSink& Before(conformance::FindingSink& reporter) {
    return list_.Before(baseline_.Before(reporter));
  }

  // After the last file. `whole`: every capture was read to its end; else nothing is called unused.
  conformance::Suppressed Suppressed(bool whole, const conformance::EngineOptions& selection) const;

  // Writes what --write-baseline asks for.
  Result<void> WriteBaseline() const;

 private:
  const AcceptanceOptions& options_;
  conformance::Baseline baseline_;
  conformance::SuppressionList list_;
};

// Tells on stderr which entries were of no use.
void ComplainOfUnused(const conformance::Suppressed& suppressed);

}  // namespace stag::cli
