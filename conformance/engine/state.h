// SPDX-License-Identifier: GPL-2.0-or-later
//
// RuleState: what the engine remembers of a connection beside what the Session knows: recent Sends and RDMA
// operations (to tell what a NAK refuses), memory that outstanding Calls advertise, answers that are due, evidence of
// the older protocol. All of it is bounded. Checks read it; the engine keeps it: Before() runs before the checks of an
// event, After() after them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/engine/engine.h"
#include "conformance/engine/facts.h"
#include "conformance/engine/read_queue.h"
#include "conformance/engine/recent.h"
#include "conformance/engine/requester_profile.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

struct RecentSend {
  uint64_t frame = 0;
  uint64_t begin = 0, end = 0;  // of its frames: their order
  uint32_t xid = 0;
  session::Side from = 0;
  session::Role role = session::Role::kUnknown;
  std::optional<uint64_t> length;  // nullopt: packets of it are missing
  bool has_xid = false;            // the Send had its first word
  bool short_message = false;      // fewer bytes than its header must have (RFC 8166 section 4.5)
  bool malformed = false;          // a transport header that no receiver can use
  bool invalidates = false;        // Send with Invalidate ...
  bool invalidates_own = false;    // ... of a handle that its own Call advertised
  bool in_order = false;           // a Reply to an outstanding Call
  bool msgp = false;
  bool unreadable_error = false;  // RDMA_ERROR without an rdma_err that is defined
  bool exceeds_grant = false;     // a Call over the grant
};

struct RecentOperation {
  FrameRef frame;
  fabric::EventKind kind = fabric::EventKind::kWrite;
  session::Side from = 0;
  uint32_t handle = 0;
  uint64_t offset = 0, length = 0;
  bool inside = false;  // of an advertised segment of an outstanding Call
  uint32_t xid = 0;
  uint64_t call_frame = 0;
};

// The RDMA Write that a side has in progress: where its last packet went.
struct WriteInProgress {
  uint32_t handle = 0;
  uint64_t next = 0;     // the offset behind that packet
  bool inside = false;   // all of its packets so far went to one advertised segment ...
  bool outside = false;  // ... or one of them did not
  uint32_t xid = 0;      // of the Call that advertises the segment
  uint64_t call_frame = 0;
};

// Whether an RDMA operation, all of it as far as its packet tells, goes past the end of the segment it begins in.
inline bool RunsOver(const session::RdmaOperation& operation) {
  if (!operation.segment) return false;
  const fabric::RdmaPacket& packet = operation.event->rdma();
  return operation.overrun ||
         (packet.first && packet.whole > operation.segment->segment.length - operation.segment_offset);
}

// An outstanding Call, and what others advertise of the same memory.
struct OutstandingCall {
  const session::Transaction* transaction = nullptr;  // until it has ended
  Facts facts = fact::kOdd;                           // of the Call's message
  bool answered = false;                              // legacy: its Reply has a Read list that waits for RDMA_DONE
  bool shares_handles = false;                        // another outstanding Call has, or had, one of its handles
  bool shares_reads = false;  // ... with Read chunks of the same memory: whose was read is not known
  // A later Call, sent while this one seemed outstanding, that advertises some of the same memory (frame 0: none). Only
  // the answer to this Call proves that it was.
  FrameRef shared_frame;
  uint32_t shared_xid = 0, shared_handle = 0;
};

bool Wraps(const rpcrdma::Segment& segment);
// They overlap under one handle; and at least one of them may be written.
bool Overlap(const rpcrdma::Segment& s, const rpcrdma::Segment& t);
bool Overlap(const session::SegmentRecord& a, const session::SegmentRecord& b);

// Something that a side owes, and how long the other transactions of the connection have gone on without it.
enum class Owed : uint8_t {
  kErrChunk,   // for a faulty header
  kErrVers,    // for another version
  kDone,       // RDMA_DONE, for a Reply with a Read list (draft-08)
  kMsgpError,  // ERR_CHUNK for RDMA_MSGP
  kDoneError,  // ERR_CHUNK for RDMA_DONE (rfc5666bis)
};
inline constexpr size_t kOwed = static_cast<size_t>(Owed::kDoneError) + 1;
struct Awaited {
  Owed owed = Owed::kErrChunk;
  session::Side requester = 0;
  uint32_t xid = 0;
  FrameRef frame;
  // Transaction::serial of the last Call before it, and then before the last answer that counted: the next that counts
  // is to a Call sent later. A responder takes up several Calls at a time, and may answer all of them first.
  uint64_t newest_call = 0;
  uint32_t later = 0;  // answers that counted
  bool due = false;    // became overdue with the message that is being judged
};
// Answers to later Calls, each sent after the answer before, after which silence is taken for silence.
inline constexpr uint32_t kPatience = 4;

// What a faulty Call was answered with is judged when the answer comes.
enum class Fault : uint8_t {
  kNone,
  kShort,    // fewer bytes than the smallest header: no answer is due
  kVersion,  // rdma_vers is not 1: ERR_VERS is due
  kHeader,   // cannot be parsed: ERR_CHUNK is due
  kXid,      // rdma_xid is not the RPC's: ERR_CHUNK is due, but a receiver may ignore the inner xid
};
// Of a message's transport header; kNone when what would tell was not captured.
Fault FaultOf(const session::Message& message);

// Successive Replies that each grant one less than the Reply before: a counter, not a limit (CRED-006).
inline constexpr uint32_t kFallingGrants = 8;

// Flow control of the transactions that one side requests, beyond session::CreditState.
struct FlowState {
  uint64_t overrun_frame = 0;  // the last Call over the grant; 0: none since nothing was outstanding
  bool granted = false;        // a Reply stated `grant`, and none was lost since
  uint32_t grant = 0;
  uint32_t falling = 0;  // successive Replies up to now that each granted one less than the Reply before
  uint32_t dones = 0;    // RDMA_DONEs since the last answer: each takes a credit (draft-08 section 3.8)
  uint32_t unread = 0;   // Replies with a Read list without RDMA_DONE
};

struct RuleState {
  Recent<RecentSend, 32> sends;
  Recent<RecentOperation, 32> operations;
  Recent<uint32_t, 8> errored[2];            // xids that RDMA_ERROR ended, by requesting side ...
  Recent<uint64_t, 8> errored_call_hash[2];  // ... and of their Calls
  Recent<uint32_t, 8> reissued[2];           // xids that were sent again while outstanding, by requesting side
  uint64_t reissued_call_hash = 0;           // of the Call that the last of them replaced
  uint64_t reissued_call_frame = 0;

  std::vector<OutstandingCall> calls;  // oldest first
  size_t most_calls = EngineLimits().calls, most_reads = EngineLimits().reads;
  std::vector<Awaited> awaited;
  bool overdue = false;      // some of them became due with the message that is being judged
  uint64_t newest_call = 0;  // Transaction::serial

  std::array<RequesterProfile, 2> profiles;  // by requesting side
  std::array<bool, 2> used_version1{};
  std::array<FlowState, 2> flow;          // by requesting side
  std::array<ReadQueue, 2> reads;         // by reading side
  std::array<WriteInProgress, 2> writes;  // by writing side
  std::array<uint64_t, 2> heard{};        // the first frame with data from each side: its order
  bool forward_reply = false;             // the server has answered the client
  // The upper layer has set up backward calls (NFSv4.1 CREATE_SESSION, BIND_CONN_TO_SESSION); nullopt: it may have, in
  // results that could not be followed.
  std::optional<bool> backchannel = false;
  uint64_t late_serial = 0;    // the ended transaction whose memory the last late RDMA operation touched
  bool legacy_proven = false;  // both peers speak RFC 5666
  // CONF_RDMA (draft-08 section 6.2): sizes that the peers agreed on; 0: no exchange seen. The alignment that the
  // server recommends, and maxrdmaread of each side.
  uint32_t ccp_call_size = 0, ccp_reply_size = 0;
  std::optional<uint32_t> ccp_align;
  std::array<std::optional<uint32_t>, 2> ccp_reads;
  bool ccp_seen = false;  // any of these is known
  // What an earlier connection of the same peers allowed: [from]; 0: none known (PVT-014).
  std::array<uint32_t, 2> earlier_threshold{};

  // What the set-up says of the sender's messages, by sender: facts, and from how many bytes on a Send is longer than
  // something allows: a threshold, the sender's own, or an earlier connection's.
  std::array<Facts, 2> setup_facts{};
  std::array<uint64_t, 2> too_long_from{UINT64_MAX, UINT64_MAX};

  // The message now being judged is a Call over the grant; or, if not, over what its sender's adapter has acknowledged.
  bool exceeds_grant = false, exceeds_received = false;

  // The Send or RDMA operation that the NAK now being judged refuses, when it is known.
  const RecentSend* refused_send = nullptr;
  const RecentOperation* refused_operation = nullptr;
  // How often, on this and earlier connections of the same peers, RDMA for this xid was refused; and in which frames.
  std::vector<uint64_t> refusals;

  // Whenever the set-up may have changed, and first when the connection is new; `earlier_threshold` is set before.
  void TakeSetup(const session::Connection& connection);
  void Before(const fabric::Event& event);
  void Before(const session::Connection& connection, const session::Message& message,
              const session::Transaction* transaction);
  void Before(const session::RdmaOperation& operation);
  // `facts`: of the message.
  void After(const session::Connection& connection, const session::Message& message,
             const session::Transaction* transaction, Facts facts);
  // `facts`: of the operation.
  void After(const session::RdmaOperation& operation, Facts facts);
  void Ended(const session::Transaction& transaction);
  void Heard(session::Side side, uint64_t frame) {
    if (heard[side] == 0) heard[side] = frame;
  }
  void Lost();  // packets are missing, or a transaction was given up: what is owed cannot be told
  // The packet continues an RDMA Write whose packets so far filled a segment to its end, which no packet before said.
  bool LeavesSegment(const session::RdmaOperation& operation) const;
  // Null when it is not outstanding, or one of too many.
  const OutstandingCall* Find(const session::Transaction& transaction) const;

  // Bytes, beside its own size and `reads`.
  uint64_t storage() const {
    return sends.storage() + operations.storage() + calls.capacity() * sizeof(OutstandingCall) +
           awaited.capacity() * sizeof(Awaited) + handle_counts_.size() * sizeof(uint16_t);
  }
  // Whether that may have grown since the last call.
  bool TakeGrowth() { return std::exchange(grown_, false); }

 private:
  void NoteWrite(const session::RdmaOperation& operation, Facts facts);
  void Answered(session::Side requester, uint32_t xid);
  void NoteAwaited(const session::Message& message, const session::Transaction* transaction);
  void AddCall(const session::Message& message, const session::Transaction& transaction, Facts facts);
  void NoteSharing(OutstandingCall& call, bool repeated);
  static constexpr size_t kHandleCounts = 1024;
  uint16_t& HandleCount(uint32_t handle) { return handle_counts_[(handle * 0x9e3779b1u) >> 22]; }
  std::vector<uint16_t> handle_counts_;  // of the segments of `calls`, by hash; empty before the first
  bool grown_ = true;                    // storage() may have
  void Await(Owed owed, session::Side requester, uint32_t xid, const FrameRef& frame);
};

// A NAK or Terminate that says: this memory may not be accessed (RFC 5040 section 4.8, RFC 5041 section 8: remote
// protection and tagged buffer errors).
inline bool RefusesAccess(const fabric::Nak& nak) {
  if (nak.kind == fabric::NakKind::kTerminate) return nak.terminate_layer <= 1 && nak.terminate_type == 1;
  return nak.kind == fabric::NakKind::kRemoteAccess;
}

// What the responder did for this Call was seen: nothing was lost, and a capture joined mid-stream followed the
// responder's direction before the Call came.
bool SawResponder(const session::Connection& connection, const RuleState& state, const session::Transaction& call);

// FNV-1a; tells whether a Call that came again is the same.
uint64_t HashOf(Bytes bytes);

}  // namespace stag::conformance
