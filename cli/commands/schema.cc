// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag schema: what commands write as JSON lines, as JSON Schema or as a document for people.
#include "results/schema.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "analysis/connection_row.h"
#include "analysis/credit_row.h"
#include "analysis/file_row.h"
#include "analysis/latency_row.h"
#include "analysis/limits_row.h"
#include "analysis/link_row.h"
#include "analysis/scrub/scrub_row.h"
#include "analysis/top_row.h"
#include "analysis/transaction_row.h"
#include "analysis/transport_row.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/suggestion.h"
#include "cli/base/version.h"
#include "cli/commands/captured_row.h"
#include "cli/live/device_rows.h"
#include "cli/live/generate_report.h"
#include "cli/live/probe_row.h"
#include "cli/live/relay_report.h"
#include "cli/live/replay_report.h"
#include "cli/live/serve_rows.h"
#include "cli/slice/slice_row.h"
#include "cli/summary/summary_row.h"
#include "conformance/report/finding_row.h"
#include "conformance/report/rule_row.h"

namespace stag::cli {
namespace {

using results::CommandRecords;
using results::InfoOf;
using enum CommandRecords::File;

template <CommandRecords::File kFile, typename... Rows>
constexpr CommandRecords::Written kLines[] = {{InfoOf<Rows>, kFile}...};

constexpr CommandRecords::Written kLatency[] = {{InfoOf<analysis::LatencyRow>, kSometimes},
                                                {InfoOf<analysis::SlowRow>}};
constexpr CommandRecords::Written kReplay[] = {{InfoOf<PlayedProcedureRow>},
                                               {InfoOf<DifferenceRow>},
                                               {InfoOf<TroubleRow>},
                                               {InfoOf<ReplayedRow>},
                                               {InfoOf<PlannedCallRow>},
                                               {InfoOf<replay::PlanAccount::Unknown>},
                                               {InfoOf<PlanRow>},
                                               {InfoOf<conformance::FindingRow>, kNever},
                                               {InfoOf<conformance::SummaryRow>, kNever}};

// The lines of a command, and those of what it checks.
template <typename... Rows>
constexpr auto& kChecked = kLines<kNever, Rows..., conformance::FindingRow, conformance::SummaryRow>;

constexpr CommandRecords::Written kProbe[] = {
    {InfoOf<ProbedServer>, kNever},          {InfoOf<ProbedClient>, kNever},
    {InfoOf<ProbeResult>, kNever},           {InfoOf<ProbeSummary>, kNever},
    {InfoOf<ListedProbe>, kNever, "--list"}, {InfoOf<ProbeRun>, kNever},
    {InfoOf<ComparedProbe>, kNever},         {InfoOf<ComparisonSummary>, kNever, "--compare"},
};

constexpr CommandRecords kCommands[] = {
    {"summary", kLines<kAlways, FileSummaryRow>},
    {"connections", kLines<kAlways, analysis::ListedConnection, analysis::LinkRow>},
    {"transactions", kLines<kAlways, analysis::TransactionRow>},
    {"transport", kLines<kAlways, analysis::TransportRow>},
    {"limits", kLines<kAlways, analysis::LimitsRow>},
    {"credits", kLines<kAlways, analysis::CreditRow, analysis::CreditSummaryRow>},
    {"extract", kLines<kAlways, analysis::FileRow>},
    {"latency", kLatency},
    {"top", kLines<kSometimes, analysis::TopRow, analysis::TopTotalRow>},
    {"check", kChecked<>},
    {"scrub", kLines<kNever, scrub::ScrubRow>},
    {"capture", kChecked<analysis::TransactionRow, CapturedRow, CaptureDeviceRow>},
    {"slice", kLines<kAlways, SliceRow>},
    {"generate", kChecked<OperationRow, TroubleRow, GeneratedRow>},
    {"serve", kChecked<ListeningRow, serve::RecordedService::Sample, RecordedRow, ServedProcedureRow, TroubleRow,
                       serve::ServerReport>},
    {"relay", kChecked<RelayListeningRow, DirectionRow, FaultRow, TroubleRow, SideRow, RelayedRow>},
    {"replay", kReplay},
    {"probe", kProbe},
    {"rules", kLines<kNever, conformance::RuleRow>},
    {"explain", kLines<kNever, conformance::RuleRow>},
    {"devices", kLines<kNever, PeerDeviceRow>},
};

// The head of the document of all commands, which is docs/records.md.
constexpr char kHead[] =
    "# Records\n\n"
    "The members of what commands write with `--format jsonl`, one object a line, as `stag schema --format markdown` "
    "prints\n"
    "them. With `json` the same objects are one array; `csv` has a column for each member, members of members with "
    "dots "
    "in\n"
    "their names; `table` has those that fit the terminal, or all with `--wide`.\n\n"
    "A value that the capture does not show is null, never a guess. Durations have the suffix of their unit; counts "
    "have\n"
    "none. A member never changes its meaning; programs should ignore members that they do not know.\n\n";

struct SchemaArguments : CommonOptions {
  std::string command;  // empty: all
  bool markdown = false;
};

int RunSchema(const SchemaArguments& options) {
  std::vector<CommandRecords> wanted(std::begin(kCommands), std::end(kCommands));
  if (!options.command.empty())
    std::erase_if(wanted, [&options](const CommandRecords& one) { return one.command != options.command; });
  Output output(options);
  if (options.markdown && options.command.empty()) output.buffer() += kHead;
  options.markdown ? results::PutMarkdown(output.buffer(), wanted) : results::PutSchema(output.buffer(), wanted);
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace

void AddSchema(CLI::App& app, Run& run) {
  auto options = std::make_shared<SchemaArguments>();
  CLI::App* command = app.add_subcommand(
      "schema", "The members of what commands write as JSON lines: JSON Schema, with units and documentation");
  const auto known = [](std::string& text) {
    std::vector<std::string> names;
    for (const CommandRecords& one : kCommands) names.emplace_back(one.command);
    if (std::ranges::find(names, text) != names.end()) return std::string{};
    const std::string close = ClosestWord(text, names);
    return text + " is not a command with a schema" +
           (close.empty() ? fmt::format(": there are {}", fmt::join(names, ", ")) : "; did you mean " + close + "?");
  };
  command->add_option("COMMAND", options->command, "The command whose records are described; without it, all")
      ->check(CLI::Validator(known, ""))
      ->type_name("");
  AddChoice<bool>(*command, "--format", options->markdown, {{"json", false}, {"markdown", true}},
                  "How they are described: json (default), a JSON Schema of the version 2020-12; or markdown, tables");
  AddOutputFile(*command, *options);
  command->set_version_flag("--version", kVersionText, "Print the version and exit");
  command->footer(
      "A line is valid by the schema of its command. Members stay what they are within a version; the schema marks "
      "those\n"
      "that go with 1.0 as deprecated, with the member to use instead. Programs should ignore members that they do not "
      "know.\n"
      "\nExamples:\n"
      "  stag schema transactions\n"
      "  stag schema transactions | jq '.\"$defs\".transaction.properties | map_values(.description)'\n"
      "  stag schema --format markdown > records.md");
  command->callback([options, &run] { run = [options] { return RunSchema(*options); }; });
}

}  // namespace stag::cli
