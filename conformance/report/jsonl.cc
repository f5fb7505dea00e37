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
    json_.BeginObject().Member("type", "summary");
    PutSummaryMembers(json_, total(), counts(), suppressed);
    PutLine();
  }

 protected:
  void Show(const Finding& finding) override {
    json_.BeginObject();
    PutFindingMembers(json_, finding, file());
    json_.Member("fingerprint", Fingerprint(finding));
    PutLine();
  }

 private:
  void PutLine() {
    json_.EndObject().EndLine();
    Put(line_);
    line_.clear();
  }

  std::string line_;
  JsonWriter json_{line_};
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonlReporter(Write write) { return std::make_unique<JsonlReporter>(std::move(write)); }

}  // namespace stag::conformance
