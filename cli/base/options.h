// SPDX-License-Identifier: GPL-2.0-or-later
//
// How the commands and their options are declared to the parser of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/latency_keys.h"
#include "cli/base/common_options.h"
#include "results/record.h"
#include "text/parse.h"

namespace stag::cli {

// An option whose text `take` makes a value of; what it returns is the complaint, or empty.
CLI::Option* AddValue(CLI::App& command, const std::string& name, std::function<std::string(std::string&)> take,
                      const std::string& type, const std::string& description);
// The same; it can be repeated.
CLI::Option* AddParsed(CLI::App& command, const std::string& name, std::function<std::string(std::string&)> take,
                       const std::string& type, const std::string& description);
// An option whose value is one of a few words: the value goes to `value`.
template <typename T>
CLI::Option* AddChoice(CLI::App& command, const std::string& name, T& value,
                       std::vector<std::pair<std::string, T>> choices, const std::string& description) {
  std::string words;
  for (const auto& [word, ignored] : choices) words += (words.empty() ? "" : "|") + word;
  const auto choose = [&value, choices = std::move(choices), words](std::string& text) {
    for (const auto& [word, chosen] : choices) {
      if (word == text) {
        value = chosen;
        return std::string{};
      }
    }
    return text + " is not one of " + words;
  };
  return AddValue(command, name, choose, words, description);
}

// An option that can be repeated, whose values, separated by commas, `parse` makes.
template <typename T, typename Parse>
void AddList(CLI::App& command, const std::string& name, std::vector<T>& to, Parse parse, const std::string& complaint,
             const std::string& type, const std::string& description) {
  const auto take = [&to, parse, complaint](std::string& text) {
    const auto value = parse(text);
    if (!value) return text + complaint;
    to.push_back(*value);
    return std::string{};
  };
  AddParsed(command, name, take, type, description)->delimiter(',');
}
// An option whose value is a number from `least` to `most`.
template <typename T, typename Bound>
void AddRange(CLI::App& command, const std::string& name, T& value, Bound least, Bound most,
              const std::string& description, const std::string& type = "N") {
  command.add_option(name, value, description)->check(CLI::Range(least, most))->type_name(type);
}
// An option whose value is a number above 0; others get the complaint: their text and `complaint`. With `all`, the word
// all is 0.
template <typename T>
void AddNumber(CLI::App& command, const std::string& name, T& value, bool all, const std::string& complaint,
               const std::string& description) {
  const auto take = [&value, all, complaint](std::string& text) {
    const auto number = ParseNumber<T>(text);
    const bool fine = number ? *number > 0 : all && text == "all";
    value = number.value_or(0);
    return fine ? std::string{} : text + complaint;
  };
  AddValue(command, name, take, all ? "N|all" : "N", description);
}
// An option for a duration, as int64_t or std::chrono::nanoseconds, of at least `least_ns`; others get the complaint:
// their text and `complaint`.
template <typename T>
void AddDuration(CLI::App& command, const std::string& name, T& value, int64_t least_ns, const std::string& complaint,
                 const std::string& description) {
  const auto take = [&value, least_ns, complaint](std::string& text) {
    const auto ns = ParseDuration(text);
    if (!ns || *ns < least_ns) return text + complaint;
    value = T{*ns};
    return std::string{};
  };
  AddParsed(command, name, take, "TIME", description);
}
// An option for a size of `least` to `most` bytes, each of which is a whole number of its unit.
std::string SizeComplaint(const std::string& text, uint64_t least, uint64_t most);
template <typename T>
void AddSize(CLI::App& command, const std::string& name, T& value, uint64_t least, uint64_t most,
             const std::string& description) {
  AddValue(
      command, name,
      [&value, least, most](std::string& text) {
        const auto bytes = ParseSize(text);
        if (!bytes || *bytes < least || *bytes > most) return SizeComplaint(text, least, most);
        value = static_cast<T>(*bytes);
        return std::string{};
      },
      "SIZE", description);
}
// The values of the option are files that the command reads ("-": standard input), or that it writes ("-": standard
// output): what it reads is never written. Every option that names a file goes through one of these.
CLI::Option* Reads(CLI::Option* option);
CLI::Option* Writes(CLI::Option* option);
// Why the files on the command line cannot all be written: one is read, or two are one. Empty: they can.
std::string WhyNotWritten();

// What --format may be: there is none (and no --color), what every command has, the reports of `stag check`; or, of a
// list of rows, all that rows are written as, and of tests a page and JUnit's besides.
enum class Formats : uint8_t { kNone, kLines, kReports, kRows, kTests };

// Adds --format, --color, --quiet, --version.
void AddOutputOptions(CLI::App& command, CommonOptions& options, Formats formats = Formats::kLines);
// Adds --order.
void AddOrder(CLI::App& command, CommonOptions& options);
// Adds --vxlan-port and --geneve-port.
void AddTunnelPorts(CLI::App& command, CommonOptions& options);
// Adds --memory.
void AddMemory(CLI::App& command, CommonOptions& options);
// Adds --output.
void AddOutputFile(CLI::App& command, CommonOptions& options);
// Adds --mpi; `what` completes "Under mpirun: ".
void AddMpi(CLI::App& command, CommonOptions& options, const std::string& what);
// Adds --jobs.
void AddJobs(CLI::App& command, CommonOptions& options);
// Parts of AddFilters: --xid, --procedure, --status, --slower-than of `what`; the others with what they are for.
void AddRpcFilters(CLI::App& command, analysis::Filter& filter, const std::string& what);
void AddConnectionFilter(CLI::App& command, analysis::Filter& filter, const std::string& description);
void AddFrameFilter(CLI::App& command, analysis::Filter& filter, const std::string& description);
void AddTimeFilter(CLI::App& command, analysis::Filter& filter, const std::string& description);
// Adds --connection, --client, --server, --xid, --procedure, --status, --slower-than, --frames and ranges of --time,
// which options.filter gets. `rpcs`: what is chosen by RPCs ("RPCs", "connections with RPCs"); `things`: by frames and
// times. For a command with AddCaptureOptions.
void AddFilters(CLI::App& command, CommonOptions& options, const std::string& rpcs, const std::string& things);
// Adds --by, the first so many of these keys.
void AddLatencyKey(CLI::App& command, analysis::LatencyKey& by, size_t keys);
// Adds --wide.
void AddWide(CLI::App& command, CommonOptions& options);
// Adds --sort, --limit and --wide, for a list of records that `info` tells when the options before are known.
void AddListOptions(CLI::App& command, CommonOptions& options, std::function<const results::RecordInfo&()> info);
inline void AddListOptions(CLI::App& command, CommonOptions& options, const results::RecordInfo& info) {
  AddListOptions(command, options, [&info]() -> const results::RecordInfo& { return info; });
}
// Adds FILE..., --progress, --memory, --order, --clocks, --copies, the ports of tunnels and the output options.
void AddCaptureInput(CLI::App& command, CommonOptions& options, Formats formats = Formats::kLines);
// The same, and --time.
void AddCaptureOptions(CLI::App& command, CommonOptions& options, Formats formats = Formats::kLines);

// Declares one command under `app`; when it is the one on the command line, `run` is set to what does it, which returns
// the exit status.
using Run = std::function<int()>;
void AddConnections(CLI::App& app, Run& run);
void AddSummary(CLI::App& app, Run& run);
void AddReport(CLI::App& app, Run& run);
void AddTransactions(CLI::App& app, Run& run);
void AddTransport(CLI::App& app, Run& run);
void AddCredits(CLI::App& app, Run& run);
void AddLatency(CLI::App& app, Run& run);
void AddLimits(CLI::App& app, Run& run);
void AddTop(CLI::App& app, Run& run);
void AddExtract(CLI::App& app, Run& run);
void AddCapture(CLI::App& app, Run& run);
void AddSlice(CLI::App& app, Run& run);
void AddCheck(CLI::App& app, Run& run);
void AddSchema(CLI::App& app, Run& run);
void AddRules(CLI::App& app, Run& run);
void AddExplain(CLI::App& app, Run& run);
void AddDevices(CLI::App& app, Run& run);
void AddCompletion(CLI::App& app, Run& run);
void AddScrub(CLI::App& app, Run& run);
void AddServe(CLI::App& app, Run& run);
void AddGenerate(CLI::App& app, Run& run);
void AddReplay(CLI::App& app, Run& run);
void AddRelay(CLI::App& app, Run& run);
void AddProbe(CLI::App& app, Run& run);

}  // namespace stag::cli
