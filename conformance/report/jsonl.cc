// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON lines of `stag check`: fields and their order are a contract with programs.
#include "conformance/engine/text.h"
#include "conformance/report/format.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

namespace {

template <typename List, typename Fn>
void AppendList(std::string& out, const List& list, Fn fn) {
  out.push_back('[');
  bool first = true;
  for (const auto& value : list) {
    if (!first) out.push_back(',');
    first = false;
    fn(value);
  }
  out.push_back(']');
}

class JsonlReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void Finish() override {
    const Summary& s = total();
    const auto id = [&](const RuleInfo* rule) { AppendJson(line_, rule->id); };
    line_ = "{\"type\":\"summary\",\"frames\":";
    AppendText(line_, s.frames);
    AppendText(line_, Text(",\"connections\":", s.connections, ",\"transactions\":", s.transactions));
    AppendText(line_, Text(",\"findings\":{\"error\":", count(Severity::kError), ",\"warning\":",
                           count(Severity::kWarning), ",\"note\":", count(Severity::kNote), "},\"rules_checked\":"));
    AppendList(line_, s.checked, id);
    line_.append(",\"rules_not_exercised\":");
    AppendList(line_, s.not_exercised, id);
    AppendText(line_, Text(",\"incomplete\":{\"gaps\":", s.gaps, ",\"truncated_frames\":", s.truncated_frames, "}}\n"));
    Put(line_);
  }

 protected:
  void Show(const Finding& finding) override {
    line_ = "{\"type\":\"finding\",\"rule\":";
    AppendJson(line_, finding.rule->id);
    line_.append(",\"severity\":");
    AppendJson(line_, SeverityName(finding.severity));
    line_.append(",\"file\":");
    AppendJson(line_, file());
    AppendText(line_, Text(",\"frame\":", finding.frame.number, ",\"time\":\""));
    AppendTime(line_, finding.frame.time_ns);
    AppendText(line_, Text("\",\"connection\":", finding.connection, ",\"direction\":\"",
                           finding.client_to_server ? "c2s" : "s2c", "\",\"xid\":"));
    if (finding.xid) {
      line_.push_back('"');
      AppendText(line_, Hex{*finding.xid});
      line_.push_back('"');
    } else {
      line_.append("null");
    }
    line_.append(",\"message\":");
    AppendJson(line_, finding.message);
    line_.append(",\"spec\":");
    AppendList(line_, Specifications(*finding.rule, finding.profile),
               [&](const std::string& s) { AppendJson(line_, s); });
    line_.append(",\"related_frames\":");
    AppendList(line_, finding.related_frames, [&](uint64_t frame) { AppendText(line_, frame); });
    line_.append(",\"see_also\":");
    AppendList(line_, finding.see_also, [&](std::string_view id) { AppendJson(line_, id); });
    line_.append("}\n");
    Put(line_);
  }

 private:
  std::string line_;  // reused
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonlReporter(Write write) { return std::make_unique<JsonlReporter>(std::move(write)); }

}  // namespace stag::conformance
