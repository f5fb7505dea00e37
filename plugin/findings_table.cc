// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table of findings (tshark -z rpcrdma,findings): each rule that was broken, how often, and where first.
#include <cstring>

#include "plugin/fields.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

enum Column : unsigned { kRule, kSeverity, kCount, kFirst, kTitle, kColumns };

stat_tap_table_item columns[] = {
    {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Rule", "%-14s"},   {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Severity", "%-8s"},
    {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Count", "%7u"},     {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "First frame", "%11u"},
    {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Rule asks", "%s"},
};

tap_param parameters[] = {{PARAM_FILTER, "filter", "Filter", nullptr, true}};

void Init(stat_tap_table_ui* ui) {
  constexpr char kName[] = "RPC-over-RDMA findings";
  stat_tap_table* table = stat_tap_find_table(ui, kName);
  if (table) {
    if (ui->stat_tap_reset_table_cb) ui->stat_tap_reset_table_cb(table);
    return;
  }
  stat_tap_add_table(ui, stat_tap_init_table(kName, kColumns, 0, nullptr));
}

// Rules stay where they are, without findings.
void Reset(stat_tap_table* table) {
  for (unsigned row = 0; row < table->num_elements; ++row) {
    stat_tap_table_item_type* count = stat_tap_get_field_data(table, row, kCount);
    count->value.uint_value = 0;
    stat_tap_set_field_data(table, row, kCount, count);
  }
}

const char* SeverityText(conformance::Severity severity) { return conformance::SeverityName(severity).data(); }

tap_packet_status FindingPacket(void* tables, packet_info* pinfo, epan_dissect_t*, const void* record, tap_flags_t) {
  const FindingRecord* finding = static_cast<const TapData*>(record)->finding;
  if (!finding) return TAP_PACKET_DONT_REDRAW;
  auto* data = static_cast<stat_data_t*>(tables);
  stat_tap_table* table = g_array_index(data->stat_tap_data->tables, stat_tap_table*, 0);
  const char* rule = finding->rule->id.data();  // text of the catalogue: static, and ends with a NUL
  const char* severity = SeverityText(finding->severity);
  for (unsigned row = 0; row < table->num_elements; ++row) {
    stat_tap_table_item_type* id = stat_tap_get_field_data(table, row, kRule);
    if (std::strcmp(id->value.string_value, rule) != 0 ||
        std::strcmp(stat_tap_get_field_data(table, row, kSeverity)->value.string_value, severity) != 0) {
      continue;
    }
    stat_tap_table_item_type* count = stat_tap_get_field_data(table, row, kCount);
    if (count->value.uint_value++ == 0) {
      stat_tap_table_item_type* first = stat_tap_get_field_data(table, row, kFirst);
      first->value.uint_value = pinfo->num;
      stat_tap_set_field_data(table, row, kFirst, first);
    }
    stat_tap_set_field_data(table, row, kCount, count);
    return TAP_PACKET_REDRAW;
  }
  stat_tap_table_item_type items[kColumns] = {};
  for (unsigned i = 0; i < kColumns; ++i) items[i].type = columns[i].type;
  items[kRule].value.string_value = rule;
  items[kSeverity].value.string_value = severity;
  items[kCount].value.uint_value = 1;
  items[kFirst].value.uint_value = pinfo->num;
  items[kTitle].value.string_value = finding->rule->title.data();
  stat_tap_init_table_row(table, table->num_elements, kColumns, items);
  return TAP_PACKET_REDRAW;
}

}  // namespace

void RegisterFindingsTable() {
  static stat_tap_table_ui ui = {};
  ui.group = REGISTER_PACKET_STAT_GROUP_UNSORTED;
  ui.title = "RPC-over-RDMA Findings";
  ui.tap_name = kTap;
  ui.cli_string = "rpcrdma,findings";
  ui.stat_tap_init_cb = Init;
  ui.packet_func = FindingPacket;
  ui.stat_tap_reset_table_cb = Reset;
  ui.nfields = kColumns;
  ui.fields = columns;
  ui.nparams = std::size(parameters);
  ui.params = parameters;
  register_stat_tap_table_ui(&ui);
}

}  // namespace stag::plugin
