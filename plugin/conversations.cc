// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connections as Wireshark knows conversations: the tables of conversations and endpoints (queue pairs or TCP ports),
// the conversation filter, and Follow, which shows the rebuilt RPC messages of a connection.
#include <algorithm>

#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

const char* FilterName(const address& address, conv_filter_type_e filter) {
  switch (filter) {
    case CONV_FT_SRC_PORT: return "rpcrdma.srcport";
    case CONV_FT_DST_PORT: return "rpcrdma.dstport";
    case CONV_FT_ANY_PORT: return "rpcrdma.port";
    case CONV_FT_SRC_ADDRESS:
      if (address.type == AT_IPv4) return "ip.src";
      if (address.type == AT_IPv6) return "ipv6.src";
      break;
    case CONV_FT_DST_ADDRESS:
      if (address.type == AT_IPv4) return "ip.dst";
      if (address.type == AT_IPv6) return "ipv6.dst";
      break;
    case CONV_FT_ANY_ADDRESS:
      if (address.type == AT_IPv4) return "ip.addr";
      if (address.type == AT_IPv6) return "ipv6.addr";
      break;
  }
  return CONV_FILTER_INVALID;
}

const char* ConversationFilterName(conv_item_t* item, conv_filter_type_e filter) {
  return FilterName(item->src_address, filter);
}
const char* EndpointFilterName(endpoint_item_t* item, conv_filter_type_e filter) {
  return FilterName(item->myaddress, filter);
}
ct_dissector_info_t conversation_info = {ConversationFilterName};
et_dissector_info_t endpoint_info = {EndpointFilterName};

// Of a capture with two clocks: by one of them.
nstime_t Shifted(const nstime_t& time, int64_t ns) {
  const int64_t shifted = int64_t{time.secs} * 1000000000 + time.nsecs + ns;
  return {static_cast<time_t>(shifted / 1000000000), static_cast<int>(shifted % 1000000000)};
}

tap_packet_status AddConversation(void* table, packet_info* pinfo, epan_dissect_t*, const void* record,
                                  tap_flags_t flags) {
  const auto* data = static_cast<const TapData*>(record);
  if (!data->of_frame) return TAP_PACKET_DONT_REDRAW;
  auto* hash = static_cast<conv_hash_t*>(table);
  hash->flags = flags;
  const Endpoint& from = data->connection->endpoint[data->from];
  const Endpoint& to = data->connection->endpoint[1 - data->from];
  address source, destination;
  SetAddress(&source, from.address);
  SetAddress(&destination, to.address);
  const int64_t shift = Times().ShiftOf(pinfo->num);
  nstime_t relative = Shifted(pinfo->rel_ts, shift - Times().ShiftOf(1)), absolute = Shifted(pinfo->abs_ts, shift);
  add_conversation_table_data_with_conv_id(hash, &source, &destination, from.number, to.number, data->connection->id, 1,
                                           static_cast<int>(pinfo->fd->pkt_len), &relative, &absolute,
                                           &conversation_info, CONVERSATION_IBQP);
  return TAP_PACKET_REDRAW;
}

tap_packet_status AddEndpoints(void* table, packet_info* pinfo, epan_dissect_t*, const void* record,
                               tap_flags_t flags) {
  const auto* data = static_cast<const TapData*>(record);
  if (!data->of_frame) return TAP_PACKET_DONT_REDRAW;
  auto* hash = static_cast<conv_hash_t*>(table);
  hash->flags = flags;
  for (const bool sender : {true, false}) {
    const Endpoint& end = data->connection->endpoint[sender ? data->from : 1 - data->from];
    address at;
    SetAddress(&at, end.address);
    add_endpoint_table_data(hash, &at, end.number, sender, 1, static_cast<int>(pinfo->fd->pkt_len), &endpoint_info,
                            ENDPOINT_IBQP);
  }
  return TAP_PACKET_REDRAW;
}

// --- Filter and Follow

// The first connection that the frame shows something of; nullptr: none.
const ConnectionRecord* ConnectionOf(const packet_info* pinfo) {
  const FrameRecord* frame = RecordOf(pinfo->num);
  if (!frame) return nullptr;
  if (!frame->messages().empty()) return frame->messages().front().connection;
  if (!frame->operations.empty()) return frame->operations.front().connection;
  if (!frame->rpcs().empty()) return frame->rpcs().front().connection;
  if (!frame->rare().setups.empty()) return frame->rare().setups.front().connection;
  return frame->rare().notes.empty() ? nullptr : frame->rare().notes.front().connection;
}

char* FilterOf(unsigned connection) { return g_strdup_printf("rpcrdma.connection eq %u", connection); }

WsBool HasFilter(packet_info* pinfo STAG_USER_DATA) { return ConnectionOf(pinfo) != nullptr; }

char* BuildFilter(packet_info* pinfo STAG_USER_DATA) {
  const ConnectionRecord* connection = ConnectionOf(pinfo);
  return connection ? FilterOf(connection->id) : nullptr;
}

char* FollowFrame(epan_dissect_t*, packet_info* pinfo, unsigned* stream, unsigned*) {
  const ConnectionRecord* connection = ConnectionOf(pinfo);
  if (!connection) return nullptr;
  *stream = connection->id;
  return FilterOf(connection->id);
}

char* FollowIndex(unsigned stream, unsigned) { return FilterOf(stream); }

char* FollowAddresses(address* source, address* destination, int source_port, int destination_port) {
  const char* prefix = source->type == AT_IPv6 ? "ipv6" : "ip";
  char* from = address_to_str(nullptr, source);
  char* to = address_to_str(nullptr, destination);
  char* filter = g_strdup_printf("rpcrdma && %s.addr==%s && %s.addr==%s && rpcrdma.port==%d && rpcrdma.port==%d",
                                 prefix, from, prefix, to, source_port, destination_port);
  wmem_free(nullptr, from);
  wmem_free(nullptr, to);
  return filter;
}

char* PortText(wmem_allocator_t* allocator, unsigned port) { return wmem_strdup_printf(allocator, "%u", port); }

tap_packet_status AddRpc(void* info, packet_info* pinfo, epan_dissect_t*, const void* record, tap_flags_t) {
  const auto* data = static_cast<const FollowData*>(record);
  auto* follow = static_cast<follow_info_t*>(info);
  const Endpoint& from = data->connection->endpoint[data->from];
  const Endpoint& to = data->connection->endpoint[1 - data->from];
  if (follow->client_ip.type == AT_NONE) {
    // Who speaks first is taken for the client, as everywhere in Wireshark.
    address at;
    SetAddress(&at, from.address);
    copy_address(&follow->client_ip, &at);
    SetAddress(&at, to.address);
    copy_address(&follow->server_ip, &at);
    follow->client_port = from.number;
    follow->server_port = to.number;
  }
  address sender;
  SetAddress(&sender, from.address);
  const bool server = !addresses_equal(&sender, &follow->client_ip) || from.number != follow->client_port;
  const unsigned length = tvb_captured_length(data->message);
  auto* entry = g_new0(follow_record_t, 1);
  entry->is_server = server;
  entry->packet_num = pinfo->num;
  entry->abs_ts = pinfo->abs_ts;
  entry->data = g_byte_array_append(g_byte_array_sized_new(length),
                                    tvb_get_ptr(data->message, 0, static_cast<int>(length)), length);
  follow->bytes_written[server] += length;
  follow->payload = g_list_prepend(follow->payload, entry);
  return TAP_PACKET_DONT_REDRAW;
}

#if STAG_WIRESHARK_VERSION >= 402
uint32_t StreamCount() { return ConnectionCount() + 1; }  // connections count from 1
#endif

}  // namespace

void RegisterConversations() {
  register_conversation_table(protocol, false, AddConversation, AddEndpoints);
#if STAG_WIRESHARK_VERSION >= 402
  register_conversation_filter("rpcrdma", "RPC-over-RDMA connection", HasFilter, BuildFilter, nullptr);
  register_follow_stream(protocol, kFollowTap, FollowFrame, FollowIndex, FollowAddresses, PortText, AddRpc, StreamCount,
                         nullptr);
#else
  register_conversation_filter("rpcrdma", "RPC-over-RDMA connection", HasFilter, BuildFilter);
  register_follow_stream(protocol, kFollowTap, FollowFrame, FollowIndex, FollowAddresses, PortText, AddRpc);
#endif
}

}  // namespace stag::plugin
