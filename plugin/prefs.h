// SPDX-License-Identifier: GPL-2.0-or-later
//
// The protocol's preferences (Edit > Preferences > Protocols > RPC-over-RDMA; "-o rpcrdma.NAME:VALUE" on the command
// line). A change makes Wireshark dissect the file again, from the init routine on.
#pragma once

#include "plugin/compat.h"

namespace stag::plugin {

struct Preferences {
  WsBool replace_builtin = true;  // rpcrdma.replace_builtin
  WsBool reassemble = true;       // rpcrdma.reassemble
  WsBool check = true;            // rpcrdma.check_conformance
  int profile = 0;                // rpcrdma.profile: a conformance::Profile
  unsigned memory_mib = 2048;     // rpcrdma.memory: for rebuilt messages of one file, MiB
  unsigned state_mib = 256;       // rpcrdma.state_memory: for RPCs under way; for other state, a part of it; MiB
  // Connections that are RPC-over-RDMA whatever they look like; null: none.
  range_t* service_ports = nullptr;  // rpcrdma.service_ports: TCP ports, ports of the RDMA IP CM service
  range_t* queue_pairs = nullptr;    // rpcrdma.queue_pairs
};
inline Preferences preferences;

void RegisterPreferences();

// Switches Wireshark's own RPC-over-RDMA heuristics off, or back to what they were. To be called at the start of each
// dissection of a file: preferences, and the lists of disabled protocols, have been read by then.
void ApplyReplaceBuiltin();

}  // namespace stag::plugin
