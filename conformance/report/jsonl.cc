// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON lines of `stag check`.
#include "conformance/report/finding_row.h"
#include "results/json.h"

namespace stag::conformance {

namespace {

class JsonlReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void Finish(const Suppressed& suppressed) override {
    if (total().files > 0) PutLine(SummaryRow(total(), counts(), suppressed));
  }

 protected:
  void Show(const Finding& finding) override { PutLine(FindingRow(finding, file())); }

 private:
  template <typename Row>
  void PutLine(const Row& row) {
    line_.clear();
    results::PutLine(line_, row);
    Put(line_);
  }

  std::string line_;
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonlReporter(Write write) { return std::make_unique<JsonlReporter>(std::move(write)); }

}  // namespace stag::conformance
