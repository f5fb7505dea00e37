// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag report: one page of HTML about captures, which needs nothing else: what is wrong first; then connections,
// latency, transport, limits, credits, and findings with ladders. What a person attaches to a bug report.
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/analysis/file_runner.h"
#include "cli/analysis/reporting.h"
#include "cli/analysis/rule_options.h"
#include "cli/base/options.h"
#include "cli/summary/report_page.h"
#include "conformance/report/transcript.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct ReportArguments : CommonOptions {
  conformance::EngineOptions engine;
  std::string title = "RPC-over-RDMA report";
  AcceptanceOptions accept;
};

// This process's command line, as one gives it to a shell: "stag report 'my mount.pcap'". "stag" where the system does
// not tell.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string out = "stag", word;
  for (bool first = true; std::getline(file, word, '\0'); first = false) {
    if (first) continue;  // wherever the program is
    out.push_back(' ');
    PutShellWord(out, word);
  }
  return out;
}

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

// What the analysis of a file sends to the rank that has the page: the first byte of a record.
constexpr char kPart = 'p', kTranscript = 't';

// Reads a file. `reporter` gets its findings.
ReportPart MakePart(const std::string& file, const ReportArguments& options, size_t number, bool pictures,
                    conformance::Reporter& reporter, Acceptance& acceptance, Output& output, FileOutcome& outcome) {
  // What is said while a file is read stands in the page, too, also with --quiet.
  std::vector<std::string> remarks;
  Diagnostics keep([&remarks](std::string_view text) { remarks.emplace_back(text); });
  CommonOptions reading = options;
  reading.progress = options.progress && !options.quiet;
  reading.quiet = false;
  Output unused(
      reading, [](std::string_view) {}, keep);
  SummaryOptions wanted;
  wanted.engine = options.engine;
  wanted.reporter = &reporter;
  wanted.accept = &acceptance;
  wanted.slowest = ReportPage::kSlowest;
  wanted.pictures = true;
  FileSummary summary(file, reading, wanted, unused);
  outcome = summary.outcome();
  for (const std::string& remark : remarks)
    if (!options.quiet || remark == outcome.trouble) output.diagnostics().ComplainText(remark);
  std::erase(remarks, outcome.trouble);  // the page has it elsewhere
  if (summary.accepted() > 0)
    remarks.push_back(
        fmt::format("{} accepted (--suppress, --baseline), and left out",
                    summary.accepted() == 1 ? "1 finding is" : Count(summary.accepted(), "finding") + " are"));
  return MakeReportPart(summary, number, options.files.size() > 1, pictures, SizeOf(file), remarks);
}

// In a team each rank makes the parts and the transcripts of its files; rank 0 has the page.
int RunReport(const ReportArguments& options, scale::Team* team) {
  Acceptance acceptance(options.accept);
  const auto read = acceptance.Read();
  if (!AllFine(team, read ? "" : read.error().message)) return kExitTrouble;
  Output output = OutputOf(options, team);
  conformance::HtmlBesides besides;
  const auto reporter = conformance::MakeHtmlReporter(WriteTo(output), STAG_VERSION, &besides,
                                                      conformance::ConnectionHistoryOptions::Of(options.memory / 16));
  conformance::Playback playback(*reporter, *reporter);
  ReportPage page(options.files.size() > 1);
  const auto analyze = [&](const std::string& file, Output& of_file, ResultStream* stream) {
    const auto number = static_cast<size_t>(&file - options.files.data());
    FileOutcome outcome;
    if (!stream) {
      page.Add(MakePart(file, options, number, page.pictures(), *reporter, acceptance, of_file, outcome));
      return outcome;
    }
    const auto write = [stream](std::string_view record) { stream->Record(kTranscript + std::string(record)); };
    const auto all = [](conformance::FindingSink& next) -> conformance::FindingSink& { return next; };
    conformance::TranscriptWriter writer(write, reporter->wants(), all);
    const ReportPart part = MakePart(file, options, number, true, writer, acceptance, of_file, outcome);
    stream->Record(kPart + Pack(part));
    return outcome;
  };
  const auto take = [&](std::string_view record) {
    ReportPart part;
    const char kind = record.empty() ? ' ' : record.front();
    const std::string_view rest = record.substr(std::min<size_t>(record.size(), 1));
    const bool fine = kind == kPart ? Unpack(rest, part) : kind == kTranscript && playback.Take(rest);
    if (!fine) throw std::runtime_error("another rank sent what is no part of a report");
    if (kind == kPart) page.Add(part);
  };
  const int status = ForEachFile(team, options, output, analyze, take, Headings::kNo);
  if (team && !team->leads()) return kExitFine;
  page.Finish({options.title, CommandLine(), RulesText(options.engine)}, besides);
  reporter->Finish({});
  output.Flush();
  return output.failed() ? kExitTrouble : status;
}

}  // namespace

void AddReport(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report",
                                         "One page of HTML: what is wrong first, then connections, latency, transport, "
                                         "limits, credits, findings with ladders");
  AddCaptureOptions(*command, *options, Formats::kNone);
  AddFilters(*command, *options, "connections, latencies and findings of RPCs", "those");
  AddJobs(*command, *options);
  Writes(command->add_option("-o,--output,--out", options->output, "Write the page to this file, not to stdout"))
      ->type_name("FILE");
  command->add_option("--title", options->title, "The heading of the page (default: RPC-over-RDMA report)")
      ->type_name("TEXT");
  AddMpi(*command, *options, "the captures are spread over the ranks; rank 0 writes the page, the same as without");
  AddRuleOptions(*command, options->engine);
  AddAcceptanceOptions(*command, options->accept);
  command->footer(
      "The page needs no network and no other file: attach it to a bug report. It has the names and sizes of the "
      "captures,\n"
      "addresses, file handles of findings, and the command line; no file data.\n"
      "What there is much of is bounded, and what was left out is said. Of several files each has its own part of a "
      "section.\n"
      "The exit status is 0, also with findings; 2 when a file cannot be read to its end.\n"
      "\nExamples:\n"
      "  stag report mount.pcapng > report.html\n"
      "  stag report --title 'Bug 4711: mount hangs' client.pcapng server.pcapng -o report.html\n"
      "  stag report --connection 3-5 --time 10s..20s mount.pcapng > report.html\n"
      "  zstdcat mount.pcapng.zst | stag report - > report.html\n"
      "  mpirun -n 8 stag report --mpi /captures/*.pcap.zst > report.html");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunReport); }; });
}

}  // namespace stag::cli
