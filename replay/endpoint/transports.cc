// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/transports.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "replay/endpoint/soft_iwarp.h"
#include "replay/endpoint/verbs.h"

namespace stag::endpoint {
namespace {

namespace fs = std::filesystem;

// The first line of a small file; empty when it cannot be read.
std::string Line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// "4: ACTIVE" -> "active".
std::string Word(std::string text) {
  text.erase(0, std::min(text.find(": ") + 2, text.size()));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::vector<fs::path> Folders(const fs::path& in) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(in, error), end; !error && it != end; it.increment(error)) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string NetDevice(const fs::path& device, const fs::path& port) {
  std::string name = Line(port / "gid_attrs" / "ndevs" / "0");
  if (const auto of_device = Folders(device / "device" / "net"); name.empty() && !of_device.empty())
    name = of_device.front().filename();
  return name;
}

TransportInfo Describe(const fs::path& device) {
  TransportInfo info;
  info.name = device.filename();
  const bool rnic = Line(device / "node_type").starts_with("4:");
  for (const fs::path& port : Folders(device / "ports")) {
    if (info.state == "active") break;
    info.state = Word(Line(port / "state"));
    info.kind = rnic ? "iWARP" : Line(port / "link_layer") == "InfiniBand" ? "InfiniBand" : "RoCE";
    info.netdev = NetDevice(device, port);
  }
  if (info.kind.empty()) info.kind = rnic ? "iWARP" : "InfiniBand";
  if (info.state.empty()) info.state = "unknown";
  info.usable = info.state == "active" && VerbsBuilt();
  info.reason = info.state != "active" ? "no port of it is active"
                : info.usable          ? "queue pairs through verbs"
                                       : "this stag was built without libibverbs and librdmacm";
  return info;
}

}  // namespace

std::string DevicesFolder() {
  const char* const sys = std::getenv("SYSFS_PATH");
  return std::string(sys ? sys : "/sys") + "/class/infiniband";
}

TransportList ListTransports(const std::string& devices) {
  TransportList list;
  list.all.push_back({"iwarp", "software iWARP", "ready", "", true, "runs over TCP, without a device or privileges"});
  for (const fs::path& device : Folders(devices)) list.all.push_back(Describe(device));
  list.why = list.all.size() == 1 ? "there is no RDMA device" : "no RDMA device can be used";
  for (size_t i = 1; i < list.all.size() && list.automatic == 0; ++i) {
    if (!list.all[i].usable) continue;
    list.automatic = i;
    list.why = "the first RDMA device with an active port";
  }
  return list;
}

Result<std::unique_ptr<Transport>> OpenTransport(std::string_view name) {
  const TransportList list = ListTransports();
  if (name == "auto") name = list.all[list.automatic].name;
  for (const TransportInfo& info : list.all) {
    if (info.name != name) continue;
    if (!info.usable) return Fail(info.name + " cannot be used: " + info.reason);
    if (&info == &list.all.front()) return MakeSoftIwarp();
    return MakeVerbs(info.name);
  }
  return Fail("there is no transport \"" + std::string(name) + "\"; `stag devices` lists them");
}

}  // namespace stag::endpoint
