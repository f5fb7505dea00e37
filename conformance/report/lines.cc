// SPDX-License-Identifier: GPL-2.0-or-later
//
// The findings of `stag check` as lines, as they come: JSON lines with a summary, or comma-separated values behind a
// line of names.
#include "conformance/report/documents.h"
#include "conformance/report/finding_row.h"
#include "results/columns.h"
#include "results/json.h"

namespace stag::conformance {

namespace {

class LineReporter final : public Reporter {
 public:
  LineReporter(Write write, bool csv) : Reporter(std::move(write)), csv_(csv) {
    if (!csv) return;
    results::PutCsvHeading(line_, columns_, false);
    WriteOut();
  }
  void Finish(const Suppressed& suppressed) override {
    if (csv_ || total().files == 0) return;
    results::PutLine(line_, SummaryRow(total(), counts(), suppressed));
    WriteOut();
  }

 protected:
  void Show(const Finding& finding) override {
    const FindingRow row(finding, file());
    csv_ ? results::PutCsvLine(line_, columns_, &row, std::nullopt) : results::PutLine(line_, row);
    WriteOut();
  }

 private:
  void WriteOut() {
    Put(line_);
    line_.clear();
  }

  const bool csv_;
  const std::vector<results::Column> columns_ = results::ColumnsOf(results::InfoOf<FindingRow>());
  std::string line_;
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonlReporter(Write write) {
  return std::make_unique<LineReporter>(std::move(write), false);
}
std::unique_ptr<Reporter> MakeCsvReporter(Write write) {
  return std::make_unique<LineReporter>(std::move(write), true);
}

}  // namespace stag::conformance
