// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/tap.h"

#include "plugin/render.h"

namespace stag::plugin {
namespace {

int tap_id = 0, follow_tap_id = 0, file_tap_id = 0;

TapData* Queue(packet_info* pinfo, const ConnectionRecord* connection, Side from) {
  TapData* data = static_cast<TapData*>(wmem_alloc(pinfo->pool, sizeof(TapData)));
  *data = {};
  data->connection = connection;
  data->from = from;
  tap_queue_packet(tap_id, pinfo, data);
  return data;
}

// What a frame shows of connections, with the connection and the sender of each.
template <typename Fn>
void ForEachSender(const FrameRecord& frame, Fn fn) {
  for (const MessageRecord& message : frame.messages()) fn(message.connection, message.from);
  for (const OperationRecord& operation : frame.operations) fn(operation.connection, operation.from);
  for (const SetupRecord& setup : frame.rare().setups) {
    // InfiniBand's set-up goes between other queue pairs; the connection's may not be known yet.
    if (setup.connection->fabric == fabric::FabricKind::kIwarp) fn(setup.connection, setup.from);
  }
  for (const NoteRecord& note : frame.rare().notes) fn(note.connection, note.from);
}

// The frame counts once for each connection.
void TapFrame(packet_info* pinfo, const FrameRecord& frame) {
  const ConnectionRecord* first = nullptr;
  size_t index = 0;
  ForEachSender(frame, [&](const ConnectionRecord* connection, Side from) {
    bool before = connection == first;
    if (!before && first) {
      size_t i = 0;
      ForEachSender(frame, [&](const ConnectionRecord* other, Side) { before |= i++ < index && other == connection; });
    }
    ++index;
    if (before) return;
    if (!first) first = connection;
    Queue(pinfo, connection, from)->of_frame = true;
  });
}

}  // namespace

void Tap(packet_info* pinfo, const FrameRecord& frame) {
  const RareRecords& rare = frame.rare();
  if (!rare.files.empty() && have_tap_listener(file_tap_id)) {
    for (const FileRecord& file : rare.files) tap_queue_packet(file_tap_id, pinfo, &file);
  }
  if (!have_tap_listener(tap_id)) return;
  TapFrame(pinfo, frame);
  for (const SetupRecord& setup : rare.setups) Queue(pinfo, setup.connection, setup.from)->setup = &setup;
  for (const MessageRecord& message : frame.messages()) {
    Queue(pinfo, message.connection, message.from)->message = &message;
  }
  for (const OperationRecord& operation : frame.operations) {
    Queue(pinfo, operation.connection, operation.from)->operation = &operation;
  }
  for (const NoteRecord& note : rare.notes) Queue(pinfo, note.connection, note.from)->note = &note;
  ForEachFinding(pinfo, rare, [&](const FindingRecord& finding) { Queue(pinfo, nullptr, 0)->finding = &finding; });
}

void TapRpc(packet_info* pinfo, const RpcRecord& rpc, tvbuff_t* message) {
  if (!have_tap_listener(follow_tap_id)) return;
  FollowData* data = static_cast<FollowData*>(wmem_alloc(pinfo->pool, sizeof(FollowData)));
  *data = {rpc.connection, rpc.from, message};
  tap_queue_packet(follow_tap_id, pinfo, data);
}

void RegisterStatistics() {
  tap_id = register_tap(kTap);
  follow_tap_id = register_tap(kFollowTap);
  RegisterResponseTimes();
  RegisterTree();
  RegisterFindingsTable();
  RegisterConversations();
  file_tap_id = RegisterFileExport();
}

}  // namespace stag::plugin
