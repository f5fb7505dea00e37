// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/probe.h"

namespace stag::probe::client {

std::span<const ClientProbe> ClientCatalogue() {
  static const std::vector<ClientProbe> all = [] {
    std::vector<ClientProbe> probes;
    for (const auto topic : {AcceptProbes(), ErrorProbes(), GrantProbes(), AnswerProbes(), FormProbes(),
                             MessageProbes(), RemoteProbes(), BackwardProbes(), CloseProbes()})
      probes.insert(probes.end(), topic.begin(), topic.end());
    return probes;
  }();
  return all;
}

const Probe* FindAny(std::string_view id) {
  for (const ClientProbe& probe : ClientCatalogue())
    if (probe.id == id) return &probe;
  return Find(id);
}

}  // namespace stag::probe::client
