// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag latency: percentiles of round-trip times and their phases by procedure, connection, client, server, file or
// size; the slowest RPCs; and the difference to another capture.
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "analysis/latency_sampler.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "cli/base/svg.h"
#include "cli/latency/latency_course.h"
#include "cli/latency/latency_report.h"
#include "protocol/base/serialize.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct LatencyArguments : CommonOptions {
  analysis::LatencyKey by = analysis::LatencyKey::kProcedure;
  size_t slowest = 0;
  std::string against, svg;
  std::optional<double> most_slower;  // percent
};

// Parts of --memory: for the rows of tables (with --against of both), for --svg, and for names of files.
constexpr uint64_t kPartOfTable = 16, kPartOfCourse = 64, kPartOfNames = 32;

using LatencyNames = std::map<std::string, std::string>;  // by the key that stands for a file

// Takes the samples of files, in order, and at the end of each the names that its file handles have.
class LatencySink {
 public:
  virtual ~LatencySink() = default;
  virtual void OnSample(analysis::LatencySample& sample) = 0;
  virtual void OnEnd(const LatencyNames& names) = 0;
};

// Puts them into tables: those of the first `files` files into one, those of a further file into the other.
class ToTables final : public LatencySink {
 public:
  // `course`: null where it is not wanted.
  ToTables(size_t files, analysis::LatencyTable& table, analysis::LatencyTable& others, LatencyCourse* course)
      : files_(files), table_(table), others_(others), course_(course) {}
  void OnSample(analysis::LatencySample& sample) override {
    sample.file = file_;
    Table().Add(sample);
    if (course_ && file_ < files_) course_->Add(sample.reply_ns, static_cast<uint64_t>(sample.rtt_ns));
  }
  void OnEnd(const LatencyNames& names) override {
    Table().Rename({names.begin(), names.end()});
    ++file_;
  }
  // What ToRecords wrote. False: it is none.
  bool Take(std::string_view record) {
    std::optional<analysis::LatencySample> sample;
    LatencyNames names;
    if (!Unpack(record, sample, names)) return false;
    sample ? OnSample(*sample) : OnEnd(names);
    return true;
  }

 private:
  analysis::LatencyTable& Table() { return file_ < files_ ? table_ : others_; }

  const size_t files_;
  uint32_t file_ = 0;  // the number of the current one
  analysis::LatencyTable& table_;
  analysis::LatencyTable& others_;
  LatencyCourse* const course_;
};

// Writes them for the rank that has the tables: a record for each sample, and one at the end of the file.
class ToRecords final : public LatencySink {
 public:
  explicit ToRecords(ResultStream& stream) : stream_(stream) {}
  void OnSample(analysis::LatencySample& sample) override {
    stream_.Record(Pack(std::optional(sample), LatencyNames()));
  }
  void OnEnd(const LatencyNames& names) override {
    stream_.Record(Pack(std::optional<analysis::LatencySample>(), names));
  }

 private:
  ResultStream& stream_;
};

class LatencyShard final : public ShardResults<analysis::LatencySample>, private analysis::LatencySampler {
 public:
  LatencyShard(const LatencyArguments& options, std::optional<std::string> file, LatencySink& sink)
      : analysis::LatencySampler(options.by, std::move(file), options.memory / kPartOfNames / options.jobs,
                                 options.filter, clock().first_time_ns),
        sink_(sink) {}
  std::vector<session::Observer*> Observers() override { return {this}; }
  analysis::LatencySampler& sampler() { return *this; }
  uint64_t count() const { return count_; }  // samples

 private:
  void OnSample(const analysis::LatencySample& sample) override {
    Emit([&](analysis::LatencySample& result) { result = sample; });
  }
  void Deliver(analysis::LatencySample& sample) override {
    ++count_;
    sink_.OnSample(sample);
  }

  LatencySink& sink_;
  uint64_t count_ = 0;
};

// Gives the RPCs of a file to `sink`.
FileOutcome Collect(const std::string& file, const LatencyArguments& options, bool several, Output& output,
                    LatencySink& sink) {
  const auto name = several ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  std::vector<std::unique_ptr<LatencyShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<LatencyShard>(options, name, sink));
  FileOutcome outcome = Analyze(file, options, false, output, shards);
  analysis::FileNames::Names newest;
  uint64_t count = 0, untimed = 0, phases_missing = 0, cut = 0, unnamed = 0;
  for (const auto& shard : shards) {
    count += shard->count();
    untimed += shard->sampler().untimed();
    phases_missing += shard->sampler().phases_missing();
    cut += shard->sampler().cut();
    unnamed += shard->sampler().names().left_out();
    for (auto& [key, name_of] : shard->sampler().names().Release())
      if (analysis::FileNames::Name& known = newest[key]; name_of.frame >= known.frame) known = std::move(name_of);
  }
  LatencyNames names;
  for (; !newest.empty(); newest.erase(newest.begin()))
    names.emplace(newest.begin()->first, std::move(newest.begin()->second.name));
  sink.OnEnd(names);
  if (options.quiet || !outcome.opened || output.closed()) return outcome;
  Diagnostics& diagnostics = output.diagnostics();
  if (count == 0) {
    diagnostics.Complain("{}: no {}answered RPC in {}", DisplayName(file), options.filter.empty() ? "" : "such ",
                         Count(outcome.frames, "frame"));
  }
  if (cut > 0) {
    diagnostics.Complain("{}: {} left out: the capture has too little of the Calls (snap length)", DisplayName(file),
                         Count(cut, "RPC"));
  }
  diagnostics.OverMemory(DisplayName(file), unnamed, "name", " of files left out");
  if (untimed > 0) {
    diagnostics.Complain("{}: {} left out: the clock went back, there are two clocks, or frames have no times",
                         DisplayName(file), Count(untimed, "RPC"));
  }
  if (phases_missing > 0) {
    diagnostics.Complain("{}: phases of {} are not all known: packets are missing, or times go back", DisplayName(file),
                         Count(phases_missing, "RPC"));
  }
  return outcome;
}

void ReportWhatIsMissing(const analysis::LatencyTable& table, Diagnostics& diagnostics) {
  if (table.left_out() > 0) {
    diagnostics.Complain("{} of more than {} keys left out{}", Count(table.left_out(), "RPC"), table.size(),
                         table.size() < analysis::LatencyTable::kMaxKeys ? "; --memory raises the cap" : "");
  }
  if (table.coarseness() > 1) {
    diagnostics.Complain("the memory cap was reached: percentiles are to within {:.1f} %; --memory raises the cap",
                         analysis::TimeHistogram::ErrorPercent(table.coarseness()));
  }
}

// In a team each rank sends the samples of its files; rank 0 has the tables.
int RunLatency(const LatencyArguments& options, scale::Team* team) {
  LatencyArguments all = options;
  if (!options.against.empty()) all.files.push_back(options.against);
  if (team && !AllFine(team, StandardInputTrouble(all))) return kExitTrouble;
  Output output = OutputOf(options, team);
  const uint64_t memory = options.memory / (options.against.empty() ? kPartOfTable : 2 * kPartOfTable);
  analysis::LatencyTable table(options.slowest, memory), others(0, memory);
  LatencyCourse course(options.memory / kPartOfCourse);
  ToTables tables(options.files.size(), table, others, options.svg.empty() ? nullptr : &course);
  const auto analyze = [&](const std::string& file, Output& of_file, ResultStream* stream) {
    const bool other = !options.against.empty() && &file == &all.files.back();
    const bool several = options.files.size() > 1 && !other;
    if (!stream) return Collect(file, options, several, of_file, tables);
    ToRecords records(*stream);
    return Collect(file, options, several, of_file, records);
  };
  const auto take = [&](std::string_view record) {
    if (!tables.Take(record)) throw std::runtime_error("another rank sent what is no record of RPCs");
  };
  const int status = ForEachFile(team, all, output, analyze, take, Headings::kNo);
  if (team && !team->leads()) return kExitFine;
  if (table.count() + others.count() == 0 && status == kExitTrouble) return status;

  const LatencyReport report(options.by, table, options.against.empty() ? nullptr : &others);
  const auto& info = analysis::LatencyInfo(!options.against.empty());
  const std::string name = options.files.size() == 1 ? DisplayName(options.files.front()) : "";
  SetDocument(output, options, info);
  RowOutput rows(output, options, info, name.empty() ? std::nullopt : std::optional(name));
  report.Put(output, rows, options.files);
  output.EndDocument();
  rows.Complain(name.empty() ? "all captures" : name);
  if (!options.quiet) {
    for (const analysis::LatencyTable* one : {&table, &others}) ReportWhatIsMissing(*one, output.diagnostics());
  }
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
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "RPCs", "RPCs");
  AddListOptions(*command, *options, results::InfoOf<analysis::LatencyRow>());
  AddLatencyKey(*command, options->by, 6);
  AddParsed(
      *command, "--slowest",
      [options](std::string& text) {
        const auto slowest = ParseNumber<size_t>(text);
        options->slowest = slowest.value_or(0);
        return slowest && *slowest <= 10000 ? std::string{} : text + " is not a number up to 10000";
      },
      "N", "Also the slowest N RPCs: frames, the phase that took the time, and what happened meanwhile");
  CLI::Option* against =
      Reads(command->add_option("--against", options->against, "Compare with this capture, of the same load before"))
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
  Writes(command->add_option("--svg", options->svg,
                             "Also draw it: an SVG file with percentile curves, and the times over time"))
      ->type_name("FILE");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the captures are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "Percentiles are by nearest rank, to within 0.1 %. A phase has a row where RPCs have it: the time from the Call "
      "to\n"
      "the first RDMA Read, that of the Reads, the server's own, that of the RDMA Writes, and from these to the "
      "Reply.\n"
      "Several files count as one. As text, --sort goes by the rows of the round trip, and --limit counts keys.\n"
      "Filters choose RPCs of --against, too.\n"
      "With --against a difference is significant when the Mann-Whitney U test says so (p < 0.01, corrected for the\n"
      "number of tests by Holm's method) and it is not negligible (Cliff's delta of at least 0.147).\n"
      "\nExamples:\n"
      "  stag latency mount.pcapng\n"
      "  stag latency --slowest 10 --by connection mount.pcapng\n"
      "  stag latency --by client --procedure READ --format table --sort p99_us mount.pcapng\n"
      "  stag latency --format jsonl mount.pcapng | jq 'select(.phase==\"service\")'\n"
      "  stag latency --svg latency.svg mount.pcapng\n"
      "  stag latency after.pcapng --against before.pcapng --fail-on-slower 10%\n"
      "  mpirun -n 8 stag latency --mpi --by client /captures/*.pcap.zst");
  command->callback([options, &run] {
    const auto columns = results::ColumnsOf(analysis::LatencyInfo(!options->against.empty()));
    if (!options->sort.empty() && std::ranges::find(columns, options->sort, &results::Column::name) == columns.end())
      throw CLI::ValidationError("--sort " + options->sort + " needs --against: without it, rows have no such member");
    run = [options] { return RunOverFiles(*options, RunLatency); };
  });
}

}  // namespace stag::cli
