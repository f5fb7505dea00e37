// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag completion: completion for shells, written from what the commands declare to the parser of the command line, so
// that it cannot miss an option.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/live/probe_selectors.h"

namespace stag::cli {
namespace {

enum class Shell : uint8_t { kBash, kZsh, kFish };

struct Option {
  std::vector<std::string> names;  // "--format", "-q"
  std::string description;         // its first line, without what shells take for their own
  bool takes_value = false;
  std::vector<std::string> words;  // the values it may have, when these are few
};

struct Command {
  std::string name, description;
  std::vector<Option> options;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string Plain(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, text.find('\n')))
    if (std::string_view("'\"`$\\[]:").find(c) == std::string_view::npos) plain.push_back(c);
  return plain;
}

Option Describe(const CLI::Option& declared) {
  Option option;
  for (const std::string& name : declared.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : declared.get_lnames()) option.names.push_back("--" + name);
  option.description = Plain(declared.get_description());
  option.takes_value = declared.get_items_expected_max() > 0;
  // AddChoice makes "text|jsonl" the type.
  const std::string type = declared.get_type_name();
  if (type.find('|') != std::string::npos) option.words = Split(type, '|');
  if (type.starts_with("PROBE")) option.words = ProbeIds();
  if (type.starts_with("SELECTOR")) option.words = ProbeSelectors();
  return option;
}

std::vector<Command> Describe(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* declared : app.get_subcommands([](const CLI::App*) { return true; })) {
    Command& command = commands.emplace_back(Command{declared->get_name(), Plain(declared->get_description()), {}});
    for (const CLI::Option* option : declared->get_options())
      if (option->nonpositional()) command.options.push_back(Describe(*option));
  }
  return commands;
}

void Join(std::string& out, const std::vector<std::string>& parts, std::string_view separator) {
  for (size_t i = 0; i < parts.size(); ++i) Put(out, "{}{}", i == 0 ? "" : separator, parts[i]);
}

void PutBash(std::string& out, const std::vector<Command>& commands) {
  Put(out,
      "# bash completion for stag\n"
      "_stag() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '");
  for (const Command& command : commands) Put(out, "{} ", command.name);
  Put(out,
      "--help --version' -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$command $prev\" in\n");
  for (const Command& command : commands) {
    for (const Option& option : command.options) {
      if (option.words.empty()) continue;
      Put(out, "  ");
      for (size_t i = 0; i < option.names.size(); ++i)
        Put(out, "{}'{} {}'", i == 0 ? "" : "|", command.name, option.names[i]);
      Put(out, ") COMPREPLY=($(compgen -W '");
      Join(out, option.words, " ");
      Put(out, "' -- \"$cur\")); return ;;\n");
    }
  }
  Put(out,
      "  esac\n"
      "  [[ $cur == -* ]] || return  # names of files\n"
      "  case \"$command\" in\n");
  for (const Command& command : commands) {
    Put(out, "  {}) COMPREPLY=($(compgen -W '", command.name);
    for (const Option& option : command.options) {
      Join(out, option.names, " ");
      out.push_back(' ');
    }
    Put(out, "' -- \"$cur\")) ;;\n");
  }
  Put(out,
      "  esac\n"
      "}\n"
      "complete -o default -F _stag stag\n");
}

void PutZsh(std::string& out, const std::vector<Command>& commands) {
  Put(out,
      "#compdef stag\n"
      "local -a commands\n"
      "commands=(\n");
  for (const Command& command : commands) Put(out, "  '{}:{}'\n", command.name, command.description);
  Put(out,
      ")\n"
      "if ((CURRENT == 2)); then\n"
      "  _describe command commands\n"
      "  return\n"
      "fi\n"
      "local command=$words[2]\n"
      "shift words\n"
      "((CURRENT--))\n"
      "case $command in\n");
  for (const Command& command : commands) {
    Put(out, "  {})\n    _arguments", command.name);
    for (const Option& option : command.options) {
      for (const std::string& name : option.names) {
        Put(out, " \\\n      '*{}[{}]", name, option.description);
        if (!option.words.empty()) {
          Put(out, ":value:(");
          Join(out, option.words, " ");
          out.push_back(')');
        } else if (option.takes_value) {
          Put(out, ":value:_files");
        }
        out.push_back('\'');
      }
    }
    Put(out, " \\\n      '*:file:_files'\n    ;;\n");
  }
  Put(out, "esac\n");
}

void PutFish(std::string& out, const std::vector<Command>& commands) {
  Put(out, "# fish completion for stag\n");
  for (const Command& command : commands)
    Put(out, "complete -c stag -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name, command.description);
  for (const Command& command : commands) {
    for (const Option& option : command.options) {
      Put(out, "complete -c stag -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        Put(out, " {} {}", name.starts_with("--") ? "-l" : "-s", name.substr(name.starts_with("--") ? 2 : 1));
      if (!option.words.empty()) {
        Put(out, " -x -a '");
        Join(out, option.words, " ");
        out.push_back('\'');
      } else if (option.takes_value) {
        Put(out, " -r");
      }
      Put(out, " -d '{}'\n", option.description);
    }
  }
}

int RunCompletion(const CLI::App& app, Shell shell) {
  Output output{CommonOptions{}};
  const std::vector<Command> commands = Describe(app);
  switch (shell) {
    case Shell::kBash: PutBash(output.buffer(), commands); break;
    case Shell::kZsh: PutZsh(output.buffer(), commands); break;
    case Shell::kFish: PutFish(output.buffer(), commands); break;
  }
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace

void AddCompletion(CLI::App& app, Run& run) {
  auto shell = std::make_shared<Shell>(Shell::kBash);
  CLI::App* command = app.add_subcommand("completion", "Completion of commands and options, for bash, zsh and fish");
  const auto take = [shell](std::string& text) {
    if (text != "bash" && text != "zsh" && text != "fish") return text + " is not one of bash, zsh, fish";
    *shell = text == "bash" ? Shell::kBash : text == "zsh" ? Shell::kZsh : Shell::kFish;
    return std::string{};
  };
  AddValue(*command, "SHELL", take, "", "bash, zsh or fish")->required();
  command->footer(
      "Examples:\n"
      "  source <(stag completion bash)\n"
      "  stag completion zsh > ~/.zfunc/_stag\n"
      "  stag completion fish > ~/.config/fish/completions/stag.fish");
  command->callback([&app, shell, &run] { run = [&app, shell] { return RunCompletion(app, *shell); }; });
}

}  // namespace stag::cli
