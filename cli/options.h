// SPDX-License-Identifier: GPL-2.0-or-later
//
// Options: what every command that reads captures has in common, and how the commands are declared to the option
// parser.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stag::cli {

// Exit statuses of the program.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitTrouble = 2;  // usage, environment, damaged file

enum class Format : uint8_t { kText, kJsonl, kJson, kSarif, kJunit, kHtml };
enum class Color : uint8_t { kAuto, kAlways, kNever };

struct CommonOptions {
  Format format = Format::kText;
  Color color = Color::kAuto;
  bool quiet = false;            // no diagnostics but errors
  bool progress = false;         // a bar on stderr
  uint64_t memory = 256u << 20;  // bytes
  std::vector<std::string> files;
};

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
  return command
      .add_option_function<std::string>(
          name, [](const std::string&) {}, description)
      ->check(CLI::Validator(choose, ""))
      ->type_name(words);
}

// Bytes: a number and perhaps K, M, G or T (powers of 1024); nullopt when `text` is none.
std::optional<uint64_t> ParseSize(std::string_view text);

// What --format may be: what every command has, and the reports of `stag check`.
enum class Formats : uint8_t { kLines, kReports };

// Adds --format, --color, --quiet, --version.
void AddOutputOptions(CLI::App& command, CommonOptions& options, Formats formats = Formats::kLines);
// Adds --memory.
void AddMemory(CLI::App& command, CommonOptions& options);
// Adds FILE..., --progress, --memory and the output options.
void AddCaptureOptions(CLI::App& command, CommonOptions& options, Formats formats = Formats::kLines);

// Declares one command under `app`; when it is the one on the command line, `run` is set to what does it, which returns
// the exit status.
using Run = std::function<int()>;
void AddConnections(CLI::App& app, Run& run);
void AddTransactions(CLI::App& app, Run& run);
void AddCredits(CLI::App& app, Run& run);
void AddExtract(CLI::App& app, Run& run);
void AddCheck(CLI::App& app, Run& run);
void AddRules(CLI::App& app, Run& run);
void AddExplain(CLI::App& app, Run& run);
void AddDevices(CLI::App& app, Run& run);
void AddServe(CLI::App& app, Run& run);
void AddGenerate(CLI::App& app, Run& run);
void AddReplay(CLI::App& app, Run& run);

}  // namespace stag::cli
