// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag devices: the ways to reach a live peer, and which one `--transport auto` takes.
#include <algorithm>
#include <memory>

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "replay/endpoint/transports.h"
#include "text/json.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using endpoint::TransportInfo;
using endpoint::TransportList;

void PutJsonl(std::string& out, const TransportList& list) {
  for (size_t i = 0; i < list.all.size(); ++i) {
    const TransportInfo& info = list.all[i];
    JsonWriter json(out);
    json.BeginObject().Member("type", "transport").Member("name", info.name).Member("kind", info.kind);
    json.Member("state", info.state).TextOrNull("netdev", info.netdev).Member("usable", info.usable);
    json.Member("reason", info.reason).Member("auto", i == list.automatic).EndObject().EndLine();
  }
}

void PutText(std::string& out, const TransportList& list, const Style& style) {
  size_t name = 0, kind = 0, state = 0, netdev = 0;
  for (const TransportInfo& info : list.all) {
    name = std::max(name, info.name.size());
    kind = std::max(kind, info.kind.size());
    state = std::max(state, info.state.size());
    netdev = std::max(netdev, info.netdev.size());
  }
  for (const TransportInfo& info : list.all) {
    Put(out, "{}{:{}}{}  {:{}}  {:{}}  {:{}}{}", style.bold, info.name, name, style.reset, info.kind, kind, info.state,
        state, info.netdev, netdev, netdev > 0 ? "  " : "");
    Put(out, "{}{}\n", info.usable ? "" : "cannot be used: ", info.reason);
  }
  Put(out, "auto takes {}{}{}: {}\n", style.bold, list.all[list.automatic].name, style.reset, list.why);
}

int RunDevices(const CommonOptions& options) {
  const TransportList list = endpoint::ListTransports();
  Output output(options);
  if (options.format == Format::kJsonl) {
    PutJsonl(output.buffer(), list);
  } else {
    PutText(output.buffer(), list, output.style());
  }
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace

void AddDevices(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand("devices", "The ways to reach a live peer: RDMA devices and software iWARP");
  AddOutputOptions(*command, *options);
  command->callback([options, &run] { run = [options] { return RunDevices(*options); }; });
}

}  // namespace stag::cli
