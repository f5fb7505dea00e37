// SPDX-License-Identifier: GPL-2.0-or-later
//
// The statistics tree (tshark -z rpcrdma,tree): messages, chunks, segments, inline sizes, credits, errors, remote
// invalidation, RDMA operations, findings.
#include <algorithm>
#include <limits>

#include "plugin/fields.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

using session::Role;

struct Nodes {
  int messages = 0, roles = 0, calls = 0, replies = 0, chunks = 0, segments = 0, inline_sizes = 0, credits = 0,
      errors = 0, invalidation = 0, operations = 0, findings = 0;
};
Nodes nodes;

constexpr char kMessages[] = "Messages by procedure";
constexpr char kRoles[] = "Messages by role";
constexpr char kCalls[] = "Calls by form";
constexpr char kReplies[] = "Replies by form";
constexpr char kChunks[] = "Chunks";
constexpr char kSegments[] = "Segment sizes (bytes)";
constexpr char kInline[] = "Inline sizes (bytes)";
constexpr char kCredits[] = "Credits";
constexpr char kErrors[] = "Errors and refusals";
constexpr char kInvalidation[] = "Sends with Invalidate";
constexpr char kOperations[] = "RDMA operations (bytes of each packet)";
constexpr char kFindings[] = "Findings";

int Clamp(uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, std::numeric_limits<int>::max())); }

void Init(stats_tree* tree) {
  const auto add = [&](const char* name) { return stats_tree_create_node(tree, name, 0, STAT_DT_INT, true); };
  nodes.messages = add(kMessages);
  nodes.roles = add(kRoles);
  nodes.calls = add(kCalls);
  nodes.replies = add(kReplies);
  nodes.chunks = add(kChunks);
  nodes.segments = stats_tree_create_range_node(tree, kSegments, 0, "0", "1-1023", "1024-4095", "4096-16383",
                                                "16384-65535", "65536-262143", "262144-1048575", "1048576-", nullptr);
  nodes.inline_sizes = stats_tree_create_range_node(tree, kInline, 0, "0-255", "256-1023", "1024-2047", "2048-4095",
                                                    "4096-8191", "8192-", nullptr);
  nodes.credits = add(kCredits);
  nodes.errors = add(kErrors);
  nodes.invalidation = add(kInvalidation);
  nodes.operations = add(kOperations);
  nodes.findings = add(kFindings);
}

void Tick(stats_tree* tree, const char* parent_name, int parent, const char* name) {
  tick_stat_node(tree, parent_name, 0, true);
  tick_stat_node(tree, name, parent, false);
}

void Average(stats_tree* tree, const char* parent_name, int parent, const char* name, uint64_t value) {
  tick_stat_node(tree, parent_name, 0, true);
  avg_stat_node_add_value_int(tree, name, parent, false, Clamp(value));
}

void AddSegment(stats_tree* tree, const rpcrdma::Segment& segment) {
  tick_stat_node(tree, kSegments, 0, true);
  stats_tree_tick_range(tree, kSegments, 0, Clamp(segment.length));
}

// The memory that a Call offers; its Reply repeats the segments.
void AddChunks(stats_tree* tree, const HeaderRecord& header) {
  uint64_t positions = 0;
  for (size_t i = 0; i < header.reads.size(); ++i) {
    AddSegment(tree, header.reads[i].target);
    positions += i == 0 || header.reads[i].position != header.reads[i - 1].position;
  }
  for (uint64_t i = 0; i < positions; ++i) {
    Tick(tree, kChunks, nodes.chunks,
         i == 0 && header.reads[0].position == 0 ? "Position zero Read chunk" : "Read chunk");
  }
  for (size_t i = 0; i < header.write_chunks.size(); ++i) Tick(tree, kChunks, nodes.chunks, "Write chunk");
  if (header.reply_chunk) Tick(tree, kChunks, nodes.chunks, "Reply chunk");
  for (const rpcrdma::Segment& segment : header.segments) AddSegment(tree, segment);
}

const char* RoleText(const MessageRecord& message) {
  switch (message.role) {
    case Role::kCall: return message.backward ? "Call, backward" : "Call";
    case Role::kReply: return message.backward ? "Reply, backward" : "Reply";
    case Role::kError: return "RDMA_ERROR";
    case Role::kDone: return "RDMA_DONE";
    case Role::kUnknown: break;
  }
  return "unknown";
}

const char* InvalidationText(Invalidation invalidation) {
  switch (invalidation) {
    case Invalidation::kAllowed: return "allowed";
    case Invalidation::kUnknown: return "of a segment of the Call; agreement not captured";
    case Invalidation::kNotAgreed: return "not agreed on";
    case Invalidation::kNotOffered: return "of a handle that the Call does not have";
    case Invalidation::kOnCall: return "not an answer";
    case Invalidation::kNoCall: break;
  }
  return "Call not known";
}

void AddMessage(stats_tree* tree, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
  Tick(tree, kMessages, nodes.messages, header.words >= 4 ? rpcrdma::ProcName(header.proc) : "header cut short");
  Tick(tree, kRoles, nodes.roles, RoleText(message));
  tick_stat_node(tree, kInline, 0, true);
  stats_tree_tick_range(tree, kInline, 0, Clamp(message.length));
  if (message.role == Role::kCall) {
    Tick(tree, kCalls, nodes.calls, CallFormText(message.call_form));
    Average(tree, kCredits, nodes.credits, "requested", header.credit);
    AddChunks(tree, header);
  }
  if (message.role == Role::kReply) {
    if (message.transaction) Tick(tree, kReplies, nodes.replies, ReplyFormText(message.reply_form));
    Average(tree, kCredits, nodes.credits, "granted", header.credit);
  }
  if (message.outstanding) Average(tree, kCredits, nodes.credits, "Calls outstanding", *message.outstanding);
  if (message.role == Role::kError) Tick(tree, kErrors, nodes.errors, rpcrdma::ErrorName(header.err));
  if (message.invalidated) Tick(tree, kInvalidation, nodes.invalidation, InvalidationText(message.invalidation));
}

const char* OperationText(fabric::EventKind kind) {
  switch (kind) {
    case fabric::EventKind::kReadRequest: return "RDMA Read Request";
    case fabric::EventKind::kReadResponse: return "RDMA Read Response";
    default: return "RDMA Write";
  }
}

tap_packet_status CountedPacket(stats_tree* tree, packet_info*, epan_dissect_t*, const void* record, tap_flags_t) {
  const auto* data = static_cast<const TapData*>(record);
  if (data->message) {
    AddMessage(tree, *data->message);
  } else if (data->operation) {
    Average(tree, kOperations, nodes.operations, OperationText(data->operation->kind), data->operation->length);
  } else if (data->note) {
    const char* text = data->note->gap ? "packets missing from the capture" : NakText(data->note->nak);
    Tick(tree, kErrors, nodes.errors, text);
  } else if (data->finding) {
    Tick(tree, kFindings, nodes.findings, data->finding->rule->id.data());
  } else {
    return TAP_PACKET_DONT_REDRAW;
  }
  return TAP_PACKET_REDRAW;
}

}  // namespace

void RegisterTree() { stats_tree_register_plugin(kTap, "rpcrdma", "RPC-over-RDMA", 0, CountedPacket, Init, nullptr); }

}  // namespace stag::plugin
