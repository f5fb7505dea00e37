// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON document of `stag check`, as docs/check.schema.json describes it. Findings are written as they come, a line
// each; connections, files and the summary follow them.
#include "conformance/engine/text.h"
#include "conformance/report/connection_json.h"
#include "conformance/report/connection_list.h"
#include "conformance/report/documents.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/json_parts.h"
#include "conformance/report/procedure.h"

namespace stag::conformance {

namespace {

constexpr size_t kMaxConnections = 10000;

class JsonReporter final : public Reporter {
 public:
  JsonReporter(Write write, std::string_view version) : Reporter(std::move(write)) {
    text_ = "{\"schema\":\"stag-check/1\",\"tool\":{\"name\":\"stag\",\"version\":";
    AppendJson(text_, version);
    text_.append("},\"findings\":[");
    Put(text_);
  }

  std::vector<session::Observer*> Observers() override { return {&list_}; }
  Wants wants() const override { return {.connections = true}; }
  void OnConnection(const session::Connection& connection) override { list_.Add(connection); }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    for (const session::Connection& connection : list_.Take()) {
      connections_.append(connections_.empty() ? "\n{" : ",\n{");
      AppendConnectionMembers(connections_, connection, file());
      connections_.push_back('}');
    }
    files_.append(files_.empty() ? "\n{\"file\":" : ",\n{\"file\":");
    AppendJson(files_, file());
    files_.append(",\"error\":");
    if (trouble.empty()) {
      files_.append("null");
    } else {
      AppendJson(files_, trouble);
    }
    files_.append(Text(",\"opened\":", summary.files > 0 ? "true" : "false", ",\"frames\":", summary.frames,
                       ",\"connections\":", summary.connections, ",\"transactions\":", summary.transactions,
                       ",\"incomplete\":{\"gaps\":", summary.gaps, ",\"truncated_frames\":", summary.truncated_frames,
                       "}}"));
  }

  void Finish(const Suppressed& suppressed) override {
    text_ = Text("\n],\"connections\":[", connections_, "\n],\"connections_left_out\":", list_.left_out(),
                 ",\"files\":[", files_, "\n],\"summary\":{");
    AppendSummaryMembers(text_, total(), counts(), suppressed);
    text_.append("}}\n");
    Put(text_);
  }

 protected:
  void Show(const Finding& finding) override {
    text_ = any_ ? ",\n{" : "\n{";
    any_ = true;
    AppendFindingMembers(text_, finding, file());
    text_.append(Text(",\"fingerprint\":\"", Fingerprint(finding), "\",\"profile\":\"", ProfileName(finding.profile),
                      "\",\"expected\":"));
    AppendText(finding.expected);
    text_.append(",\"actual\":");
    AppendText(finding.actual);
    text_.append(",\"rpc\":");
    if (const auto& p = finding.procedure) {
      text_.append(Text("{\"program\":", p->program, ",\"version\":", p->version, ",\"procedure\":", p->procedure,
                        ",\"name\":"));
      AppendJson(text_, ProcedureText(*p));
      text_.append("}}");
    } else {
      text_.append("null}");
    }
    Put(text_);
  }

 private:
  void AppendText(const std::string& value) {
    if (value.empty()) {
      text_.append("null");
    } else {
      AppendJson(text_, value);
    }
  }

  std::string text_;  // reused
  bool any_ = false;
  ConnectionList list_{kMaxConnections};
  std::string connections_, files_;
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonReporter(Write write, std::string_view version) {
  return std::make_unique<JsonReporter>(std::move(write), version);
}

}  // namespace stag::conformance
