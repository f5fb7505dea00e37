// SPDX-License-Identifier: GPL-2.0-or-later
//
// The expert infos: our own, and one per rule of the conformance catalogue. Wireshark keeps pointers into these tables,
// so they live as long as the plugin.
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "plugin/fields.h"

namespace stag::plugin {
namespace {

constexpr size_t kSeverityCount = 3;
int GlobalSeverity(conformance::Severity severity) {
  switch (severity) {
    case conformance::Severity::kError: return PI_ERROR;
    case conformance::Severity::kWarning: return PI_WARN;
    case conformance::Severity::kNote: break;
  }
  return PI_NOTE;
}

// One expert info per rule and severity, all of a rule under one filter name: a finding may differ in severity from its
// rule (the profile decides), and Wireshark ties the severity to the expert info.
struct RuleExperts {
  std::vector<std::string> names, titles;
  std::vector<std::array<expert_field, kSeverityCount>> ids;
  std::vector<ei_register_info> table;
};
RuleExperts rule_experts;

ei_register_info Expert(expert_field* id, const char* name, int group, int severity, const char* summary) {
  return {id, {name, group, severity, summary, EXPFILL}};
}

void RegisterRules(expert_module_t* module) {
  const auto catalogue = conformance::Catalogue();
  rule_experts.ids.assign(catalogue.size(), {expert_field EI_INIT, expert_field EI_INIT, expert_field EI_INIT});
  rule_experts.names.reserve(catalogue.size());
  rule_experts.titles.reserve(catalogue.size());
  rule_experts.table.reserve(catalogue.size() * kSeverityCount);
  for (size_t i = 0; i < catalogue.size(); ++i) {
    std::string name = "rpcrdma.rule.";
    for (const char c : catalogue[i].id) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    rule_experts.names.push_back(std::move(name));
    rule_experts.titles.emplace_back(catalogue[i].title);
    // The rule's own severity last: that is what Wireshark's list of expert infos shows for the name.
    for (const bool own : {false, true}) {
      for (size_t severity = 0; severity < kSeverityCount; ++severity) {
        if ((severity == static_cast<size_t>(catalogue[i].severity)) != own) continue;
        rule_experts.table.push_back(Expert(&rule_experts.ids[i][severity], rule_experts.names[i].c_str(), PI_PROTOCOL,
                                            GlobalSeverity(static_cast<conformance::Severity>(severity)),
                                            rule_experts.titles[i].c_str()));
      }
    }
  }
  expert_register_field_array(module, rule_experts.table.data(), static_cast<int>(rule_experts.table.size()));
}

}  // namespace

void RegisterExperts() {
  static ei_register_info table[] = {
      Expert(&ei.malformed, "rpcrdma.malformed", PI_PROTOCOL, PI_ERROR, "The transport header cannot be decoded"),
      Expert(&ei.unsupported, "rpcrdma.unsupported", PI_UNDECODED, PI_NOTE, "This version is not decoded"),
      Expert(&ei.truncated, "rpcrdma.truncated", PI_UNDECODED, PI_NOTE, "The message was cut by the capture"),
      Expert(&ei.lost, "rpcrdma.lost", PI_SEQUENCE, PI_NOTE, "Packets of the message are not in the capture"),
      Expert(&ei.gap, "rpcrdma.gap_before", PI_SEQUENCE, PI_NOTE, "Packets before this one are not in the capture"),
      Expert(&ei.retransmission, "rpcrdma.transport.again", PI_SEQUENCE, PI_NOTE, "The packet was sent before"),
      Expert(&ei.changed, "rpcrdma.transport.differs", PI_SEQUENCE, PI_WARN,
             "The packet was sent before with other bytes"),
      Expert(&ei.repeated_response, "rpcrdma.transport.answered_again", PI_SEQUENCE, PI_NOTE,
             "The RDMA Read Response was sent before"),
      Expert(&ei.rnr_stall, "rpcrdma.transport.waited", PI_SEQUENCE, PI_WARN,
             "The sender had to wait for a receive of the other side"),
      Expert(&ei.nak, "rpcrdma.refused", PI_SEQUENCE, PI_WARN, "The receiver refused an operation"),
      Expert(&ei.incomplete, "rpcrdma.incomplete", PI_UNDECODED, PI_NOTE, "RPC incomplete: bytes not in the capture"),
      Expert(&ei.undecodable, "rpcrdma.not_rebuilt", PI_UNDECODED, PI_NOTE,
             "RPC not rebuilt: it cannot be told where the chunks belong"),
      Expert(&ei.over_limit, "rpcrdma.over_limit", PI_UNDECODED, PI_NOTE, "RPC not kept: memory limit reached"),
      Expert(&ei.orphan, "rpcrdma.orphan", PI_SEQUENCE, PI_CHAT, "The Call is not in the capture"),
      Expert(&ei.repeated, "rpcrdma.repeated", PI_SEQUENCE, PI_NOTE, "The message was sent before"),
      Expert(&ei.out_of_order, "rpcrdma.out_of_order", PI_SEQUENCE, PI_CHAT, "Held back until earlier packets came"),
      Expert(&ei.unknown_program, "rpcrdma.unknown_program", PI_UNDECODED, PI_CHAT,
             "Wireshark does not know the RPC program"),
      Expert(&ei.two_clocks, "rpcrdma.two_clocks", PI_SEQUENCE, PI_NOTE, "The capture has two clocks"),
      Expert(&ei.no_segment, "rpcrdma.no_segment", PI_SEQUENCE, PI_CHAT, "No known segment holds these bytes"),
  };
  expert_module_t* module = expert_register_protocol(protocol);
  expert_register_field_array(module, table, static_cast<int>(std::size(table)));
  RegisterRules(module);
}

expert_field* ExpertOf(const conformance::RuleInfo& rule, conformance::Severity severity) {
  const auto index = static_cast<size_t>(&rule - conformance::Catalogue().data());
  return &rule_experts.ids[index][static_cast<size_t>(severity)];
}

}  // namespace stag::plugin
