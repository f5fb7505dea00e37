// SPDX-License-Identifier: GPL-2.0-or-later
//
// make_evidence DIRECTORY: writes the evidence captures of all rules (pcaps/rules). See README.md.
#include <cstdio>
#include <cstdlib>

#include "pcaps/generator/evidence.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_evidence DIRECTORY\n", stderr);
    return 2;
  }
  if (const auto written = stag::evidence::WriteAll(argv[1]); !written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 2;
  }
  return EXIT_SUCCESS;
}
