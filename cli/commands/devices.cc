// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag devices: the ways to reach a live peer, and which one `--transport auto` takes.
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "cli/live/device_rows.h"
#include "replay/endpoint/transports.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using Rows = std::vector<PeerDeviceRow>;

void PutText(std::string& out, const Rows& rows, const Style& style) {
  size_t name = 0, kind = 0, state = 0, netdev = 0;
  for (const PeerDeviceRow& row : rows) {
    name = std::max(name, row.name.size());
    kind = std::max(kind, row.kind.size());
    state = std::max(state, row.state.size());
    netdev = std::max(netdev, row.netdev.value_or("").size());
  }
  for (const PeerDeviceRow& row : rows) {
    Put(out, "{}{:{}}{}  {:{}}  {:{}}  {:{}}{}", style.bold, row.name, name, style.reset, row.kind, kind, row.state,
        state, row.netdev.value_or(""), netdev, netdev > 0 ? "  " : "");
    Put(out, "{}{}\n", row.usable ? "" : "cannot be used: ", row.reason);
  }
}

int RunDevices(const CommonOptions& options) {
  const endpoint::TransportList list = endpoint::ListTransports();
  Rows rows;
  for (const endpoint::TransportInfo& info : list.all) {
    const auto netdev = info.netdev.empty() ? std::nullopt : std::optional(info.netdev);
    rows.push_back({info.name, info.kind, info.state, netdev, info.usable, info.reason, rows.size() == list.automatic});
  }
  return WriteList(options, std::move(rows), [&list](std::string& out, const Rows& chosen, const Style& style) {
    PutText(out, chosen, style);
    Put(out, "auto takes {}{}{}: {}\n", style.bold, list.all[list.automatic].name, style.reset, list.why);
  });
}

}  // namespace

void AddDevices(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand("devices", "The ways to reach a live peer: RDMA devices and software iWARP");
  AddOutputOptions(*command, *options, Formats::kRows);
  AddListOptions(*command, *options, results::InfoOf<PeerDeviceRow>());
  command->callback([options, &run] { run = [options] { return RunDevices(*options); }; });
}

}  // namespace stag::cli
