// SPDX-License-Identifier: GPL-2.0-or-later
//
// What each frame shows, kept as plain values for as long as the file is open. The pipeline makes the records on the
// first visit of the frames, in frame order; every later dissection only reads them. A record belongs to the frame at
// which it became known (Connection::now), so that one pass, two passes and the user interface show the same. The
// records lie in the arena of the store (record_store.h): none has a destructor, and lists are linked through their
// elements.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "conformance/engine/finding.h"
#include "protocol/rpcrdma/header.h"
#include "session/rpcrdma/phases.h"
#include "session/rpcrdma/session.h"
#include "session/transport/transport.h"

namespace stag::plugin {

using fabric::ConnectionId;
using fabric::Side;

// Elements in the order of Append, linked by their member `kNext`. The list does not own them.
template <typename T, T* T::*kNext = &T::next>
class List {
 public:
  class Iterator {
   public:
    explicit Iterator(T* at) : at_(at) {}
    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    Iterator& operator++() {
      at_ = at_->*kNext;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    T* at_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }
  bool empty() const { return first_ == nullptr; }
  T& front() const { return *first_; }
  T& back() const { return *last_; }
  size_t size() const {  // counts
    size_t count = 0;
    for (const T* at = first_; at; at = at->*kNext) ++count;
    return count;
  }
  void Append(T* element) {
    (first_ ? last_->*kNext : first_) = element;
    last_ = element;
  }

 private:
  T *first_ = nullptr, *last_ = nullptr;
};

// Bytes that a record shows: a part of the frame that shows it, or a copy (put together of several packets, or of an
// earlier frame).
struct ShownBytes {
  bool in_frame = false;
  uint32_t offset = 0;  // in the frame
  uint32_t length = 0;  // bytes
  const std::byte* copy = nullptr;
  bool available() const { return in_frame || copy != nullptr; }
};

// rpcrdma::Header, with its lists in the arena.
struct HeaderRecord {
  ParseStatus status = ParseStatus::kMalformed;
  rpcrdma::Defect defect = rpcrdma::Defect::kNone;
  uint8_t words = 0;
  bool error_range = false;
  uint32_t defect_offset = 0, length = 0;
  uint32_t xid = 0, vers = 0, credit = 0, proc = 0;
  uint32_t err = 0, vers_low = 0, vers_high = 0, bad_discriminator = 0;
  std::span<const rpcrdma::ReadSegment> reads;
  std::span<const rpcrdma::Chunk> write_chunks;
  std::optional<rpcrdma::Chunk> reply_chunk;
  std::span<const rpcrdma::Segment> segments;

  std::span<const rpcrdma::Segment> Of(const rpcrdma::Chunk& chunk) const {
    return segments.subspan(chunk.first, chunk.count);
  }
  bool has_lists() const { return proc == rpcrdma::kMsg || proc == rpcrdma::kNomsg || proc == rpcrdma::kMsgp; }
  bool has_chunks() const { return !reads.empty() || !write_chunks.empty() || reply_chunk.has_value(); }
};

// The two ends of a connection, and what they agreed on.
struct ConnectionRecord {
  ConnectionId id = 0;
  fabric::FabricKind fabric = fabric::FabricKind::kRoceV2;
  std::array<Endpoint, 2> endpoint;
  std::array<uint32_t, 2> setup_frame{};             // by side: where its private data is shown; 0: not captured
  std::array<std::optional<uint32_t>, 2> threshold;  // by sending side: largest Send, bytes; as last known
  std::optional<bool> remote_invalidation;           // agreed on; as last known
  std::optional<Side> client;                        // as last known
};

// As it was known when the record was made.
enum class Direction : uint8_t { kUnknown, kClientToServer, kServerToClient };

struct MessageRecord;
struct RpcRecord;
struct TransactionRecord;

// One packet of an RDMA Read or Write (neighbouring packets of one operation in one frame are one record). There is one
// of these for most frames of a capture: small.
struct OperationRecord {
  OperationRecord* next = nullptr;          // of the same frame
  OperationRecord* next_of_move = nullptr;  // on the same segment
  const ConnectionRecord* connection = nullptr;
  const TransactionRecord* transaction = nullptr;
  uint64_t offset = 0, segment_offset = 0;
  uint32_t length = 0;
  uint32_t frame = 0;  // that carried it
  uint32_t handle = 0;
  uint32_t chunk = 0, position = 0;
  uint32_t segment = 0;  // index within the list
  fabric::EventKind kind = fabric::EventKind::kWrite;
  Side from = 0;
  Direction direction = Direction::kUnknown;
  session::ListKind list = session::ListKind::kReadList;
  bool has_segment = false;
  bool of_reply = false;  // memory that the Reply advertised (legacy Read-Read)
  bool overrun = false;   // goes past the end of the segment
};

// What the two messages of an RPC, and the RDMA operations between them, show of each other. The pipeline fills it as
// the capture goes on: a field may be empty on a frame's first visit and filled on the next.
struct TransactionRecord {
  uint32_t xid = 0;
  bool backward = false;
  FrameRef call_frame;          // of the Send
  uint32_t call_shown_at = 0;   // where the Call's Send is shown
  uint32_t rpc_call_frame = 0;  // where the whole RPC Call is shown
  bool reply_rebuilt = false;   // the RPC Reply was recorded
  uint32_t reply_shown_at = 0;  // where the Reply's or RDMA_ERROR's Send is shown
  FrameRef reply_frame;
  FrameRef delivered;                      // the frame that delivered it, where another one did; number 0: none
  session::PhaseFrames* phases = nullptr;  // of `reply_shown_at`'s record
  bool rpc_known = false;
  uint32_t program = 0, version = 0, procedure = 0;
  const std::string* operations = nullptr;  // of a COMPOUND: "SEQUENCE PUTFH READ"; null: none, or not known
  uint32_t main_operation = 0;              // of a COMPOUND: the one that it is about; 0: not known
  session::CallForm call_form = session::CallForm::kShort;
  const MessageRecord* call = nullptr;
  const RpcRecord* rpc_call = nullptr;
  const RpcRecord* rpc_reply = nullptr;
  uint32_t invalidated_at = 0;     // the frame that shows the Send with Invalidate ...
  size_t invalidated_segment = 0;  // ... of this segment, as in `moves`
  // The operations on each segment; segments as in session::Transaction::call and ::reply (legacy
  // Read-Read).
  using Moves = List<OperationRecord, &OperationRecord::next_of_move>;
  std::span<Moves> moves, reply_moves;
};

// Of the handle that a Send with Invalidate names (RFC 8166 section 3.4.2 and RFC 8797 section 4.1).
enum class Invalidation : uint8_t {
  kAllowed,     // a segment of the Call; both peers support it
  kUnknown,     // a segment of the Call; what the peers support was not captured
  kNotAgreed,   // not both peers support it
  kNotOffered,  // no segment of the Call has this handle
  kOnCall,      // the message is not an answer
  kNoCall,      // the Call is not known
};

// One RPC-over-RDMA message (a Send).
struct MessageRecord {
  MessageRecord* next = nullptr;  // of the same frame
  const ConnectionRecord* connection = nullptr;
  const TransactionRecord* transaction = nullptr;
  FrameRef frame, first_frame;
  Side from = 0;
  Direction direction = Direction::kUnknown;
  session::Role role = session::Role::kUnknown;
  bool backward = false, orphan = false, repeated = false;
  session::CallForm call_form = session::CallForm::kShort;
  session::ReplyForm reply_form = session::ReplyForm::kNone;
  ShownBytes bytes;                   // the captured prefix of the Send
  uint64_t length = 0;                // of the Send on the wire
  std::optional<uint32_t> threshold;  // the largest Send in this direction, bytes
  fabric::Missing missing = fabric::Missing::kNothing;
  std::optional<uint32_t> invalidated;
  Invalidation invalidation = Invalidation::kAllowed;
  uint32_t invalidated_segment = 0;  // kAllowed, kUnknown, kNotAgreed: of the Call, as in TransactionRecord::moves
  // Call, Reply and RDMA_ERROR: Calls of the requester without an answer, after this message.
  std::optional<uint32_t> outstanding;
  std::optional<uint32_t> granted;               // Call: the credits that the requester was last granted
  const session::PhaseFrames* phases = nullptr;  // Reply and RDMA_ERROR of a Call: where the time since went
  HeaderRecord header;
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
  RpcRecord* next = nullptr;  // of the same frame
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
  const std::byte* bytes = nullptr;
};

// Connection set-up and tear-down with private data.
struct SetupRecord {
  SetupRecord* next = nullptr;  // of the same frame
  const ConnectionRecord* connection = nullptr;
  FrameRef frame;
  Side from = 0;
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
  NoteRecord* next = nullptr;  // of the same frame
  const ConnectionRecord* connection = nullptr;
  FrameRef frame;
  Side from = 0;
  Direction direction = Direction::kUnknown;
  bool gap = false;
  uint64_t gap_size = 0;
  fabric::NakKind nak = fabric::NakKind::kSequence;
  uint64_t refused_frame = 0;
};

// What the fabric did to a packet, as its numbers show: it is there again, or ends a wait for a receive.
struct TransportRecord {
  TransportRecord* next = nullptr;  // of the same frame
  const ConnectionRecord* connection = nullptr;
  Side from = 0;
  Direction direction = Direction::kUnknown;
  transport::Note note;
};

struct FindingRecord {
  FindingRecord* next = nullptr;              // of those that one frame proves
  FindingRecord* next_of_offender = nullptr;  // of those whose offender is in one frame
  uint32_t frame = 0, proven_frame = 0;
  const conformance::RuleInfo* rule = nullptr;
  conformance::Severity severity = conformance::Severity::kNote;
  conformance::Certainty certainty = conformance::Certainty::kProven;
  ConnectionId connection = 0;  // 0: of none
  bool client_to_server = true;
  std::optional<uint32_t> xid;
  // Shared texts; none is null.
  const std::string *message = nullptr, *expected = nullptr, *actual = nullptr;
  std::span<const std::string* const> specifications;  // "RFC 8166 4.3.1"
  std::span<const uint64_t> related_frames;
  std::span<const std::string_view> see_also;
};

// Contents of a file that a transaction moved, or a name of a file.
struct FileRecord {
  FileRecord* next = nullptr;  // of the same frame
  Address server;
  bool write = false;
  const std::string *handle = nullptr, *name = nullptr;  // bytes, shared; `name`: nothing was read or written
  uint64_t offset = 0;                                   // in the file
  const std::byte* data = nullptr;                       // null: not wholly captured
  uint32_t length = 0;
};

// Messages that were sent in this frame are shown at a later one. Of use only when the frame is shown again.
struct LaterRecord {
  LaterRecord* next = nullptr;
  uint32_t frame = 0;
};

// What few frames have.
struct RareRecords {
  List<SetupRecord> setups;
  List<NoteRecord> notes;
  List<TransportRecord> transport;
  List<FindingRecord> proven;                                       // findings, at the frame that proves them ...
  List<FindingRecord, &FindingRecord::next_of_offender> offending;  // ... and at the frame that breaks the rule
  List<FileRecord> files;
  List<LaterRecord> shown_in;
  bool two_clocks = false;  // it is told here that the capture has two clocks
};

// Most frames have an operation and nothing else: small.
struct FrameRecord {
  struct Messages {
    List<MessageRecord> messages;
    List<RpcRecord> rpcs;
  };

  List<OperationRecord> operations;
  Messages* with_messages = nullptr;
  RareRecords* with_rare = nullptr;

  const List<MessageRecord>& messages() const { return OrNone(with_messages).messages; }
  const List<RpcRecord>& rpcs() const { return OrNone(with_messages).rpcs; }
  const RareRecords& rare() const { return OrNone(with_rare); }

 private:
  template <typename T>
  static const T& OrNone(const T* lists) {
    static constexpr T kNone;
    return lists ? *lists : kNone;
  }
};

}  // namespace stag::plugin
