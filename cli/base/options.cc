// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/options.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "capture/file/output_file.h"
#include "cli/base/version.h"
#include "text/parse.h"
#include "text/put.h"

namespace stag::cli {

CLI::Option* AddParsed(CLI::App& command, const std::string& name, std::function<std::string(std::string&)> take,
                       const std::string& type, const std::string& description) {
  return command
      .add_option_function<std::vector<std::string>>(
          name, [](const std::vector<std::string>&) {}, description)
      ->allow_extra_args(false)  // what follows is a FILE
      ->check(CLI::Validator(std::move(take), ""))
      ->type_name(type);
}

static std::vector<std::string>& Outputs() {
  static std::vector<std::string> outputs;
  return outputs;
}

CLI::Option* Reads(CLI::Option* option) { return option->each(capture::DeclareInput); }
CLI::Option* Writes(CLI::Option* option) {
  return option->each([](const std::string& path) { Outputs().push_back(path); });
}

std::string WhyNotWritten() {
  namespace fs = std::filesystem;
  std::vector<fs::path> whole;  // of those that are, or will be, files of their own
  for (const std::string& path : Outputs()) {
    if (std::string why = capture::WhyNotWritten(path); !why.empty()) return why;
    std::error_code error;
    if (path == "-" || (fs::exists(path, error) && !fs::is_regular_file(path, error))) continue;
    const fs::path name = fs::weakly_canonical(fs::absolute(path, error), error);
    if (std::ranges::find(whole, name) != whole.end())
      return fmt::format("{} cannot have two results: give each a file of its own", path);
    whole.push_back(name);
  }
  return {};
}

CLI::Option* AddValue(CLI::App& command, const std::string& name, std::function<std::string(std::string&)> take,
                      const std::string& type, const std::string& description) {
  return command
      .add_option_function<std::string>(
          name, [](const std::string&) {}, description)
      ->check(CLI::Validator(std::move(take), ""))
      ->type_name(type);
}

// Adds --format and --color.
static void AddFormats(CLI::App& command, CommonOptions& options, Formats formats) {
  std::vector<std::pair<std::string, Format>> choices = {{"text", Format::kText}, {"jsonl", Format::kJsonl}};
  std::string description = "How results are written: text (default) or jsonl, one JSON object a line";
  if (formats == Formats::kReports) {
    choices.insert(choices.end(), {{"json", Format::kJson},
                                   {"csv", Format::kCsv},
                                   {"sarif", Format::kSarif},
                                   {"junit", Format::kJunit},
                                   {"html", Format::kHtml}});
    description +=
        "; json, one document; csv, with a line of names; sarif, for code scanning; junit, for continuous "
        "integration";
  }
  if (formats >= Formats::kRows) {
    choices.insert(choices.end(), {{"json", Format::kJson}, {"csv", Format::kCsv}, {"table", Format::kTable}});
    description += "; json, one array; csv, with a line of names; table, a line each, in columns";
  }
  if (formats == Formats::kTests) {
    choices.insert(choices.end(), {{"junit", Format::kJunit}, {"html", Format::kHtml}});
    description += "; junit, for continuous integration; html, one page";
  }
  AddChoice<Format>(command, "--format", options.format, std::move(choices), description);
  AddChoice<Color>(command, "--color", options.color,
                   {{"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}},
                   "Colours in text: auto (default: on a terminal, unless NO_COLOR is set)");
}

void AddOutputOptions(CLI::App& command, CommonOptions& options, Formats formats) {
  if (formats != Formats::kNone) AddFormats(command, options, formats);
  command.add_flag("-q,--quiet", options.quiet, "Say nothing on stderr but errors");
  command.set_version_flag("--version", kVersionText, "Print the version and exit");
}

// An option with the UDP ports of a kind of tunnel, which replace the one that is known.
static void AddPorts(CLI::App& command, const std::string& name, std::array<uint16_t, 4>& ports,
                     const std::string& description) {
  const auto take = [&ports, given = size_t{0}](std::string& text) mutable {
    const auto port = ParseNumber<uint16_t>(text);
    if (port.value_or(0) == 0) return text + " is not a UDP port";
    if (given == ports.size()) return text + " is one port too many: " + std::to_string(given) + " can be given";
    if (given == 0) ports = {};
    ports[given++] = *port;
    return std::string{};
  };
  AddParsed(command, name, take, "PORT", description);
}

void AddCaptureInput(CLI::App& command, CommonOptions& options, Formats formats) {
  Reads(command.add_option("FILE", options.files,
                           "Captures: pcap, pcapng or ERF, plain, .gz or .zst; - is standard input"))
      ->required()
      ->type_name("");
  AddOutputOptions(command, options, formats);
  command.add_flag("--progress", options.progress, "Show a bar on stderr when it is a terminal and the work is long");
  AddMemory(command, options);
  AddOrder(command, options);
  AddChoice<Clocks>(command, "--clocks", options.clocks,
                    {{"auto", Clocks::kAuto}, {"align", Clocks::kAlign}, {"null", Clocks::kNull}},
                    "A capture with two clocks: align their times, null those of the second, or auto (default): align "
                    "where cause and effect say to within a millisecond how far apart they are");
  AddChoice<bool>(
      command, "--copies", options.keep_copies, {{"auto", false}, {"keep", true}},
      "A packet that was captured more than once, as by a mirror of both sides: auto (default), its first copy "
      "counts; keep, each does");
  AddTunnelPorts(command, options);
}

void AddOrder(CLI::App& command, CommonOptions& options) {
  AddChoice<Order>(command, "--order", options.order,
                   {{"auto", Order::kAuto}, {"file", Order::kFile}, {"time", Order::kTime}},
                   "Frames whose times go back: auto (default), they are taken in order of their times, as far as a "
                   "second reaches, unless the clock was set; file, as they stand; time, in order of their times, as "
                   "far as memory reaches");
}

void AddTunnelPorts(CLI::App& command, CommonOptions& options) {
  AddPorts(command, "--vxlan-port", options.vxlan_ports,
           "UDP port of VXLAN, in place of 4789 and 8472; can be repeated");
  AddPorts(command, "--geneve-port", options.geneve_ports, "UDP port of GENEVE, in place of 6081; can be repeated");
}

void AddCaptureOptions(CLI::App& command, CommonOptions& options, Formats formats) {
  AddCaptureInput(command, options, formats);
  AddChoice<bool>(
      command, "--time", options.erspan_time, {{"capture", false}, {"erspan", true}},
      "The time of a frame: that of the capture (default), or that which ERSPAN type III gives it, where it "
      "has one");
}

void AddOutputFile(CLI::App& command, CommonOptions& options) {
  Writes(command.add_option("-o,--output", options.output, "Write the results to this file, not to stdout"))
      ->type_name("FILE");
}

void AddMpi(CLI::App& command, CommonOptions& options, const std::string& what) {
  command.add_flag("--mpi", options.mpi, "Under mpirun: " + what);
}

std::string SizeComplaint(const std::string& text, uint64_t least, uint64_t most) {
  const auto word = [](uint64_t bytes) {
    constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
    size_t unit = 0;
    for (; unit < 4 && bytes % 1024 == 0; ++unit) bytes /= 1024;
    return std::to_string(bytes) + kUnits[unit];
  };
  if (most == UINT64_MAX) return fmt::format("{} is not a size of at least {}, like 512M or 2G", text, word(least));
  return fmt::format("{} is not a size from {} to {}", text, word(least), word(most));
}

void AddMemory(CLI::App& command, CommonOptions& options) {
  AddSize(command, "--memory", options.memory, 1u << 20, UINT64_MAX,
          "Cap on memory for state, e.g. 256M (default) or 1G; what is dropped is reported");
}

void AddJobs(CLI::App& command, CommonOptions& options) {
  static constexpr uint32_t kMost = 64;
  const auto check_jobs = [&options](std::string& text) {
    const auto jobs = ParseNumber<uint32_t>(text);
    if (!jobs || *jobs > kMost)
      return text + " is not a number from 1 to " + std::to_string(kMost) + ", nor 0, for one a processor";
    options.jobs = *jobs > 0 ? *jobs : std::clamp(std::thread::hardware_concurrency(), 1u, kMost);
    return std::string{};
  };
  AddValue(command, "--jobs,-j", check_jobs, "N",
           "Threads at most that share the connections of a capture (default: 1; 0: one a processor); the output is "
           "the same");
}

}  // namespace stag::cli
