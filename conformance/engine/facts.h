// SPDX-License-Identifier: GPL-2.0-or-later
//
// Facts: what an event is and what of its connection was seen, as one set of bits, computed once for each event before
// its checks. Events with equal facts make one class (schedule.h): for all events of a class a check has one result,
// unless the class has a fact that the check names as a suspicion. So most events are counted and no check is asked.
//
// The first group of facts decides what applies: no check fails for one of them. The second group are suspicions: with
// one of them the checks that name it look at the event itself.
#pragma once

#include <cstdint>

#include "session/rpcrdma/session.h"

namespace stag::conformance {

struct RuleState;

using Facts = uint64_t;

// So many items of a Reply are paired with Write chunks.
inline constexpr size_t kMaxReplyItems = 32;

namespace fact {

// --- Of the connection and what was captured of it. "Own" is the sender's set-up data, "peer" the receiver's.
inline constexpr Facts kSetupSeen = Facts{1} << 0;
inline constexpr Facts kRolesKnown = Facts{1} << 1;
inline constexpr Facts kLossy = Facts{1} << 2;
inline constexpr Facts kDisturbed = Facts{1} << 3;    // the connection, or the transaction
inline constexpr Facts kMessagesCut = Facts{1} << 5;  // some message of the connection was cut by the capture
inline constexpr Facts kRdmaHidden = Facts{1} << 6;
inline constexpr Facts kOwnKnown = Facts{1} << 7, kOwnData = Facts{1} << 8;
inline constexpr Facts kPeerKnown = Facts{1} << 9, kPeerData = Facts{1} << 10;
inline constexpr Facts kEarlierThreshold = Facts{1} << 12;
inline constexpr Facts kCreditsKnown = Facts{1} << 13, kGranted = Facts{1} << 14;
inline constexpr Facts kSawResponder = Facts{1} << 15;
inline constexpr Facts kCut = Facts{1} << 16;  // bytes of the transaction's own messages were not captured

// --- Of the message and its RPC.
inline constexpr Facts kNomsg = Facts{1} << 17;
inline constexpr Facts kReads = Facts{1} << 18, kWrites = Facts{1} << 19, kReplyChunk = Facts{1} << 20;
inline constexpr Facts kSeveralReads = Facts{1} << 21;  // two Read segments or more
inline constexpr Facts kEmptyChunk = Facts{1} << 22;    // a Write chunk of no segments (RFC 8166 section 4.3.2)
inline constexpr Facts kInvalidates = Facts{1} << 23;
inline constexpr Facts kNfs23 = Facts{1} << 24, kNfs4 = Facts{1} << 25, kSideProtocol = Facts{1} << 26;
inline constexpr Facts kKnown = Facts{1} << 27;            // how many items are eligible is known
inline constexpr Facts kEligibleResults = Facts{1} << 28;  // ... and some result is
inline constexpr Facts kReadOperation = Facts{1} << 29;    // Calls: it asks for READ data
inline constexpr Facts kLoneOddRead = Facts{1}
                                      << 30;        // Calls: one READ of a count that is no multiple of four, one chunk
inline constexpr Facts kOddCount = Facts{1} << 31;  // Calls: a reduced item has padding
inline constexpr Facts kLargeReply = Facts{1} << 32;  // Calls: the Reply may not fit inline
inline constexpr Facts kSmallReply = Facts{1} << 33;  // Calls: the Reply fits inline for sure
inline constexpr Facts kCallReads = Facts{1} << 29, kCallWrites = Facts{1} << 30;  // Replies: the Call has such lists
inline constexpr Facts kCallReplyChunk = Facts{1} << 31;
inline constexpr Facts kSuccess = Facts{1} << 32;       // Replies: accepted, SUCCESS
inline constexpr Facts kReturnsData = Facts{1} << 33;   // Replies: by a Write chunk
inline constexpr Facts kReturnsChunk = Facts{1} << 34;  // Replies: data in the Reply chunk
inline constexpr Facts kNfsFailed = Facts{1} << 35;     // Replies: an NFS status other than 0
inline constexpr Facts kWalked = Facts{1} << 36;        // the upper layer was followed to its end
inline constexpr Facts kPresent = Facts{1} << 37;       // the message's RPC bytes are there
inline constexpr Facts kSharesReads = Facts{1} << 38;   // another outstanding Call has Read chunks of the same memory
inline constexpr Facts kOpaque = Facts{1} << 39;        // RPCSEC_GSS hides the arguments

// --- RDMA operations.
inline constexpr Facts kReadsServed = Facts{1} << 17;  // the set-up says how many RDMA Reads the responder serves

// --- Suspicions.
inline constexpr Facts kPayloadOdd = Facts{1} << 41;  // inline beside RDMA_NOMSG, or no whole words
inline constexpr Facts kTooLong = Facts{1} << 42;     // over a threshold, the sender's own or an earlier connection's
inline constexpr Facts kCreditOdd = Facts{1} << 43;   // zero; or over the grant or the request; or falling
inline constexpr Facts kBegins = Facts{1} << 44;      // before the first Reply, or the first Send of the connection
inline constexpr Facts kBackward = Facts{1} << 45;
inline constexpr Facts kSegmentsOdd = Facts{1} << 46;  // empty, wrapping, overlapping, or handles that follow a pattern
inline constexpr Facts kReadsOdd = Facts{1} << 47;     // not one Read chunk that is exactly an eligible item
inline constexpr Facts kWritesOdd = Facts{1} << 48;    // Calls: chunks that no READ has a use for, or without room
inline constexpr Facts kReplyChunkOdd = Facts{1} << 49;
inline constexpr Facts kGss = Facts{1} << 50;
inline constexpr Facts kInvalidatesOdd = Facts{1} << 51;
inline constexpr Facts kNotEchoed = Facts{1} << 52;   // Replies: other lists than the Call's, or overfull
inline constexpr Facts kItemsOdd = Facts{1} << 53;    // Replies: results and Write chunks do not pair one to one
inline constexpr Facts kNotWritten = Facts{1} << 54;  // Replies: bytes that no RDMA Write brought
inline constexpr Facts kNotRead = Facts{1} << 55;     // Replies: the Call's Read chunks were not read
inline constexpr Facts kPaddedItem = Facts{1} << 56;  // Replies: an item in a Write chunk has padding
inline constexpr Facts kTrailing = Facts{1} << 57;    // bytes follow the RPC message
inline constexpr Facts kPaddingOdd = Facts{1} << 58;  // XDR padding that is not zero
inline constexpr Facts kDone = Facts{1} << 59;        // RDMA_DONE plays a role
inline constexpr Facts kAfterError = Facts{1} << 60;  // RDMA_ERROR ended Calls before; or the Reply is GARBAGE_ARGS
inline constexpr Facts kSetclientid = Facts{1} << 61;

inline constexpr Facts kAlways = Facts{1} << 62;  // every event has it
// Nothing is known beforehand: every check is asked. Set alone. Malformed, cut and repeated messages, RDMA_ERROR, and
// whatever else is not a Call or a Reply of version 1.
inline constexpr Facts kOdd = Facts{1} << 63;

}  // namespace fact

// The facts of a message, before its checks and after RuleState::Before.
Facts FactsOf(const session::Connection& connection, const RuleState& state, const session::Message& message,
              const session::Transaction* transaction);
// Of a Call that is complete.
Facts FactsOf(const session::Connection& connection, const RuleState& state, const session::Transaction& call);
// Of one packet of an RDMA operation, after RuleState::Before.
Facts FactsOf(const session::Connection& connection, const RuleState& state, const session::RdmaOperation& operation);

}  // namespace stag::conformance
