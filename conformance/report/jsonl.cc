// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON lines of `stag check`: fields and their order are a contract with programs.
#include <utility>

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

// How often each rule that applied at all came out how; members that are 0 are left out.
void AppendOutcomes(std::string& out, const std::vector<RuleTally>& rules) {
  out.append(",\"outcomes\":{");
  bool first = true;
  for (const RuleTally& tally : rules) {
    if (tally.exercised() == 0 && tally.not_checked() == 0) continue;
    if (!std::exchange(first, false)) out.push_back(',');
    AppendJson(out, tally.rule->id);
    out.push_back(':');
    char separator = '{';
    for (size_t i = 0; i < kOutcomes; ++i) {
      if (tally.counts[i] == 0) continue;
      out.push_back(std::exchange(separator, ','));
      AppendJson(out, OutcomeName(static_cast<Outcome>(i)));
      AppendText(out, Text(":", tally.counts[i]));
    }
    out.push_back('}');
  }
  out.push_back('}');
}

class JsonlReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void Finish() override {
    const Summary& s = total();
    line_ = "{\"type\":\"summary\",\"frames\":";
    AppendText(line_, s.frames);
    AppendText(line_, Text(",\"connections\":", s.connections, ",\"transactions\":", s.transactions));
    AppendText(line_, Text(",\"findings\":{\"error\":", count(Severity::kError), ",\"warning\":",
                           count(Severity::kWarning), ",\"note\":", count(Severity::kNote), "},\"rules_checked\":"));
    AppendIds(s.rules, true);
    line_.append(",\"rules_not_exercised\":");
    AppendIds(s.rules, false);
    AppendText(line_, Text(",\"incomplete\":{\"gaps\":", s.gaps, ",\"truncated_frames\":", s.truncated_frames, "}"));
    AppendOutcomes(line_, s.rules);
    line_.append("}\n");
    Put(line_);
  }

 private:
  void AppendIds(const std::vector<RuleTally>& rules, bool exercised) {
    char separator = '[';
    for (const RuleTally& tally : rules) {
      if ((tally.exercised() > 0) != exercised) continue;
      line_.push_back(std::exchange(separator, ','));
      AppendJson(line_, tally.rule->id);
    }
    line_.append(separator == '[' ? "[]" : "]");
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
