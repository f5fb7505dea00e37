// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connection: all that is known of one RPC-over-RDMA connection: who, set-up, thresholds, credits, counters. Owned by
// the Session; observers see it by const reference and must not keep pointers past OnConnectionClosed.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/rpcrdma/header.h"
#include "session/delivery/delivery.h"
#include "session/fabric/fabric_event.h"
#include "session/rpcrdma/credits.h"

namespace stag::session {

using fabric::ConnectionId;
using fabric::Side;

// What is known of one side's CM or MPA private data (RFC 8797).
struct SetupData {
  bool seen = false;       // the REQ/REP or MPA frame was captured (so an absent message is known to be absent)
  bool truncated = false;  // ... but cut by the capture
  FrameRef frame;
  std::vector<std::byte> bytes;  // the consumer private data
  bool fixed_size = false;       // zero-padded InfiniBand field: its size means nothing
  rpcrdma::PrivateDataSearch search;
  std::optional<uint16_t> reads_served, reads_issued;  // see fabric::Event
  // The settings the side is known to have: version 1 data, or the defaults when known to have sent none.
  bool known() const { return seen && !truncated; }
  bool has_data() const { return search.found == rpcrdma::PrivateDataSearch::Found::kData; }
  uint32_t send_bytes() const { return has_data() ? search.data.send_bytes() : rpcrdma::kDefaultThreshold; }
  uint32_t receive_bytes() const { return has_data() ? search.data.receive_bytes() : rpcrdma::kDefaultThreshold; }
  bool remote_invalidation() const { return has_data() && search.data.remote_invalidation(); }
  // `bytes` without the zero padding of a field of fixed size, but never less than a whole RFC 8797 message.
  Bytes meaningful() const;
  // "none", "rfc8797", "rfc8797 other version", "rfc8797 byte-swapped", "rfc8797 cut short" or "other".
  std::string_view kind() const;
};

struct SideCounters {
  uint64_t messages = 0;                           // Sends
  uint64_t send_bytes = 0;                         // bytes in them
  uint64_t write_operations = 0, write_bytes = 0;  // RDMA Writes by this side
  uint64_t read_operations = 0, read_bytes = 0;    // RDMA Reads by this side (bytes requested)
  uint64_t naks = 0, gaps = 0;
  uint64_t send_with_invalidate = 0;
};

// How much the capture has of the packets that one side sent. Code that counts missing packets, waits, or blames asks
// this.
struct Coverage {
  uint64_t gaps = 0;     // times that numbers of its packets are missing: PSNs of its requests, bytes of its stream
  uint64_t unclear = 0;  // times that packets are there of which nothing tells which message they are
  uint64_t gap_in = 0;   // the newest frame that shows one of both: its order
  FrameRef last;         // its newest frame, of those with events
  FrameRef before_gap;   // the same, before the newest of both
  // Of a connection that has closed.
  bool heard = true;     // a packet of it was captured
  bool sampled = false;  // of its numbers more than a tenth are missing
};

enum class Proof : uint8_t {
  kUnknown,  // nothing seen that tells
  kRpcRdma,  // private data, service port, or a message that can be nothing else
};

struct Connection {
  fabric::ConnectionInfo info;
  Proof proof = Proof::kUnknown;
  FrameRef first_frame, last_frame;
  FrameRef now;  // the frame being processed (Event::now): where what follows from the current call became provable

  bool setup_seen = false;  // joined from the start: request (and, for opened ones, reply) were captured
  uint64_t packets = 0;     // of a connection that has closed: captured, besides those that set it up
  bool rejected = false;
  bool opened = false;
  bool closed = false;
  fabric::CloseReason close_reason = fabric::CloseReason::kEndOfCapture;
  FrameRef close_frame;
  uint16_t reject_reason = 0;
  // Something of this connection was lost at some time, packets by the capture or a transaction for want of memory;
  // and in the current stretch (until no Call is outstanding that was sent before or soon after the loss, or before the
  // capture joined): history rules are silent while `disturbed`.
  bool lossy = false;
  bool disturbed = false;

  std::array<SetupData, 2> setup;  // by side

  // The client: the active side, or, joined mid-stream, the side whose traffic says so (known after the first message).
  bool client_known = false;
  Side client = 0;

  // RFC 8166 section 3.3.2 and RFC 8797 section 4.2: the largest Send in bytes from `side`; nullopt: unknown.
  std::optional<uint32_t> threshold(Side side) const {
    const SetupData &sender = setup[side], &receiver = setup[1 - side];
    if (!sender.known() || !receiver.known()) return std::nullopt;
    return std::min(sender.send_bytes(), receiver.receive_bytes());
  }
  // RFC 8797 section 4.1: both sides support remote invalidation; nullopt: unknown.
  std::optional<bool> remote_invalidation() const;

  std::array<Coverage, 2> coverage;  // by sending side
  // Of a connection that has closed: the capture has one direction alone, or a sample. Then nothing that is missing was
  // missing on the wire.
  bool one_sided() const { return !coverage[0].heard || !coverage[1].heard; }
  bool sampled() const { return coverage[0].sampled || coverage[1].sampled; }

  // Observer::WantsDeliveries: copies of requests and segments that nobody needed, by sender; and since when packets
  // may have waited for all that is known now, the earliest (ns; delivery::kNoTime: none).
  std::array<uint64_t, 2> spurious{};
  int64_t troubled_since = delivery::kNoTime;

  std::array<CreditState, 2> credits;    // by requesting side
  std::array<SideCounters, 2> counters;  // by sending side

  // It carries GlusterFS, which borrows the header of RPC-over-RDMA and does not keep its rules: it is not judged.
  bool foreign = false;
  uint64_t calls = 0, replies = 0, errors = 0;
  uint64_t backward_calls = 0;
  uint64_t replies_without_call = 0;  // of Calls that were not captured (or never were)
  uint64_t truncated_messages = 0;
  bool unclear_messages = false;      // Sends of which nothing tells whether they are Calls or Replies
  uint64_t evicted_transactions = 0;  // dropped to stay within the memory cap
  uint64_t other_messages = 0;        // Sends that are no RPC-over-RDMA message

  bool IsClientToServer(Side from) const { return from == client; }
};

}  // namespace stag::session
