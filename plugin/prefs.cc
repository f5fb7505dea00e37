// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/prefs.h"

#include "conformance/engine/engine.h"
#include "plugin/fields.h"

namespace stag::plugin {
namespace {

const enum_val_t kProfiles[] = {
    {"auto", "Automatic", static_cast<int>(conformance::Profile::kAuto)},
    {"rfc8166", "RFC 8166", static_cast<int>(conformance::Profile::kRfc8166)},
    {"rfc5666bis", "rfc5666bis", static_cast<int>(conformance::Profile::kRfc5666bis)},
    {"rfc5666", "RFC 5666", static_cast<int>(conformance::Profile::kRfc5666)},
    {nullptr, nullptr, 0},
};

// Wireshark's own heuristics, and whether they were on before we switched them off.
struct Builtin {
  const char* name;
  bool switched_off = false;
};
Builtin builtins[] = {{"rpcrdma_infiniband"}, {"rpcrdma_iwarp"}};

}  // namespace

void RegisterPreferences() {
  module_t* module = prefs_register_protocol(protocol, nullptr);
  prefs_register_bool_preference(
      module, "replace_builtin", "Replace the built-in RPC-over-RDMA dissector",
      "Switches off Wireshark's own RPCoRDMA heuristics, so that every message is shown once",
      &preferences.replace_builtin);
  prefs_register_bool_preference(module, "reassemble", "Rebuild RPC messages",
                                 "Puts RPC messages together from chunks moved by RDMA and from messages of several "
                                 "packets, and passes them to the RPC dissector",
                                 &preferences.reassemble);
  prefs_register_bool_preference(module, "check_conformance", "Check conformance",
                                 "Shows each violation of the specifications as an expert info", &preferences.check);
  prefs_register_enum_preference(
      module, "profile", "Conformance profile",
      "The document that traffic is held against. Automatic: RFC 8166, unless both peers prove "
      "to follow an older one",
      &preferences.profile, kProfiles, false);
  prefs_register_uint_preference(module, "memory", "Memory for rebuilt messages (MiB)",
                                 "How much of the rebuilt messages of a file is kept for display", 10,
                                 &preferences.memory_mib);
  prefs_register_uint_preference(module, "state_memory", "Memory for connections and RPCs under way (MiB)",
                                 "How much is remembered of RPCs that have no answer yet; of connections and packets a "
                                 "quarter as much. Beyond it the oldest are given up",
                                 10, &preferences.state_mib);
  prefs_register_range_preference(module, "service_ports", "Additional service ports",
                                  "TCP ports (iWARP) and ports of the RDMA connection manager's service (InfiniBand, "
                                  "RoCE) whose connections are RPC-over-RDMA. Port 20049, and connections that show "
                                  "what they are, need not be named",
                                  &preferences.service_ports, 65535);
  prefs_register_range_preference(module, "queue_pairs", "Additional queue pairs",
                                  "Queue pair numbers, of either end, whose connections are RPC-over-RDMA",
                                  &preferences.queue_pairs, 0xffffff);
}

void ApplyReplaceBuiltin() {
  const bool replace = preferences.replace_builtin && proto_is_protocol_enabled(find_protocol_by_id(protocol));
  for (Builtin& builtin : builtins) {
    heur_dtbl_entry_t* entry = find_heur_dissector_by_unique_short_name(builtin.name);
    if (!entry) continue;
    if (replace && entry->enabled) {
      entry->enabled = false;
      builtin.switched_off = true;
    } else if (!replace && builtin.switched_off) {
      entry->enabled = true;
      builtin.switched_off = false;
    }
  }
}

}  // namespace stag::plugin
