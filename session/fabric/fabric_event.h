// SPDX-License-Identifier: GPL-2.0-or-later
//
// Event: what any RDMA fabric lets an observer learn about a connection. Captures (ib_tracker, iwarp_tracker), live
// endpoints and the Wireshark plugin all produce these; session/rpcrdma consumes them and knows nothing of the fabric.
//
// Order: the events of one connection come in the order in which the RDMA providers performed them (PSN or TCP sequence
// order within a direction; link-level duplicates and retransmissions already removed), not necessarily in frame order.
// When bytes are known to be lost from the capture a kGap comes first, then what follows it.
//
// Lifetime: all views in an Event are valid only during Sink::OnEvent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "protocol/base/address.h"
#include "protocol/base/bytes.h"
#include "protocol/base/frame.h"

namespace stag::fabric {

enum class FabricKind : uint8_t { kInfiniBand, kRoceV1, kRoceV2, kIwarp };

// Counts from 1 in the order in which connections appear in a file; a QP pair or 4-tuple used again gets a new one.
using ConnectionId = uint32_t;

// The two ends of a connection are side 0 and side 1. When `roles_known`, side 0 is the active (connecting) peer.
using Side = uint8_t;

struct ConnectionInfo {
  ConnectionId id = 0;
  FabricKind fabric = FabricKind::kRoceV2;
  std::array<Endpoint, 2> endpoint;
  bool roles_known = false;
  // InfiniBand: the RDMA IP CM service port when the REQ was seen. iWARP: the passive side's TCP port. 0 = unknown.
  uint16_t service_port = 0;
  uint64_t service_id = 0;  // InfiniBand: of the CM REQ; 0 = not seen
  // RDMA Reads and Writes that this side issues are not seen: a live end whose device performs them by itself.
  std::array<bool, 2> rdma_hidden{};
};

enum class EventKind : uint8_t {
  kSetup,         // a set-up or tear-down message: see `setup`, `private_data`
  kOpened,        // data may flow: established by set-up messages, or first traffic of a connection joined mid-stream
  kClosed,        // no more events for this connection: see `close_reason`
  kSend,          // one whole RDMA Send (all packets): `bytes`, `length`, `invalidated`, `missing`
  kWrite,         // (part of) an RDMA Write: `handle`, `offset`, `bytes`, `length`
  kReadRequest,   // an RDMA Read Request: `handle`, `offset`, `length` name the memory that is read
  kReadResponse,  // (part of) an RDMA Read Response: `handle`, `offset` name the memory that was read, `bytes`,
                  // `length`
  kNak,           // the receiver refused something: see `nak`; `from` is the side that sent the NAK or Terminate
  kGap,           // packets of side `from` are missing from the capture
};

enum class SetupMessage : uint8_t { kRequest, kReply, kReady, kReject, kDisconnectRequest, kDisconnectReply };

enum class CloseReason : uint8_t {
  kDisconnect,  // DREQ/DREP, TCP FIN
  kReset,       // TCP RST
  kRejected,    // CM REJ, MPA reject, TCP RST to a SYN: never opened
  kSuperseded,  // the QPs or ports are used by a newer connection
  kEndOfCapture,
  kEvicted,  // dropped to stay within the memory cap
};

enum class NakKind : uint8_t {
  kRnr,       // InfiniBand RNR NAK: no receive was posted
  kSequence,  // PSN sequence error (a packet was lost): not a protocol violation
  kInvalidRequest,
  kRemoteAccess,
  kRemoteOperation,
  kTerminate,  // RDMAP Terminate: `terminate_layer/type/code`
};

// Why bytes of a Send or RDMA operation are not in `bytes`.
enum class Missing : uint8_t { kNothing, kTruncatedByCapture, kLost };

struct Event {
  EventKind kind = EventKind::kGap;
  const ConnectionInfo* connection = nullptr;  // never null in OnEvent
  Side from = 0;                               // who sent it
  FrameRef frame;                              // the frame that carried it; of several packets, the last
  FrameRef first_frame;                        // the frame of its first packet
  FrameRef now;  // the frame being processed: later than `frame` when packets were held back for reordering

  // kSend, kWrite, kReadResponse, kSetup(private data is in `private_data`)
  Bytes bytes;          // what was captured, from the start; for kSend a contiguous prefix
  uint64_t length = 0;  // bytes on the wire (pad and CRC removed); for a kSend with missing == kLost: bytes known of
  Missing missing = Missing::kNothing;  // bytes.size() < length, and why

  // kSend
  std::optional<uint32_t> invalidated;  // R_Key or STag of a Send with Invalidate
  bool solicited = false;               // solicited event
  std::optional<uint32_t> immediate;    // immediate data, host order

  // kWrite, kReadRequest, kReadResponse
  uint32_t handle = 0;  // R_Key or STag
  uint64_t offset = 0;  // virtual address or tagged offset of bytes[0]
  bool first = false;   // first packet of this RDMA operation
  bool last = false;    // last packet of it

  // kNak
  NakKind nak = NakKind::kSequence;
  uint8_t terminate_layer = 0, terminate_type = 0, terminate_code = 0;
  // kNak: the frame that is refused, when known (number 0 otherwise), and for RDMA operations `handle`, `offset`,
  // `length`.
  FrameRef refused;

  // kSetup
  SetupMessage setup = SetupMessage::kRequest;
  Bytes private_data;                   // consumer private data after any RDMA IP CM header or RFC 6581 prefix
  bool private_data_fixed = false;      // the field has a fixed size and is zero-padded (InfiniBand CM)
  bool private_data_truncated = false;  // cut by the capture
  uint16_t reject_reason = 0;
  // iWARP, kRequest: the stream carried RPC with record marks before; the request came within a record, and so many
  // Calls had no Reply yet.
  bool after_records = false, within_record = false;
  uint32_t unanswered_records = 0;
  // kRequest, kReply: how many RDMA Reads of the peer its sender serves at once (CM Responder Resources, IRD of RFC
  // 6581), and how many it issues at once (Initiator Depth, ORD). Nullopt: not said.
  std::optional<uint16_t> reads_served, reads_issued;

  // kClosed
  CloseReason close_reason = CloseReason::kEndOfCapture;

  // kGap: packets (InfiniBand) or bytes (TCP) missing; 0 when the number cannot be told
  uint64_t gap_size = 0;
};

// What a packet outside of the followed connections tells about a host that may have some.
struct Aside {
  enum class Kind : uint8_t {
    kRefused,     // `from` answers a TCP SYN with a RST
    kUnreliable,  // a whole InfiniBand Send in one packet on an unreliable service (UD without CM, UC); the numbers of
                  // the endpoints are 0 and the destination's QP
    kRpcbind,     // UDP or TCP payload from or to port 111
  };
  Kind kind = Kind::kRefused;
  FrameRef frame;
  Endpoint from, to;
  Bytes bytes;          // the captured payload; valid during Sink::OnAside
  uint64_t length = 0;  // of it on the wire
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void OnEvent(const Event& event) = 0;
  virtual void OnAside(const Aside&) {}
};

}  // namespace stag::fabric
