// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag latency: percentiles of round-trip times and their phases by procedure, connection, client, server, file or
// size; the slowest RPCs; and the difference to another capture.
#include <charconv>
#include <cmath>
#include <memory>

#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/base/svg.h"
#include "cli/latency/latency_course.h"
#include "cli/latency/latency_report.h"
#include "cli/latency/latency_sampler.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct LatencyArguments : CommonOptions {
  LatencyKey by = LatencyKey::kProcedure;
  size_t slowest = 0;
  std::string against, svg;
  std::optional<double> most_slower;  // percent
};

constexpr std::array<std::pair<std::string_view, LatencyKey>, 6> kKeys = {{{"procedure", LatencyKey::kProcedure},
                                                                           {"connection", LatencyKey::kConnection},
                                                                           {"client", LatencyKey::kClient},
                                                                           {"server", LatencyKey::kServer},
                                                                           {"file", LatencyKey::kFile},
                                                                           {"size", LatencyKey::kSize}}};

class LatencyShard final : public ShardResults<LatencySample>, private LatencySampler {
 public:
  // `course`: null where it is not wanted.
  LatencyShard(LatencyKey by, std::optional<std::string> file, LatencyTable& table, LatencyCourse* course)
      : LatencySampler(by, std::move(file)), table_(table), course_(course) {}
  std::vector<session::Observer*> Observers() override { return {this}; }
  const LatencySampler& sampler() const { return *this; }

 private:
  void OnSample(const LatencySample& sample) override {
    Emit([&](LatencySample& result) { result = sample; });
  }
  void Deliver(LatencySample& sample) override {
    table_.Add(sample);
    if (course_) course_->Add(sample.reply_ns, static_cast<uint64_t>(sample.rtt_ns));
  }

  LatencyTable& table_;
  LatencyCourse* const course_;
};

// Adds the RPCs of a file to `table`.
FileOutcome Collect(const std::string& file, const LatencyArguments& options, bool several, Output& output,
                    LatencyTable& table, LatencyCourse* course) {
  const auto name = several ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  const uint64_t before = table.count();
  std::vector<std::unique_ptr<LatencyShard>> shards;
  while (shards.size() < options.jobs)
    shards.push_back(std::make_unique<LatencyShard>(options.by, name, table, course));
  FileOutcome outcome = Analyze(file, options, false, output, shards);
  std::unordered_map<std::string, LatencyKeys::FileName> newest;
  uint64_t untimed = 0, phases_missing = 0, cut = 0;
  for (const auto& shard : shards) {
    untimed += shard->sampler().untimed();
    phases_missing += shard->sampler().phases_missing();
    cut += shard->sampler().cut();
    for (const auto& [key, name_of] : shard->sampler().names())
      if (LatencyKeys::FileName& known = newest[key]; name_of.frame >= known.frame) known = name_of;
  }
  std::unordered_map<std::string, std::string> names;
  for (const auto& [key, name_of] : newest) names.emplace(key, name_of.name);
  table.Rename(names);
  if (options.quiet || !outcome.opened || output.closed()) return outcome;
  Diagnostics& diagnostics = output.diagnostics();
  if (table.count() == before)
    diagnostics.Complain("{}: no answered RPC in {}", DisplayName(file), Count(outcome.frames, "frame"));
  if (cut > 0) {
    diagnostics.Complain("{}: {} left out: the capture has too little of the Calls (snap length)", DisplayName(file),
                         Count(cut, "RPC"));
  }
  if (untimed > 0) {
    diagnostics.Complain("{}: {} left out: the clock went back, or there are two clocks", DisplayName(file),
                         Count(untimed, "RPC"));
  }
  if (phases_missing > 0) {
    diagnostics.Complain("{}: phases of {} are not all known: packets are missing, or times go back", DisplayName(file),
                         Count(phases_missing, "RPC"));
  }
  return outcome;
}

int RunLatency(const LatencyArguments& options) {
  Output output(options);
  LatencyTable table(options.slowest), others(0);
  int status = kExitFine;
  const auto take = [&](const FileOutcome& outcome) {
    if (!outcome.opened || outcome.damaged) status = kExitTrouble;
  };
  LatencyCourse course;
  for (const std::string& file : options.files)
    take(Collect(file, options, options.files.size() > 1, output, table, options.svg.empty() ? nullptr : &course));
  if (!options.against.empty()) take(Collect(options.against, options, false, output, others, nullptr));
  if (table.count() + others.count() == 0 && status == kExitTrouble) return status;

  std::string_view by;
  for (const auto& [word, key] : kKeys)
    if (key == options.by) by = word;
  const LatencyReport report(by, table, options.against.empty() ? nullptr : &others);
  report.Put(output, options.format);
  if (table.left_out() > 0 && !options.quiet)
    output.diagnostics().Complain("{} of more than {} keys left out", Count(table.left_out(), "RPC"),
                                  LatencyTable::kMaxKeys);
  if (output.failed()) return kExitTrouble;
  if (!options.svg.empty()) {
    std::string svg;
    PutLatencySvg(svg, table, options.against.empty() ? nullptr : &others, course,
                  DisplayName(options.files.front().substr(options.files.front().rfind('/') + 1)));
    if (!WriteSvgFile(options.svg, svg)) return kExitTrouble;
  }
  if (!options.most_slower || status != kExitFine) return status;
  const std::vector<std::string> slower = report.Slower(*options.most_slower);
  for (const std::string& key : slower)
    output.diagnostics().Complain("{}: slower by more than {:g} %", key, *options.most_slower);
  return slower.empty() ? kExitFine : kExitFindings;
}

}  // namespace

void AddLatency(CLI::App& app, Run& run) {
  auto options = std::make_shared<LatencyArguments>();
  CLI::App* command = app.add_subcommand(
      "latency", "Percentiles of round-trip times and their phases; the slowest RPCs; before and after");
  AddCaptureOptions(*command, *options, Formats::kTables);
  std::vector<std::pair<std::string, LatencyKey>> keys;
  for (const auto& [word, key] : kKeys) keys.emplace_back(word, key);
  AddChoice<LatencyKey>(*command, "--by", options->by, std::move(keys), "What has a row (default: procedure)");
  AddParsed(
      *command, "--slowest",
      [options](std::string& text) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options->slowest);
        const bool fine = error == std::errc{} && end == text.data() + text.size() && options->slowest <= 10000;
        return fine ? std::string{} : text + " is not a number up to 10000";
      },
      "N", "Also the slowest N RPCs: frames, the phase that took the time, and what happened meanwhile");
  CLI::Option* against =
      command->add_option("--against", options->against, "Compare with this capture, of the same load before")
          ->type_name("FILE");
  AddParsed(
      *command, "--fail-on-slower",
      [options](std::string& text) {
        double percent = 0;
        const char* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, percent);
        const bool fine = error == std::errc{} && std::isfinite(percent) && percent >= 0 &&
                          (end == last || std::string_view(end, last) == "%");
        if (!fine) return text + " is not a percentage, like 10%";
        options->most_slower = percent;
        return std::string{};
      },
      "P%", "With --against: exit status 1 when a median round-trip time is significantly larger, by over P %")
      ->needs(against);
  command
      ->add_option("--svg", options->svg, "Also draw it: an SVG file with percentile curves, and the times over time")
      ->type_name("FILE");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  command->footer(
      "Percentiles are by nearest rank, to within 0.1 %. A phase has a row where RPCs have it: the time from the Call "
      "to\n"
      "the first RDMA Read, that of the Reads, the server's own, that of the RDMA Writes, and from these to the "
      "Reply.\n"
      "Several files count as one.\n"
      "With --against a difference is significant when the Mann-Whitney U test says so (p < 0.01, corrected for the\n"
      "number of tests by Holm's method) and it is not negligible (Cliff's delta of at least 0.147).\n"
      "\nExamples:\n"
      "  stag latency mount.pcapng\n"
      "  stag latency --slowest 10 --by connection mount.pcapng\n"
      "  stag latency --format jsonl mount.pcapng | jq 'select(.phase==\"service\")'\n"
      "  stag latency --svg latency.svg mount.pcapng\n"
      "  stag latency after.pcapng --against before.pcapng --fail-on-slower 10%");
  command->callback([options, &run] { run = [options] { return RunLatency(*options); }; });
}

}  // namespace stag::cli
