// SPDX-License-Identifier: GPL-2.0-or-later
//
// Puts the records of a frame into Wireshark's tree and columns. Nothing here changes a record. These functions call
// epan, so they own nothing with a destructor (compat.h says why).
#pragma once

#include "plugin/compat.h"
#include "plugin/records.h"

namespace stag::plugin {

// The frame that is being shown.
struct Scene {
  tvbuff_t* frame = nullptr;  // the whole frame
  packet_info* pinfo = nullptr;
  proto_tree* tree = nullptr;  // the root; nullptr when no tree is wanted
};

// Whether the text of items is read. Wireshark drops it in a tree that is made for a filter only.
inline bool ShowsText(const proto_tree* tree) { return tree && PTREE_DATA(tree)->visible; }

// The bytes as a tvbuff: a part of the frame, or a data source of their own, named `tab`. nullptr when they were not
// kept.
tvbuff_t* TvbOf(const Scene& scene, const ShownBytes& bytes, const char* tab);

// A subtree for something that stands nowhere in the packet; `item` is set to its item.
proto_tree* AddSubtree(const Scene& scene, proto_tree* tree, int subtree, proto_item** item, const char* text);
// Adds a value that stands nowhere in the packet.
proto_item* AddGenerated(proto_tree* tree, const Scene& scene, int field, uint64_t value);
proto_item* AddGeneratedText(proto_tree* tree, const Scene& scene, int field, const char* text);
// Likewise, what `text` returns, which is called when the field is shown or a filter asks for it.
template <typename Text>
void AddGeneratedTextOf(proto_tree* tree, const Scene& scene, int field, Text text) {
  if (tree && proto_field_is_referenced(tree, field)) AddGeneratedText(tree, scene, field, text());
}
// A frame link; nothing for frame 0.
void AddFrameLink(proto_tree* tree, const Scene& scene, int field, uint64_t frame);
// Connection, fabric, direction, queue pairs or ports.
void AddConnection(proto_tree* tree, const Scene& scene, const ConnectionRecord& connection, Side from,
                   Direction direction);

// What stands in the Protocol column.
inline constexpr char kColumn[] = "RPC-over-RDMA";
const char* OperationName(fabric::EventKind kind);      // "RDMA Write"
const char* SetupName(fabric::SetupMessage message);    // "Connection request"
const char* TransportName(transport::Note::Kind kind);  // "Retransmission"
// "NFS V3 READ", "NFS V4 SEQUENCE PUTFH READ"; "an RPC" when that is not known. In pinfo->pool.
const char* RpcName(const Scene& scene, const TransactionRecord* transaction);
// "RDMA Write, part of NFS V3 READ, Call in frame 259: Write chunk 0, segment 1, bytes 0 to 1023". In pinfo->pool.
const char* OperationText(const Scene& scene, const OperationRecord& operation);

// One line about a message, for its item and the Info column: "RDMA_MSG Call XID 0x1a2b3c4d NFS V3 WRITE [Read chunk
// 112: 4097 bytes]"; and the part about chunks and invalidation, each with a space before it. In pinfo->pool.
const char* Summary(const Scene& scene, const MessageRecord& message);
const char* ChunkSummary(const Scene& scene, const MessageRecord& message);

// A message: a protocol item of its own, whose subtree `tree` is set to. Returns the bytes of the Send (nullptr: not
// kept).
tvbuff_t* RenderMessage(const Scene& scene, const MessageRecord& message, proto_tree** tree);
// The lists of a transport header, in the subtree of the message.
void RenderLists(const Scene& scene, proto_tree* tree, tvbuff_t* send, const MessageRecord& message);
// The packets that moved the bytes of a segment, in its subtree.
void AddMoves(const Scene& scene, proto_tree* tree, const TransactionRecord::Moves& moves);

// Everything else has a subtree in `home`: that of the frame's first message, or of the frame's only protocol item.
// RDMA Reads and Writes; the columns speak of them when the frame has no message.
void RenderOperations(const Scene& scene, proto_tree* home, const FrameRecord& frame);
void RenderSetup(const Scene& scene, proto_tree* home, const SetupRecord& setup);
void RenderNote(const Scene& scene, proto_tree* home, const NoteRecord& note);
void RenderTransport(const Scene& scene, proto_tree* home, const TransportRecord& record);
void RenderFinding(const Scene& scene, proto_tree* home, const FindingRecord& finding);
// The findings that the frame shows: on its first visit those that it proves, for one pass knows no more of earlier
// frames; later those whose offender it carries.
template <typename Fn>
void ForEachFinding(const packet_info* pinfo, const RareRecords& rare, Fn fn) {
  if (!PINFO_FD_VISITED(pinfo)) {
    for (const FindingRecord& finding : rare.proven) fn(finding);
  } else {
    for (const FindingRecord& finding : rare.offending) fn(finding);
  }
}
// Gives the rebuilt RPC to Wireshark's rpc dissector, which adds it to the root, once for each dissection of the frame;
// or shows why not. `send`: the bytes of the Send that holds it, when there is one.
void RenderRpc(const Scene& scene, proto_tree* home, const RpcRecord& rpc, tvbuff_t* send);
// Looks up Wireshark's rpc dissector; called once all dissectors are registered.
void FindRpcDissector();

// Everything recorded of the frame.
void RenderFrame(const Scene& scene, const FrameRecord& frame);

}  // namespace stag::plugin
