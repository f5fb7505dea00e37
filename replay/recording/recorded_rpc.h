// SPDX-License-Identifier: GPL-2.0-or-later
//
// RecordedRpc: one RPC of a capture, whole, for `stag replay` and `stag serve --mode recorded`: both messages
// unreduced, where their DDP-eligible items are, what chunks there were, when, and how it ended. RpcRecorder makes one.
//
// What the capture does not show is never made up: a message without all of its bytes has none here, and a text says
// why.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "replay/recording/payload_store.h"
#include "session/rpcrdma/session.h"

namespace stag::recording {

// A DDP-eligible item (RFC 8267) of a message.
struct RecordedItem {
  uint64_t offset = 0;  // of its first byte in the unreduced message, just behind its count
  uint32_t length = 0;  // bytes, without padding
  uint32_t op_index = 0;
  nfs::ItemKind kind = nfs::ItemKind::kReadData;
  bool reduced = false;  // it went by RDMA
};

struct RecordedMessage {
  bool present = false;      // it was sent (a Reply: RDMA_ERROR is none)
  Bytes bytes;               // unreduced, XDR padding included; empty: see `missing`
  std::string_view missing;  // why `bytes` is empty although the message is present; static
  std::span<const RecordedItem> items;
};

// Read list of the Call: the segments of one Position (zero: the Call itself).
struct RecordedReadChunk {
  uint32_t position = 0;
  uint32_t segments = 0;
  uint64_t length = 0;  // bytes
};

// A Write chunk or the Reply chunk of the Call.
struct RecordedChunk {
  uint32_t segments = 0;
  uint64_t offered = 0;   // bytes
  uint64_t returned = 0;  // bytes that the Reply says were written; 0 when there is no Reply that says
};

struct RecordedRpc {
  uint32_t connection = 0;  // index in Recording::connections; unused where there is none
  uint32_t xid = 0;
  uint64_t serial = 0;    // order of the Calls over the capture
  bool backward = false;  // the server called (RFC 8167)
  session::Outcome outcome = session::Outcome::kUnanswered;
  FrameRef call_frame, reply_frame;  // frame and time where each became known; reply_frame.number 0: no answer

  RecordedMessage call, reply;
  // Valid when the RPC header could be read (`known`).
  bool known = false;
  uint32_t program = 0, version = 0, procedure = 0;

  uint32_t credits = 0;  // that the Call requested
  session::CallForm call_form = session::CallForm::kShort;
  session::ReplyForm reply_form = session::ReplyForm::kNone;
  std::span<const RecordedReadChunk> read_chunks;
  std::span<const RecordedChunk> write_chunks;
  std::optional<RecordedChunk> reply_chunk;

  // The answer: RDMA_ERROR's code (reply_form kError), else what the RPC Reply says, as far as it could be read.
  uint32_t rdma_error = 0;
  bool replied = false;  // an RPC Reply whose header could be read: the next four are valid
  bool denied = false;
  uint32_t accept_stat = 0;
  bool has_status = false;  // of NFS, MOUNT, ...
  uint32_t status = 0;
};

struct RecordedConnection {
  fabric::ConnectionId id = 0;  // as in `stag connections`
  fabric::FabricKind fabric = fabric::FabricKind::kRoceV2;
  stag::Endpoint client, server;
  // Consumer private data of both, without padding; nullopt: the capture does not show it whole.
  std::optional<std::vector<std::byte>> client_private_data, server_private_data;
  uint32_t max_requested = 0, max_granted = 0;  // credits; 0: none seen
  int64_t first_time_ns = 0, last_time_ns = 0;
  bool closed = false;         // before the capture ended
  std::vector<uint32_t> rpcs;  // indices in Recording::rpcs, in order of the Calls
};

// Reuse the object: it keeps its storage.
class RpcRecorder {
 public:
  // What the Call tells, once it is as complete as it will be (session::Observer::OnCallComplete): all but the answer.
  // What is kept goes to `store`.
  void TakeCall(const session::Transaction& t, PayloadStore& store, RecordedRpc& rpc);
  // All but `connection`, of a transaction that ended. A Call's message that TakeCall took stays where it is.
  void TakeAll(const session::Transaction& t, PayloadStore& store, RecordedRpc& rpc);

 private:
  RecordedMessage Take(const session::Transaction& t, const session::Payload& payload, PayloadStore& store);
  void TakeMessage(const session::Transaction& t, PayloadStore& store, RecordedRpc& rpc);
  void TakeHeader(const session::Transaction& t, PayloadStore& store, RecordedRpc& rpc);

  std::vector<RecordedItem> items_;  // scratch
  std::vector<RecordedReadChunk> read_chunks_;
  std::vector<RecordedChunk> write_chunks_;
};

// What is known of a connection by now, but `closed` and `rpcs`.
RecordedConnection Describe(const session::Connection& connection);

}  // namespace stag::recording
