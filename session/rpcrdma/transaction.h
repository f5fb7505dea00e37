// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transaction: one RPC: its Call, the memory the Call advertised and what RDMA moved there, its Reply, and both
// messages rebuilt unreduced (RFC 8166 section 3.4 and 4.3; RFC 8267 for what was reduced). Owned by the Session and
// recycled; valid during the Observer calls that hand it over.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "protocol/base/enum_names.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "session/delivery/delivery.h"
#include "session/rpcrdma/message.h"
#include "session/rpcrdma/range_set.h"
#include "session/rpcrdma/reused.h"

namespace stag::session {

enum class ListKind : uint8_t { kReadList, kWriteList, kReplyChunk };

// One advertised segment and what was moved. Most segments of a Reply chunk are never used: the first cache line has
// all that there is of those.
struct alignas(64) SegmentRecord {
  static constexpr uint32_t kOwn = UINT32_MAX;  // `home`: this record itself

  rpcrdma::Segment segment;
  ListKind list = ListKind::kReadList;
  bool bytes_kept = false;  // DataOf has the captured bytes (special chunks always; bulk data on request)
  bool used = false;        // an RDMA operation touched it; else the members from `charged` on are as they were made
  uint32_t chunk = 0;       // Read list: index into Half::read_chunks; Write list: index in the list; Reply chunk: 0
  uint32_t position = 0;    // Read list only
  int32_t place = -1;       // the Session's: in its table of handles; -1: not in there
  uint32_t charged = 0;     // the Session's: bytes of RangeStorage that it has charged
  uint32_t home = kOwn;     // index of the record whose `data` has the captured bytes ...
  uint64_t data_begin = 0;  // ... from here on
  // By offset in the segment, as long as the last captured byte; then those of segments behind it in its chunk, each of
  // which began when the one before had reached its end. See DataOf.
  std::vector<std::byte> data;
  // Byte ranges relative to segment.offset.
  RangeSet requested;                // Read list: covered by RDMA Read Requests
  RangeSet moved;                    // moved on the wire: by Read Responses (Read list) or Writes
  RangeSet captured;                 // ... and the bytes were in the capture
  FrameRef first_frame, last_frame;  // frames of the first and last operation (number 0: none)

  // Bytes of storage of the ranges.
  uint64_t RangeStorage() const { return requested.storage() + moved.storage() + captured.storage(); }

  // Everything but the storage goes back to its first value; so do the other Clear below.
  void Clear() {
    segment = {};
    list = ListKind::kReadList;
    bytes_kept = false;
    chunk = position = 0;
    place = -1;
    if (!used) return;
    used = false;
    charged = 0;
    home = kOwn;
    data_begin = 0;
    data.clear();
    requested.Clear();
    moved.Clear();
    captured.Clear();
    first_frame = last_frame = {};
  }
};

// The index of the record whose `data` has the captured bytes of the record `index` of `records`.
inline size_t HomeOf(const Reused<SegmentRecord>& records, size_t index) {
  return records[index].home == SegmentRecord::kOwn ? index : records[index].home;
}

// The captured bytes of the record `index` of `records`; none without `bytes_kept`.
inline Bytes DataOf(const Reused<SegmentRecord>& records, size_t index) {
  const SegmentRecord& record = records[index];
  const Bytes data = records[HomeOf(records, index)].data;
  const size_t begin = std::min<uint64_t>(record.data_begin, data.size());
  return data.subspan(begin, std::min<uint64_t>(data.size() - begin, record.segment.length));
}

// All read segments of one Position, in list order (RFC 8166 section 3.4.5).
struct ReadChunk {
  uint32_t position = 0;
  uint64_t length = 0;             // sum of the declared segment lengths
  std::vector<uint32_t> segments;  // indices into the segment records

  void Clear() {
    position = 0;
    length = 0;
    segments.clear();
  }
};

// A stretch of a rebuilt message.
struct Piece {
  enum class Source : uint8_t { kStream, kSegment, kZero };
  Source source = Source::kStream;
  uint32_t segment = 0;  // kSegment: index into the segment records
  uint64_t offset = 0;   // in the stream, or in the segment
  uint64_t length = 0;
};

struct DataItem {
  nfs::Item item;                 // as found in the reduced stream
  uint64_t unreduced_offset = 0;  // of its first byte in the unreduced message
  bool reduced = false;
  uint32_t chunk = 0;        // reduced: which read_chunks entry or which Write chunk
  uint64_t chunk_bytes = 0;  // reduced: declared (Read) or returned (Write) length of that chunk
  bool complete = false;     // every byte was captured
};

enum class RebuildDefect : uint8_t {
  kNone,
  kNoCall,           // the Call was not captured, so the reply's items cannot be told
  kPositionOutside,  // a Position that is not inside the stream (RDLIST-004)
  kLengthMismatch,   // chunk length and inline count disagree (RDLIST-005, WRLIST-006)
  kUndecodable,      // the upper layer cannot be followed, so items in Write chunks have no known place
  kPadding,          // MSGP padding whose place is not certain
};

// One RPC message, unreduced. `pieces` say where its bytes are; they are complete only when `complete`.
struct Payload {
  bool present = false;   // the message was seen (a Call or a Reply; not RDMA_ERROR)
  bool complete = false;  // every byte of the unreduced message was captured
  uint64_t length = 0;    // bytes of the unreduced message; valid when `complete`
  RebuildDefect defect = RebuildDefect::kNone;
  // Captured prefix of the reduced stream (inline payload or special chunk): in `storage`; of a Reply that ends its
  // transaction where it came, in the event's bytes or in the Reply chunk's segments, where these are one piece.
  Bytes stream;
  uint64_t stream_length = 0;  // of it on the wire; far beyond stream.size() when the end of the Send was lost
  std::vector<std::byte> storage;
  std::vector<Piece> pieces;
  std::vector<DataItem> items;  // DDP-eligible items, in order, reduced or inline
  nfs::Walk walk;

  // Bytes of the stream were not captured.
  bool cut() const { return present && stream.size() < stream_length; }
  // The stream, which is elsewhere, goes to `storage`.
  void KeepStream() {
    storage.assign(stream.begin(), stream.end());
    stream = storage;
  }

  // Nobody asks for the bytes of the stream any more, but for cut().
  void ForgetStream() {
    stream_length = cut() ? 1 : 0;
    stream = {};
  }

  void Clear();
};

enum class CallForm : uint8_t { kShort, kChunked, kLong, kLongChunked, kMsgp };
enum class ReplyForm : uint8_t { kNone, kShort, kChunked, kLong, kLongChunked, kError };

enum class Outcome : uint8_t {
  kOutstanding,
  kReplied,
  kErrored,     // RDMA_ERROR
  kReissued,    // the same xid was sent again on this connection before an answer
  kUnanswered,  // the connection or the capture ended
  kEvicted,     // given up to stay within the memory cap
};

// Knowledge of the answer to a Call.
enum class Answer : uint8_t {
  kCaptured,     // the Reply or RDMA_ERROR is in the capture, whole or in part
  kNotCaptured,  // it is not, and may have been on the wire
  kPending,      // it is not, its direction has no gap since the Call, and the capture ends before the connection
  kNone,         // it is not, its direction has no gap since the Call, and the connection ended
};

// What a COMPOUND and its results say of more than themselves.
struct CompoundFacts {
  // A stateid that an operation names (nfs::Visitor::OnState).
  struct State {
    uint32_t op = 0;
    uint32_t op_index = 0;
    bool of_reply = false;
    std::array<std::byte, 16> stateid{};
  };
  static constexpr size_t kMostStates = 2;

  std::optional<uint32_t> status_flags;  // of SEQUENCE's result
  std::array<State, kMostStates> states;
  uint32_t state_count = 0;
  bool more_states = false;  // than there is room for

  void Add(uint32_t op_index, uint32_t op, bool of_reply, Bytes stateid);
  std::span<const State> all() const { return std::span(states).first(state_count); }
  void Clear() {
    status_flags.reset();
    state_count = 0;
    more_states = false;
  }
};

struct Operation {  // of a COMPOUND
  uint32_t op = 0;
  bool has_status = false;
  uint32_t status = 0;
  bool backchannel = false;  // its result makes the connection a backchannel (RFC 8881 section 2.10.3.1)
};

// What a Call and a Reply have in common: the Send, what it advertises, and the RPC message that it carries or stands
// for.
struct Half : Payload {
  FrameRef frame, first_frame;  // of the Send: its last and its first packet; number 0: not seen
  rpcrdma::Header header;
  uint64_t send_length = 0;   // bytes of the Send on the wire
  bool send_missing = false;  // bytes of the Send itself were not captured
  bool end_missing = false;   // ... but lost, perhaps with its last packet: `frame` is that of the last known one
  // Memory that it advertises. A Call: the Read list's segments in list order, then each Write chunk's, then the Reply
  // chunk's. A Reply: the Read list's (legacy Read-Read).
  Reused<SegmentRecord> segments;
  Reused<ReadChunk> read_chunks;  // by ascending Position; Position zero first

  // Bytes of storage of its lists and its stream, which stays when it is cleared. Not in it: `data` and ranges of
  // segments.
  uint64_t Storage() const;
  void Clear();
};

// What the arguments of a Call ask for.
struct Asks {
  uint32_t reads = 0;         // READ procedures or operations ...
  uint32_t largest_read = 0;  // ... the most bytes that one of them asks for ...
  uint64_t read_bytes = 0;    // ... and all together
  uint64_t reply_limit = 0;   // bytes: the limits of READDIR and the like, added up
};

// What SEQUENCE says of the slot that a COMPOUND uses (RFC 8881 section 18.46.1).
struct SlotUse {
  bool known = false;
  std::array<std::byte, 16> session{};
  uint32_t sequence = 0, slot = 0;
};

struct CallHalf : Half {
  CallForm form = CallForm::kShort;
  rpc::CallHeader rpc;  // of the inline or position-zero stream, as soon as known; views into `stream`
  bool ready = false;   // OnCallComplete was given
  // Once the arguments were followed: at the Send when they are inline, else when the Call is complete.
  bool followed = false;
  Asks asks;
  SlotUse slot;
  nfs::Eligibility eligibility;

  void Clear();
};

struct ReplyHalf : Half {
  ReplyForm form = ReplyForm::kNone;
  rpc::ReplyHeader rpc;                 // views into `stream`
  std::optional<uint32_t> invalidated;  // handle of a Send with Invalidate

  void Clear();
};

// When RDMA moved what: frames in the order of the wire protocol (number 0: none).
struct RdmaFrames {
  FrameRef first_read, last_read;    // the first RDMA Read Request for the Call's memory, the last Read Response packet
  FrameRef first_write, last_write;  // packets of RDMA Writes to the Call's memory
  // The newest Read Request: its segment and where it ends there; and whether its last response packet was captured.
  uint32_t read_segment = 0;
  uint64_t read_end = 0;
  bool reads_answered = false;
};

// A packet of a connection waited, or some did: from the frame in which it was due to the one that delivered it.
struct Wait {
  FrameRef since, until;
  delivery::Cause cause = delivery::Cause::kTimer;
  bool read_response = false;
};

// A copy of a packet that `from` sent again although the other side had it; `first`: its first copy (iWARP: number 0).
struct Spurious {
  fabric::Side from = 0;
  bool is_send = false;
  FrameRef first, copy;
};

struct Transaction {
  fabric::ConnectionId connection = 0;
  uint64_t serial = 0;  // counts from 1 over the Session, in order of the Calls
  uint64_t number = 0;  // counts from 1 over the connection, in order of the Calls
  uint32_t xid = 0;
  fabric::Side requester = 0;
  bool backward = false;  // the server called (RFC 8167)
  Outcome outcome = Outcome::kOutstanding;
  Answer answer = Answer::kPending;  // of an ended one
  // Something that its answerer sent since the Call is not in the capture: it may be the answer. `answer_proof`: the
  // first frame that shows that it was; number 0: none does.
  bool answer_may_be_missing = false;
  FrameRef answer_proof;
  // That proof is an acknowledgement: CreditState::outstanding counts the Call no more.
  bool counted_out = false;
  std::optional<int64_t> waited_ns;  // kPending: from the Call to the end of the capture; nullopt: no times
  // Absence proves nothing: packets of this connection were lost while it was outstanding, or what its responder does
  // by RDMA is hidden.
  bool disturbed = false;
  // Something was lost before, and that the Call is one is a guess by its shape and its sender.
  bool uncertain = false;

  CallHalf call;
  ReplyHalf reply;  // or RDMA_ERROR
  RdmaFrames rdma;
  std::vector<Operation> operations;  // NFSv4 COMPOUND and CB_COMPOUND, with results when the reply was seen
  CompoundFacts facts;
  bool done_seen = false;  // RDMA_DONE
  // Observer::WantsDeliveries: the frame that delivered the Reply, where that is not reply.frame (number 0: it is);
  // and when its packets waited, one wait after the other.
  FrameRef delivered;
  std::vector<Wait> waits;
  const FrameRef& answered_in() const { return delivered.number != 0 ? delivered : reply.frame; }

  std::array<const Payload*, 2> messages() const { return {&call, &reply}; }
  // call.header.Of(chunk)[i] is call.segments[SegmentIndex(chunk, i)].
  size_t SegmentIndex(const rpcrdma::Chunk& chunk, uint32_t i) const {
    return call.header.reads.size() + chunk.first + i;
  }

  // Gives the bytes [offset, offset+length) of a rebuilt message, piece by piece, in order. Bytes of segments that were
  // not kept come as an empty view with their length. Returns false when the range is not inside a complete payload.
  bool ForEach(const Payload& payload, uint64_t offset, uint64_t length,
               const std::function<void(Bytes bytes, uint64_t length)>& fn) const;

  // The whole rebuilt message into `out` (cleared first). False when incomplete or its bytes were not kept.
  bool CopyTo(const Payload& payload, std::vector<std::byte>& out) const;

  void Clear();
};

// The capture cut the Call so short that its chunk lists, or that it is a Call at all, cannot be read from it.
bool IsCut(const Transaction& t);

}  // namespace stag::session

namespace stag {

template <>
struct EnumNames<session::CallForm> {
  static constexpr std::array<std::string_view, 5> kNames{"short", "chunked", "long", "long-chunked", "msgp"};
};
template <>
struct EnumNames<session::Answer> {
  static constexpr std::array<std::string_view, 4> kNames{"captured", "not_captured", "pending", "none"};
};
template <>
struct EnumNames<session::ReplyForm> {
  static constexpr std::array<std::string_view, 6> kNames{"none", "short", "chunked", "long", "long-chunked", "error"};
};

}  // namespace stag
