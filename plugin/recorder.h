// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is to be shown at each frame, kept as plain values for as long as the file is open. The pipeline fills the
// records on the first visit of the frames, in frame order; every dissection after that only reads them. A record
// belongs to the frame at which it became known (Connection::now), so that one pass, two passes and the user interface
// show the same.
//
// Records never move and are freed with the Store: pointers to them stay valid for the file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "conformance/engine/engine.h"
#include "protocol/rpcrdma/header.h"
#include "session/rpcrdma/session.h"

namespace stag::plugin {

using fabric::ConnectionId;
using fabric::Side;

// Bytes that a record shows: a stretch of the frame it is shown at, or a copy (put together of several packets, or of
// an earlier frame).
struct ShownBytes {
  bool in_frame = false;
  uint32_t offset = 0;  // in the frame
  uint32_t length = 0;  // bytes
  std::unique_ptr<std::byte[]> copy;
  bool available() const { return in_frame || copy != nullptr; }
};

// Who talks: the same for everything of one connection.
struct ConnectionRecord {
  ConnectionId id = 0;
  fabric::FabricKind fabric = fabric::FabricKind::kRoceV2;
  std::array<Endpoint, 2> endpoint;
};

// As it was known when the record was made.
enum class Direction : uint8_t { kUnknown, kClientToServer, kServerToClient };

struct MessageRecord;

// What the two messages of an RPC, and the RDMA operations between them, want to know of each other. Grows with the
// capture: a field that is still empty in one pass is filled when the frame is shown again.
struct TransactionRecord {
  uint32_t xid = 0;
  bool backward = false;
  FrameRef call_frame;          // of the Send
  uint32_t call_shown_at = 0;   // where the Call's Send is shown
  uint32_t rpc_call_frame = 0;  // where the whole RPC Call is shown
  bool reply_rebuilt = false;   // the RPC Reply was recorded
  uint32_t reply_shown_at = 0;  // where the Reply's or RDMA_ERROR's Send is shown
  FrameRef reply_frame;
  bool rpc_known = false;
  uint32_t program = 0, version = 0, procedure = 0;
  const MessageRecord* call = nullptr;
};

// One RPC-over-RDMA message (a Send).
struct MessageRecord {
  const ConnectionRecord* connection = nullptr;
  const TransactionRecord* transaction = nullptr;
  FrameRef frame, first_frame;
  Direction direction = Direction::kUnknown;
  session::Role role = session::Role::kUnknown;
  bool backward = false, orphan = false, repeated = false;
  session::CallForm call_form = session::CallForm::kShort;
  session::ReplyForm reply_form = session::ReplyForm::kNone;
  ShownBytes bytes;     // the captured prefix of the Send
  uint64_t length = 0;  // of the Send on the wire
  fabric::Missing missing = fabric::Missing::kNothing;
  std::optional<uint32_t> invalidated;
  rpcrdma::Header header;
};

// Why an RPC message is not given to Wireshark's rpc dissector.
enum class Withheld : uint8_t {
  kNothing,      // it is
  kIncomplete,   // bytes are not in the capture
  kUndecodable,  // complete, but where the chunks belong cannot be told
  kMemory,       // over the memory limit
  kSwitchedOff,  // the preference "reassemble" is off
};

// One RPC message, as rebuilt.
struct RpcRecord {
  const ConnectionRecord* connection = nullptr;
  const TransactionRecord* transaction = nullptr;  // null: a reply whose Call is not known
  bool call = false;
  Side from = 0;
  FrameRef sent;                           // frame and time of its Send
  const MessageRecord* message = nullptr;  // its Send, when shown at the same frame
  Withheld withheld = Withheld::kNothing;
  session::RebuildDefect defect = session::RebuildDefect::kNone;
  // The bytes: [inline_offset, +length) of message->bytes, or `bytes`.
  bool inline_bytes = false;
  uint32_t inline_offset = 0;
  uint32_t length = 0;
  std::unique_ptr<std::byte[]> bytes;
};

// One packet of an RDMA Read or Write (neighbouring packets of one operation in one frame are one record).
struct OperationRecord {
  const ConnectionRecord* connection = nullptr;
  const TransactionRecord* transaction = nullptr;
  fabric::EventKind kind = fabric::EventKind::kWrite;
  Direction direction = Direction::kUnknown;
  FrameRef frame;
  uint32_t handle = 0;
  uint64_t offset = 0, length = 0;
  bool has_segment = false;
  session::ListKind list = session::ListKind::kReadList;
  bool of_reply = false;  // memory that the Reply advertised (legacy Read-Read)
  uint32_t chunk = 0, position = 0;
  uint32_t segment = 0;  // index within the list
  uint64_t segment_offset = 0;
  bool overrun = false, retired = false;
};

// Connection set-up and tear-down with private data.
struct SetupRecord {
  const ConnectionRecord* connection = nullptr;
  FrameRef frame;
  Direction direction = Direction::kUnknown;
  fabric::SetupMessage message = fabric::SetupMessage::kRequest;
  uint16_t reject_reason = 0;
  ShownBytes private_data;
  bool truncated = false;
  rpcrdma::PrivateDataSearch search;
  // Known once both sides' private data are: largest Send in bytes, and whether both take remote invalidation.
  std::optional<uint32_t> client_to_server, server_to_client;
  std::optional<bool> remote_invalidation;
};

// Packets missing from the capture, a NAK or a Terminate.
struct NoteRecord {
  const ConnectionRecord* connection = nullptr;
  FrameRef frame;
  Direction direction = Direction::kUnknown;
  bool gap = false;
  uint64_t gap_size = 0;
  fabric::NakKind nak = fabric::NakKind::kSequence;
  uint64_t refused_frame = 0;
};

struct FindingRecord {
  const conformance::RuleInfo* rule = nullptr;
  conformance::Severity severity = conformance::Severity::kNote;
  ConnectionId connection = 0;
  bool client_to_server = true;
  std::optional<uint32_t> xid;
  std::string message, expected, actual;
  std::vector<std::string> specifications;  // "RFC 8166 4.3.1"
  std::vector<uint32_t> related_frames;
  std::vector<std::string_view> see_also;
};

struct FrameRecord {
  std::vector<std::unique_ptr<SetupRecord>> setups;
  std::vector<OperationRecord> operations;
  std::vector<std::unique_ptr<MessageRecord>> messages;
  std::vector<std::unique_ptr<RpcRecord>> rpcs;
  std::vector<NoteRecord> notes;
  std::vector<std::unique_ptr<FindingRecord>> findings;
  // Messages that were sent in this frame and are shown at later ones. Of use only when the frame is shown again.
  std::vector<uint32_t> shown_in;
};

// All records of the open file.
class Store {
 public:
  // What is shown at the frame; nullptr: nothing.
  const FrameRecord* Find(uint32_t frame) const;
  FrameRecord& At(uint64_t frame);
  // The frame number is used again: frames that a read filter drops have no number of their own. What was recorded is
  // no longer shown.
  void Forget(uint32_t frame);
  ConnectionRecord& Connection(ConnectionId id);
  TransactionRecord& Transaction(uint64_t serial);
  const TransactionRecord* FindTransaction(uint64_t serial) const;
  // Copies bytes that must outlive the frame; nullptr when `limit` (bytes, over the file) would be passed.
  std::unique_ptr<std::byte[]> Keep(Bytes bytes);
  void set_limit(uint64_t limit) { limit_ = limit; }

 private:
  std::vector<std::unique_ptr<FrameRecord>> frames_;  // by frame number
  std::vector<std::unique_ptr<FrameRecord>> forgotten_;
  std::unordered_map<ConnectionId, ConnectionRecord> connections_;
  std::unordered_map<uint64_t, TransactionRecord> transactions_;
  uint64_t limit_ = 0, kept_ = 0;
};

// Fills the Store: observes the Session.
class Recorder final : public session::Observer, public conformance::FindingSink {
 public:
  // `reassemble`: rebuild RPCs from chunks and from Sends of several packets.
  Recorder(Store& store, bool reassemble) : store_(store), reassemble_(reassemble) {}
  // The captured bytes of the frame being fed; valid until the next call.
  void set_frame(Bytes frame) { frame_ = frame; }

  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;
  void OnCallComplete(const session::Connection&, const session::Transaction&) override;
  void OnTransaction(const session::Connection&, const session::Transaction&) override;
  void OnFinding(const conformance::Finding&) override;

 private:
  FrameRecord& Now(const session::Connection&);
  const ConnectionRecord* Remember(const session::Connection&);
  ShownBytes Show(Bytes bytes);
  // The RPC Reply that came in `message`.
  void RecordReply(const session::Connection&, const session::Transaction&, const MessageRecord* message);
  // A Reply whose Call is not known: what stands whole in the message.
  void RecordOrphan(const session::Connection&, const session::Message&, const MessageRecord&);
  // Finds or makes the bytes of the rebuilt `payload`.
  void Rebuild(const session::Transaction&, const session::Payload& payload, RpcRecord&);

  Store& store_;
  bool reassemble_;
  Bytes frame_;
  std::vector<std::byte> flat_;  // scratch
};

}  // namespace stag::plugin
