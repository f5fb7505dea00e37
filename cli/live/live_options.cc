// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_options.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/base/options.h"
#include "cli/base/output.h"

namespace stag::cli {
namespace {

// Why a file cannot be created, or empty. It is reported now, not after an hour of traffic; nothing is created yet.
std::string CannotCreate(const std::string& path) {
  if (path == "-") return "standard output has the results: a file is needed";
  if (path.ends_with(".gz")) return path + ": recordings are compressed as .zst, not as .gz";
  const bool there = ::access(path.c_str(), F_OK) == 0;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  if (there && std::filesystem::is_directory(path, ignored))
    errno = EISDIR;
  else if (::access(there ? path.c_str() : folder.c_str(), W_OK) == 0)
    return {};
  return fmt::format("cannot create {}: {}", path, std::strerror(errno));
}

}  // namespace

void AddLiveOptions(CLI::App& command, LiveOptions& options, bool judges_anyway) {
  options.command = "stag " + command.get_name();
  command
      .add_option("--transport", options.transport,
                  "iwarp: software iWARP, on TCP; or an RDMA device; or auto (default), the first device that can be\n"
                  "used, or iwarp: stag devices lists them")
      ->type_name("NAME");
  command.add_flag_callback(
      "--no-crc", [&options] { options.crc = false; },
      "Software iWARP: do not ask for a CRC (there is one all the same when the peer asks)");
  if (!judges_anyway)
    command.add_flag("--check", options.check,
                     "Judge both directions as stag check does; findings at the end, exit status 1 for errors");
  Writes(
      command.add_option("-w,--record", options.record,
                         "Write what is sent and received as RoCEv2 or iWARP frames to a new pcapng file, compressed\n"
                         "when it is called .zst"))
      ->check([](const std::string& path) { return CannotCreate(path); })
      ->type_name("FILE");
}

void AddLiveOutput(CLI::App& command, LiveOptions& options) {
  AddOutputOptions(command, options, Formats::kRows);
  AddWide(command, options);
  command.parse_complete_callback([&options] {
    if (options.check && (options.format == Format::kCsv || options.format == Format::kTable))
      throw CLI::ValidationError(
          "--format csv and table have no place for what --check finds: give text, jsonl or json");
  });
}

std::string AddressText(const endpoint::HostPort& at) {
  const bool v6 = at.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", at.host, v6 ? "]" : "", at.port);
}

std::string TakeAddress(const std::string& text, uint16_t default_port, endpoint::HostPort& to) {
  auto parsed = endpoint::ParseHostPort(text, default_port);
  if (!parsed) return parsed.error().message;
  to = *parsed;
  return {};
}

std::string TakeServer(const std::string& text, endpoint::HostPort& to) {
  std::string complaint = TakeAddress(text, 20049, to);
  if (complaint.empty() && to.host.empty()) complaint = "\"" + text + "\": the host is missing";
  return complaint;
}

}  // namespace stag::cli
