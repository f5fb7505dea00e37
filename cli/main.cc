// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag: the command-line program. Declares the commands, parses the options and runs one command; each is in a file of
// its own. Results go to stdout, diagnostics to stderr. Exit status: 0 fine, 1 findings, 2 usage or environment.
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/suggestion.h"
#include "cli/base/version.h"

namespace stag::cli {
namespace {

// What to try first.
constexpr char kFirst[] =
    "with a capture, try:\n"
    "  stag mount.pcapng               what is wrong, and what there is, on one screen\n"
    "  stag connections mount.pcapng   who talked to whom, and on what terms\n"
    "  stag check mount.pcapng         which side broke which sentence of the specification\n"
    "  stag transactions mount.pcapng  every RPC\n"
    "without one:\n"
    "  stag capture --list             the devices that can be captured from\n"
    "  stag --help                     all commands";

struct Declaration {
  std::string_view name;
  void (*add)(CLI::App& app, Run& run);
};
// In the order of the help.
constexpr Declaration kDeclarations[] = {
    {"summary", AddSummary},
    {"report", AddReport},
    {"connections", AddConnections},
    {"transactions", AddTransactions},
    {"credits", AddCredits},
    {"transport", AddTransport},
    {"latency", AddLatency},
    {"limits", AddLimits},
    {"top", AddTop},
    {"extract", AddExtract},
    {"check", AddCheck},
    {"scrub", AddScrub},
    {"capture", AddCapture},
    {"slice", AddSlice},
    {"rules", AddRules},
    {"explain", AddExplain},
    {"schema", AddSchema},
    {"devices", AddDevices},
    {"serve", AddServe},
    {"generate", AddGenerate},
    {"replay", AddReplay},
    {"relay", AddRelay},
    {"probe", AddProbe},
    {"completion", AddCompletion},
};

const Declaration* FindDeclaration(std::string_view name) {
  const auto found = std::ranges::find(kDeclarations, name, &Declaration::name);
  return found == std::end(kDeclarations) ? nullptr : found;
}

// Declares the command that is named; all of them where none is, and for what is about all of them. Declarations of all
// take longer than to look at a small capture.
void AddCommands(CLI::App& app, Run& run, const std::vector<std::string>& words) {
  const Declaration* const named = words.empty() ? nullptr : FindDeclaration(words.front());
  if (named && named->add != AddCompletion) return named->add(app, run);
  for (const Declaration& command : kDeclarations) command.add(app, run);
}

// A word that looks like what was mistyped; empty: none does.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  const auto used = app.get_subcommands();
  const CLI::App& at = used.empty() ? app : *used.front();
  std::string wrong = used.empty() ? words.front() : "";
  for (const std::string& word : at.remaining()) {
    if (wrong.empty() && word.starts_with("-")) wrong = word;
  }
  std::vector<std::string> right;
  if (wrong.starts_with("-")) {
    wrong = wrong.substr(0, wrong.find('='));
    for (const CLI::Option* option : at.get_options()) {
      for (const std::string& name : option->get_lnames()) right.push_back("--" + name);
    }
  } else {
    for (const CLI::App* command : app.get_subcommands({})) right.push_back(command->get_name());
  }
  return ClosestWord(wrong, right);
}

void ComplainOfUsage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto used = app.get_subcommands();
  if (words.empty()) return Complain("which command? {}", kFirst);
  if (used.empty()) {
    Complain("there is no command or option {}", words.front());
  } else {
    Complain("{}", error.what());
  }
  if (const std::string word = Suggestion(app, words); !word.empty()) Complain("did you mean {}?", word);
  Complain("try: stag {}--help", used.empty() ? "" : used.front()->get_name() + " ");
}

// Whether the first word names a file, and no command.
bool BeginsWithFile(const std::vector<std::string>& words) {
  return !words.empty() && !words.front().starts_with("-") && !FindDeclaration(words.front()) && IsFile(words.front());
}

}  // namespace
}  // namespace stag::cli

int main(int argc, char** argv) {
  using namespace stag::cli;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as EPIPE, which ends the program quietly
  std::signal(SIGXFSZ, SIG_IGN);  // and a file that may not grow as EFBIG

  CLI::App app{"Stag: sees, checks and rebuilds RPC-over-RDMA (NFS/RDMA) in RoCE, InfiniBand and iWARP captures",
               "stag"};
  app.require_subcommand(1);
  app.set_version_flag("--version", kVersionText, "Print the version and exit");
  app.footer(
      "Examples:\n"
      "  stag summary mount.pcapng               what is wrong, on one screen; stag mount.pcapng does the same\n"
      "  stag report mount.pcapng > report.html  all of it as one page, for a bug report\n"
      "  stag connections mount.pcapng           who talked to whom, and on what terms\n"
      "  stag transactions mount.pcapng | less   every RPC\n"
      "  stag latency mount.pcapng               where the time goes\n"
      "  stag limits mount.pcapng                what each connection is limited by\n"
      "  stag credits mount.pcapng               credits over time, and who overran them\n"
      "  stag transport mount.pcapng             what the fabric lost, repeated and held up\n"
      "  stag check mount.pcapng                 which side broke which sentence of the specification\n"
      "  stag explain RDLIST-003                 what a rule asks, and why\n"
      "\nstag COMMAND --help, or stag help COMMAND, tells more. Exit status: 0 fine, 1 findings, 2 usage or "
      "environment.");
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool file_alone = BeginsWithFile(words);
  if (file_alone) {
    words.insert(words.begin(), "summary");
  } else if (!words.empty() && words.front() == "help") {  // stag help COMMAND is stag COMMAND --help
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  Run run;
  AddCommands(app, run, words);
  try {
    std::vector<std::string> from_the_last(words.rbegin(), words.rend());
    app.parse(from_the_last);
  } catch (const CLI::Success& e) {  // --help, --version
    if (!words.front().starts_with("-") && app.get_subcommands().empty()) {
      ComplainOfUsage(app, e, words);
      return kExitTrouble;
    }
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    ComplainOfUsage(app, e, words);
    return kExitTrouble;
  }
  try {
    if (const std::string why = WhyNotWritten(); !why.empty()) return ComplainText(why), kExitTrouble;
    const int status = FinishOutputs(run());
    if (file_alone && status != kExitTrouble)
      Complain(
          "what else there is: stag check {0} (what breaks the specification), stag connections {0}, stag transactions "
          "{0}",
          words[1]);
    return status;
  } catch (const std::bad_alloc&) {
    Complain("out of memory; try a smaller --memory");
  } catch (const std::exception& e) {
    Complain("{}", e.what());
  }
  return kExitTrouble;
}
