// SPDX-License-Identifier: GPL-2.0-or-later
//
// The findings of `stag check` as comma-separated values: a line of names, and a line for each finding, as it comes.
#include "conformance/report/documents.h"
#include "conformance/report/finding_row.h"
#include "results/columns.h"

namespace stag::conformance {

namespace {

class CsvReporter final : public Reporter {
 public:
  explicit CsvReporter(Write write) : Reporter(std::move(write)) {
    results::PutCsvHeading(line_, columns_, false);
    PutLine();
  }
  void Finish(const Suppressed&) override {}

 protected:
  void Show(const Finding& finding) override {
    const FindingRow row(finding, file());
    results::PutCsvLine(line_, columns_, &row, std::nullopt);
    PutLine();
  }

 private:
  void PutLine() {
    Put(line_);
    line_.clear();
  }

  const std::vector<results::Column> columns_ = results::ColumnsOf(results::InfoOf<FindingRow>());
  std::string line_;
};

}  // namespace

std::unique_ptr<Reporter> MakeCsvReporter(Write write) { return std::make_unique<CsvReporter>(std::move(write)); }

}  // namespace stag::conformance
