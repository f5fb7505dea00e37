// SPDX-License-Identifier: GPL-2.0-or-later
//
// The options that the commands with a live peer have in common.
#pragma once

#include <string>

#include "cli/base/common_options.h"
#include "replay/endpoint/endpoint.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of the library
class App;
}

namespace stag::cli {

struct LiveOptions : CommonOptions {
  std::string transport = "auto";
  bool check = false;
  bool crc = true;      // software iWARP: ask for CRC32C
  std::string record;   // a file; empty: none
  std::string command;  // "stag serve"
};

// Adds --transport, --no-crc, --record and, unless the command judges anyway, --check. The output options are the
// command's own.
void AddLiveOptions(CLI::App& command, LiveOptions& options, bool judges_anyway = false);

// The output options of a command whose results are rows.
void AddLiveOutput(CLI::App& command, LiveOptions& options);

// "10.0.0.1:20049", "[2001:db8::1]:20049".
std::string AddressText(const endpoint::HostPort& at);
// For AddParsed: HOST[:PORT] or [ADDR]:PORT.
std::string TakeAddress(const std::string& text, uint16_t default_port, endpoint::HostPort& to);
// The same for a server to connect to: the host must be there, the port is that of NFS/RDMA by default.
std::string TakeServer(const std::string& text, endpoint::HostPort& to);

}  // namespace stag::cli
