// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transaction: one RPC: its Call, the memory the Call advertised and what RDMA moved there, its Reply, and both
// messages rebuilt unreduced (RFC 8166 section 3.4 and 4.3; RFC 8267 for what was reduced). Owned by the Session and
// recycled; valid during the Observer calls that hand it over.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "session/rpcrdma/message.h"
#include "session/rpcrdma/range_set.h"

namespace stag::session {

enum class ListKind : uint8_t { kReadList, kWriteList, kReplyChunk };

// One advertised segment and what was moved.
struct SegmentRecord {
  rpcrdma::Segment segment;
  ListKind list = ListKind::kReadList;
  uint32_t chunk = 0;  // Read list: index into Transaction::read_chunks; Write list: index in the list; Reply chunk: 0
  uint32_t position = 0;  // Read list only
  // Byte ranges relative to segment.offset.
  RangeSet requested;                // Read list: covered by RDMA Read Requests
  RangeSet moved;                    // moved on the wire: by Read Responses (Read list) or Writes
  RangeSet captured;                 // ... and the bytes were in the capture
  bool bytes_kept = false;           // `data` holds the captured bytes (special chunks always; bulk data on request)
  std::vector<std::byte> data;       // by offset in the segment; as long as the last captured byte
  FrameRef first_frame, last_frame;  // frames of the first and last operation (number 0: none)
};

// All read segments of one Position, in list order (RFC 8166 section 3.4.5).
struct ReadChunk {
  uint32_t position = 0;
  uint64_t length = 0;             // sum of the declared segment lengths
  std::vector<uint32_t> segments;  // indices into the segment records
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
  std::vector<std::byte> stream;  // captured prefix of the reduced stream (inline payload or special chunk)
  uint64_t stream_length = 0;     // of it on the wire; far beyond stream.size() when the end of the Send was lost
  std::vector<Piece> pieces;
  std::vector<DataItem> items;  // DDP-eligible items, in order, reduced or inline
  nfs::Walk walk;
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

struct Operation {  // of a COMPOUND
  uint32_t op = 0;
  bool has_status = false;
  uint32_t status = 0;
  bool backchannel = false;  // its result makes the connection a backchannel (RFC 8881 section 2.10.3.1)
};

struct Transaction {
  fabric::ConnectionId connection = 0;
  uint64_t serial = 0;  // counts from 1 over the capture, in order of the Calls
  uint32_t xid = 0;
  fabric::Side requester = 0;
  bool backward = false;  // the server called (RFC 8167)
  Outcome outcome = Outcome::kOutstanding;
  // Absence proves nothing: packets of this connection were lost while it was outstanding, or what its responder does
  // by RDMA is hidden.
  bool disturbed = false;

  // --- Call
  FrameRef call_frame, call_first_frame;
  rpcrdma::Header call_header;
  uint64_t call_send_length = 0;
  bool call_send_missing = false;  // bytes of the Send itself were not captured
  CallForm call_form = CallForm::kShort;
  rpc::CallHeader call_rpc;  // of the inline or position-zero stream, as soon as known; views into call.stream
  Payload call;
  bool call_ready = false;            // OnCallComplete was given
  std::vector<Operation> operations;  // NFSv4 COMPOUND and CB_COMPOUND, with results when the reply was seen

  // Memory advertised by the Call: the Read list's segments in list order, then each Write chunk's, then the Reply
  // chunk's. call_header.Of(chunk)[i] is segment record reads.size() + chunk.first + i.
  std::vector<SegmentRecord> segments;
  std::vector<ReadChunk> read_chunks;  // by ascending Position; Position zero first
  size_t SegmentIndex(const rpcrdma::Chunk& chunk, uint32_t i) const {
    return call_header.reads.size() + chunk.first + i;
  }

  // --- Reply (or RDMA_ERROR)
  FrameRef reply_frame, reply_first_frame;
  rpcrdma::Header reply_header;
  uint64_t reply_send_length = 0;
  bool reply_send_missing = false;
  std::optional<uint32_t> reply_invalidated;
  ReplyForm reply_form = ReplyForm::kNone;
  rpc::ReplyHeader reply_rpc;  // views into reply.stream
  Payload reply;
  // Legacy Read-Read replies: memory advertised by the Reply.
  std::vector<SegmentRecord> reply_segments;
  std::vector<ReadChunk> reply_read_chunks;
  bool done_seen = false;  // RDMA_DONE

  // Gives the bytes [offset, offset+length) of a rebuilt message, piece by piece, in order. Bytes of segments that were
  // not kept come as an empty view with their length. Returns false when the range is not inside a complete payload.
  bool ForEach(const Payload& payload, uint64_t offset, uint64_t length,
               const std::function<void(Bytes bytes, uint64_t length)>& fn) const;
  // The whole rebuilt message into `out` (cleared first). False when incomplete or its bytes were not kept.
  bool CopyTo(const Payload& payload, std::vector<std::byte>& out) const;
};

}  // namespace stag::session
