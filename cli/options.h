// SPDX-License-Identifier: GPL-2.0-or-later
//
// Options: what every command that reads captures has in common, and how the commands are declared to the option parser.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stag::cli {

// Exit statuses of the program.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitTrouble = 2;  // usage, environment, damaged file

enum class Format : uint8_t { kText, kJsonl };
enum class Color : uint8_t { kAuto, kAlways, kNever };

struct CommonOptions {
  Format format = Format::kText;
  Color color = Color::kAuto;
  bool quiet = false;     // no diagnostics but errors
  bool progress = false;  // a bar on stderr
  uint64_t memory = 256u << 20;  // bytes
  std::vector<std::string> files;
};

// Adds --format, --color, --quiet, --version.
void AddOutputOptions(CLI::App& command, CommonOptions& options);
// Adds FILE..., --progress, --memory and the output options.
void AddCaptureOptions(CLI::App& command, CommonOptions& options);

// Declares one command under `app`; when it is the one on the command line, `run` is set to what does it, which returns the
// exit status.
using Run = std::function<int()>;
void AddConnections(CLI::App& app, Run& run);
void AddTransactions(CLI::App& app, Run& run);
void AddExtract(CLI::App& app, Run& run);
void AddCheck(CLI::App& app, Run& run);
void AddRules(CLI::App& app, Run& run);
void AddExplain(CLI::App& app, Run& run);

}  // namespace stag::cli
