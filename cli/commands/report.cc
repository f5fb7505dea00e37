// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag report: one page of HTML about captures, which needs nothing else: what is wrong first; then connections,
// latency, transport, limits, credits, and findings with ladders. What a person attaches to a bug report.
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/analysis/file_runner.h"
#include "cli/analysis/reporting.h"
#include "cli/analysis/rule_options.h"
#include "cli/base/command_line.h"
#include "cli/base/options.h"
#include "cli/summary/report_page.h"

namespace stag::cli {
namespace {

struct ReportArguments : CommonOptions {
  conformance::EngineOptions engine;
  std::string title = "RPC-over-RDMA report";
};

std::string RulesText(const conformance::EngineOptions& engine) {
  std::string text = fmt::format("profile {}", conformance::ProfileName(engine.profile));
  if (!engine.select.empty()) text += fmt::format(", of {} only", fmt::join(engine.select, ", "));
  if (!engine.ignore.empty()) text += fmt::format(", without {}", fmt::join(engine.ignore, ", "));
  return text;
}

std::optional<uint64_t> SizeOf(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  const uintmax_t size = std::filesystem::file_size(file, error);
  return error ? std::nullopt : std::optional<uint64_t>(size);
}

int RunReport(const ReportArguments& options) {
  // What is said while a file is read stands in the page, too, also with --quiet.
  std::vector<std::string> remarks;
  Diagnostics keep([&remarks](std::string_view text) { remarks.emplace_back(text); });
  Output output(options, nullptr, keep);
  CommonOptions reading = options;
  reading.progress = options.progress && !options.quiet;
  reading.quiet = false;
  conformance::HtmlBesides besides;
  const auto reporter = conformance::MakeHtmlReporter(WriteTo(output), STAG_VERSION, &besides);
  ReportPage page(options.files.size() > 1);
  SummaryOptions wanted;
  wanted.engine = options.engine;
  wanted.reporter = reporter.get();
  wanted.slowest = ReportPage::kSlowest;
  wanted.pictures = true;
  const int status = ForEachFile(
      options, output,
      [&](const std::string& file) {
        remarks.clear();
        FileSummary summary(file, reading, wanted, output);
        for (const std::string& remark : remarks)
          if (!options.quiet || remark == summary.outcome().trouble) ComplainText(remark);
        std::erase(remarks, summary.outcome().trouble);  // the page has it elsewhere
        page.Add(summary, SizeOf(file), remarks);
        return summary.outcome();
      },
      Headings::kNo);
  page.Finish({options.title, CommandLine(), RulesText(options.engine)}, besides);
  reporter->Finish({});
  remarks.clear();
  output.Flush();
  for (const std::string& remark : remarks) ComplainText(remark);  // why the page could not be written
  return output.failed() ? kExitTrouble : status;
}

}  // namespace

void AddReport(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report",
                                         "One page of HTML: what is wrong first, then connections, latency, transport, "
                                         "limits, credits, findings with ladders");
  AddCaptureOptions(*command, *options, Formats::kNone);
  command->add_option("-o,--output,--out", options->output, "Write the page to this file, not to stdout")
      ->type_name("FILE");
  command->add_option("--title", options->title, "The heading of the page (default: RPC-over-RDMA report)")
      ->type_name("TEXT");
  AddRuleOptions(*command, options->engine);
  command->footer(
      "The page needs no network and no other file: attach it to a bug report. It has the names and sizes of the "
      "captures,\n"
      "addresses, file handles of findings, and the command line; no file data.\n"
      "What there is much of is bounded, and what was left out is said. Of several files each has its own part of a "
      "section.\n"
      "The captures are read in turn, by one thread.\n"
      "The exit status is 0, also with findings; 2 when a file cannot be read to its end.\n"
      "\nExamples:\n"
      "  stag report mount.pcapng > report.html\n"
      "  stag report --title 'Bug 4711: mount hangs' client.pcapng server.pcapng -o report.html\n"
      "  zstdcat mount.pcapng.zst | stag report - > report.html");
  command->callback([options, &run] { run = [options] { return RunReport(*options); }; });
}

}  // namespace stag::cli
