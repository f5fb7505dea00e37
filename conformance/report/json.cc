// SPDX-License-Identifier: GPL-2.0-or-later
//
// The JSON document of `stag check`, as docs/check.schema.json describes it. Findings are written as they come, a line
// each; connections, files and the summary follow them.
#include "results/json.h"

#include "analysis/connection_row.h"
#include "conformance/report/connection_list.h"
#include "conformance/report/documents.h"
#include "conformance/report/finding_row.h"

namespace stag::conformance {

namespace {

constexpr size_t kMaxConnectionsListed = 10000;

class JsonReporter final : public Reporter {
 public:
  JsonReporter(Write write, std::string_view version) : Reporter(std::move(write)) {
    json_.BeginObject().Member("schema", "stag-check/1").Key("tool").BeginObject();
    json_.Member("name", "stag").Member("version", version).EndObject().Key("findings").BeginArray();
    WriteOut();
    connections_json_.BeginArray();
    files_json_.BeginArray();
  }

  std::vector<session::Observer*> Observers() override { return {&list_}; }
  Wants wants() const override { return {.connections = true}; }
  void OnConnection(const session::Connection& connection) override { list_.Add(connection); }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    for (const session::Connection& connection : list_.Take()) {
      results::PutRow(connections_json_.NewLine(), analysis::ConnectionRow(connection, summary.first_time_ns), file());
    }
    results::PutRow(files_json_.NewLine(), CheckedFile{file(), trouble, summary});
  }

  void Finish(const Suppressed& suppressed) override {
    connections_json_.NewLine().EndArray();
    files_json_.NewLine().EndArray();
    json_.NewLine().EndArray().Key("connections").Raw(connections_);
    json_.Member("connections_left_out", list_.left_out()).Key("files").Raw(files_).Key("summary");
    const SummaryRow summary(total(), counts(), suppressed);
    results::PutValue(json_, results::As<SummaryRow>::Of(summary));
    json_.EndObject().EndLine();
    WriteOut();
  }

 protected:
  void Show(const Finding& finding) override {
    results::PutRow(json_.NewLine(), FindingRow(finding, file()));
    WriteOut();
  }

 private:
  void WriteOut() {
    Put(text_);
    text_.clear();
  }

  ConnectionList list_{kMaxConnectionsListed};
  std::string text_, connections_, files_;  // the document's next part; arrays that stand at its end
  JsonWriter json_{text_}, connections_json_{connections_}, files_json_{files_};
};

}  // namespace

std::unique_ptr<Reporter> MakeJsonReporter(Write write, std::string_view version) {
  return std::make_unique<JsonReporter>(std::move(write), version);
}

}  // namespace stag::conformance
