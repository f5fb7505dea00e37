// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace stag::cli {

// This process's command line, as one gives it to a shell: "stag report 'my mount.pcap'". "stag" where the system does
// not tell.
std::string CommandLine();

}  // namespace stag::cli
