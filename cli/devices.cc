// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag devices: the ways to reach a live peer, and which one `--transport auto` takes.
#include <algorithm>
#include <memory>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"
#include "replay/endpoint/transports.h"

namespace stag::cli {
namespace {

using replay::TransportInfo;
using replay::TransportList;

void PutJsonl(Buffer& out, const TransportList& list) {
  for (size_t i = 0; i < list.all.size(); ++i) {
    const TransportInfo& info = list.all[i];
    Put(out, "{\"type\":\"transport\",\"name\":");
    PutJson(out, std::string_view(info.name));
    Put(out, ",\"kind\":");
    PutJson(out, std::string_view(info.kind));
    Put(out, ",\"state\":");
    PutJson(out, std::string_view(info.state));
    Put(out, ",\"netdev\":");
    if (info.netdev.empty()) {
      Put(out, "null");
    } else {
      PutJson(out, std::string_view(info.netdev));
    }
    Put(out, ",\"usable\":{},\"reason\":", info.usable);
    PutJson(out, std::string_view(info.reason));
    Put(out, ",\"auto\":{}}}\n", i == list.automatic);
  }
}

void PutText(Buffer& out, const TransportList& list, const Style& style) {
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
  const TransportList list = replay::ListTransports();
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
