// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON lines of `stag check`: fields and their order are a contract with programs.
#include "conformance/report/fingerprint.h"
#include "conformance/report/json_parts.h"

namespace stag::conformance {

namespace {

class JsonlReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void Finish(const Suppressed& suppressed) override {
    if (total().files == 0) return;
    line_ = "{\"type\":\"summary\",";
    AppendSummaryMembers(line_, total(), counts(), suppressed);
    line_.append("}\n");
    Put(line_);
  }

 protected:
  void Show(const Finding& finding) override {
    line_ = "{";
    AppendFindingMembers(line_, finding, file());
    line_.append(",\"fingerprint\":\"").append(Fingerprint(finding)).append("\"}\n");
    Put(line_);
  }

 private:
  std::string line_;  // reused
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonlReporter(Write write) { return std::make_unique<JsonlReporter>(std::move(write)); }

}  // namespace stag::conformance
