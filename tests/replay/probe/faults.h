// SPDX-License-Identifier: GPL-2.0-or-later
//
// What bad servers do: a fault for each probe.
#pragma once

#include "tests/replay/probe/bad_server.h"

namespace stag::probe::test {

std::vector<Fault> MessageFaults();  // setup, rpc, header, credit, xid
std::vector<Fault> ChunkFaults();    // chunk, memory, nfs3

inline std::vector<Fault> AllFaults() {
  std::vector<Fault> all = MessageFaults();
  for (Fault& fault : ChunkFaults()) all.push_back(std::move(fault));
  return all;
}

}  // namespace stag::probe::test
