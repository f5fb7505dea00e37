// SPDX-License-Identifier: GPL-2.0-or-later
//
// Parts of the HTML report. Each appends markup in which all that comes from captures, file names or the catalogue is
// escaped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/report/documents.h"
#include "conformance/report/ladder.h"
#include "conformance/report/reporter.h"
#include "session/rpcrdma/connection.h"

namespace stag::conformance {

struct HtmlFile {
  std::string name, trouble;
  Summary summary;                     // without rules
  std::array<uint64_t, 3> findings{};  // by Severity
};

struct HtmlConnection {
  size_t file = 0;
  session::Connection connection;
  std::array<uint64_t, 3> findings{};  // by Severity
};

// One rule broken by one side of one connection, however often.
struct HtmlEntry {
  size_t file = 0;
  Finding finding;  // the first
  uint64_t repeats = 0, last_frame = 0;
  std::shared_ptr<const Ladder> ladder;  // may be null
};

// What the parts of the page know of each other.
struct HtmlPage {
  std::string version;
  const HtmlBesides* besides = nullptr;  // may be null
  std::vector<HtmlFile> files;
  std::vector<HtmlConnection> connections;
  std::vector<HtmlEntry> entries;  // in the order of the page
  Summary total;
  std::array<uint64_t, 3> counts{};  // findings, by Severity
  Suppressed suppressed;
  uint64_t findings_left_out = 0, connections_left_out = 0;

  bool several_files() const { return files.size() > 1; }
  std::string_view title() const {
    return besides ? std::string_view(besides->title) : std::string_view("RPC-over-RDMA conformance");
  }
};

void AppendSummary(std::string& out, const HtmlPage& page);
void AppendFilter(std::string& out, const HtmlPage& page);
// `number`: of the entry in the page, from 1.
void AppendEntry(std::string& out, const HtmlPage& page, const HtmlEntry& entry, size_t number);
void AppendConnections(std::string& out, const HtmlPage& page);
void AppendRules(std::string& out, const HtmlPage& page);

// "c2-1": the connection with that number in the third file.
std::string ConnectionKey(size_t file, fabric::ConnectionId connection);
// nullptr: not among those of the page.
const HtmlConnection* FindConnection(const HtmlPage& page, size_t file, fabric::ConnectionId connection);
// "client 10.0.0.1:20049"; "client" when the connection is not among the page's.
std::string EndpointName(const HtmlPage& page, size_t file, fabric::ConnectionId connection, bool client);
std::string_view DirectionName(bool client_to_server);  // "client to server"

}  // namespace stag::conformance
