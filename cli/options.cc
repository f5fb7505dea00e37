// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <map>

#include "cli/version.h"

namespace stag::cli {

void AddOutputOptions(CLI::App& command, CommonOptions& options) {
  static const std::map<std::string, Format> kFormats = {{"text", Format::kText}, {"jsonl", Format::kJsonl}};
  static const std::map<std::string, Color> kColors = {
      {"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}};
  command.add_option("--format", options.format, "How results are written: text (default) or jsonl, one JSON object a line")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("text|jsonl");
  command.add_option("--color", options.color, "Colours in text: auto (default: on a terminal, unless NO_COLOR is set)")
      ->transform(CLI::CheckedTransformer(kColors).description(""))
      ->type_name("auto|always|never");
  command.add_flag("-q,--quiet", options.quiet, "Say nothing on stderr but errors");
  command.set_version_flag("--version", kVersionText, "Print the version and exit");
}

void AddCaptureOptions(CLI::App& command, CommonOptions& options) {
  command.add_option("FILE", options.files, "Captures: pcap or pcapng, plain, .gz or .zst; - is standard input")
      ->required()
      ->type_name("");
  AddOutputOptions(command, options);
  command.add_flag("--progress", options.progress, "Show a bar on stderr when it is a terminal and the work is long");
  command.add_option("--memory", options.memory, "Cap on memory for state, e.g. 256M (default) or 1G; what is dropped is reported")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE")
      ->check(CLI::Validator(
          [](std::string& text) {
            uint64_t bytes = 0;
            return CLI::detail::lexical_cast(text, bytes) && bytes >= 1u << 20 ? std::string{}
                                                                                : std::string{"must be at least 1M"};
          },
          ""));
}

}  // namespace stag::cli
