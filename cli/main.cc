// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag: the command-line program. Declares the commands, parses the options and runs one command; each is in a file of
// its own. Results go to stdout, diagnostics to stderr. Exit status: 0 fine, 1 findings, 2 usage or environment.
#include <csignal>
#include <exception>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"

int main(int argc, char** argv) {
  using namespace stag::cli;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as EPIPE, which ends the program quietly

  CLI::App app{"Stag: sees, checks and rebuilds RPC-over-RDMA (NFS/RDMA) in RoCE, InfiniBand and iWARP captures",
               "stag"};
  app.require_subcommand(1);
  app.set_version_flag("--version", kVersionText, "Print the version and exit");
  app.footer(
      "Examples:\n"
      "  stag connections mount.pcapng           who talked to whom, and on what terms\n"
      "  stag transactions mount.pcapng | less   every RPC\n"
      "  stag credits mount.pcapng               credits over time, and who overran them\n"
      "  stag check mount.pcapng                 which side broke which sentence of the specification\n"
      "  stag explain RDLIST-003                 what a rule asks, and why\n"
      "\nstag COMMAND --help tells more. Exit status: 0 fine, 1 findings, 2 usage or environment.");
  Run run;
  AddConnections(app, run);
  AddTransactions(app, run);
  AddCredits(app, run);
  AddExtract(app, run);
  AddCheck(app, run);
  AddCapture(app, run);
  AddRules(app, run);
  AddExplain(app, run);
  AddDevices(app, run);
  AddServe(app, run);
  AddGenerate(app, run);
  AddReplay(app, run);
  AddRelay(app, run);
  AddProbe(app, run);
  AddCompletion(app, run);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const auto used = app.get_subcommands();
    if (!used.empty()) {
      Complain("{}", e.what());
    } else if (argc > 1) {
      Complain("there is no command or option {}", argv[1]);
    } else {
      Complain("which command?");
    }
    Complain("try: stag {}--help", used.empty() ? "" : used.front()->get_name() + " ");
    return kExitTrouble;
  }
  try {
    return run();
  } catch (const std::bad_alloc&) {
    Complain("out of memory; try a smaller --memory");
  } catch (const std::exception& e) {
    Complain("{}", e.what());
  }
  return kExitTrouble;
}
