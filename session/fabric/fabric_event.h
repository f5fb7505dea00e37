// SPDX-License-Identifier: GPL-2.0-or-later
//
// Event: what any RDMA fabric lets an observer learn about a connection: whose it is, when, and one of ten kinds.
// Captures (ib_tracker, iwarp_tracker), live endpoints and the Wireshark plugin all produce these; session/rpcrdma
// consumes them and knows nothing of the fabric.
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
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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
  uint32_t slot = 0;  // a small number of its own among the open connections, for tables (Slots)
  FabricKind fabric = FabricKind::kRoceV2;
  std::array<Endpoint, 2> endpoint;
  bool roles_known = false;
  bool of_slice = false;  // the capture is a part of another: what is missing was left out, and says nothing
  // InfiniBand: the RDMA IP CM service port when the REQ was seen. iWARP: the passive side's TCP port. 0 = unknown.
  uint16_t service_port = 0;
  uint64_t service_id = 0;     // InfiniBand: of the CM REQ; 0 = not seen
  int64_t ack_timeout_ns = 0;  // InfiniBand: Local ACK Timeout of the CM REQ (IBA section 12.7.34); 0 = none known
  // RDMA Reads and Writes that this side issues are not seen: a live end whose device performs them by itself.
  std::array<bool, 2> rdma_hidden{};
  // By side: the newest frame in which it acknowledged what it had received (InfiniBand AETH, TCP), where all that it
  // acknowledged was given out, or is a gap that was. So when it sent that frame, it had received nothing else. 0:
  // none.
  std::array<uint64_t, 2> acknowledged_in{};
  // By side: that frame comes right before the first of its Send that is given out now, but for copies of frames. Where
  // the capture swapped two frames, the acknowledgement came behind the Send.
  std::array<bool, 2> acknowledged_right_before{};
  // By side: how many of the other side's Sends, in the order of their events, it has acknowledged: its adapter has
  // them.
  std::array<uint64_t, 2> sends_received{};
};

// In the order of the alternatives of Event::what.
enum class EventKind : uint8_t {
  kSetup,
  kOpened,
  kClosed,
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kNak,
  kGap,
  kAnomaly
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

// A set-up or tear-down message.
struct Setup {
  SetupMessage message = SetupMessage::kRequest;
  Bytes private_data;                   // consumer private data after any RDMA IP CM header or RFC 6581 prefix
  bool private_data_fixed = false;      // the field has a fixed size and is zero-padded (InfiniBand CM)
  bool private_data_truncated = false;  // cut by the capture
  uint16_t reject_reason = 0;
  // iWARP, kRequest: the stream carried RPC with record marks before; the request came within a record, and so many
  // Calls had no Reply yet.
  bool after_records = false, within_record = false;
  uint32_t unanswered_records = 0;
  // kRequest, kReply: how many RDMA Reads of the peer its sender serves at once (CM Responder Resources, IRD of RFC
  // 6581), and how many it issues at once (Initiator Depth, ORD). Nullopt: not stated.
  std::optional<uint16_t> reads_served, reads_issued;
};

// Data may flow: established by set-up messages, or first traffic of a connection joined mid-stream.
struct Opened {};

// How much a capture has of the packets that one side sent.
struct Extent {
  bool heard = false;    // a packet of it
  uint64_t numbers = 0;  // PSNs of its requests, or bytes of its stream, from the first that is known to the last
  uint64_t missing = 0;  // of these
};

// No more events for this connection.
struct Closed {
  CloseReason reason = CloseReason::kEndOfCapture;
  uint64_t packets = 0;               // that were captured; 0: nothing is known of them
  std::array<Extent, 2> extent = {};  // by sender
};

// What was captured of a Send or of a packet of an RDMA operation.
struct Content {
  Bytes bytes;          // what was captured, from the start; for a Send a contiguous prefix
  uint64_t length = 0;  // bytes on the wire (pad and CRC removed); for a Send with missing == kLost: bytes known of
  Missing missing = Missing::kNothing;  // bytes.size() < length, and why
};

// One whole RDMA Send (all packets).
struct Send : Content {
  bool solicited = false;               // solicited event
  std::optional<uint32_t> invalidated;  // R_Key or STag of a Send with Invalidate
  std::optional<uint32_t> immediate;    // immediate data, host order
};

// One packet of an RDMA operation. A Read Request names the memory that is read by `handle`, `offset` and `length`, and
// has no bytes.
struct RdmaPacket : Content {
  bool first = false;                 // first packet of this RDMA operation
  bool last = false;                  // last packet of it
  uint32_t handle = 0;                // R_Key or STag of the memory that is written or read
  uint64_t offset = 0;                // virtual address or tagged offset of bytes[0]
  uint64_t whole = 0;                 // bytes of the whole operation, as its first packet says (RETH); 0: it does not
  std::optional<uint32_t> immediate;  // Write: immediate data, host order
};
struct Write : RdmaPacket {};
struct ReadRequest : RdmaPacket {};
struct ReadResponse : RdmaPacket {};

// The receiver refused something; the event is from the side that sent the NAK or Terminate.
struct Nak {
  NakKind kind = NakKind::kSequence;
  uint8_t terminate_layer = 0, terminate_type = 0, terminate_code = 0;
  FrameRef refused;  // the frame that is refused, when known (number 0 otherwise)
  // Of RDMA operations that are refused, when known.
  uint32_t handle = 0;
  uint64_t offset = 0, length = 0;
};

// Packets of the side that the event is from are missing from the capture, or what they carry.
struct Gap {
  enum class Of : uint8_t {
    kNumbers,    // PSNs of its requests, or bytes of its stream
    kResponses,  // packets of RDMA Read Responses (InfiniBand), whose PSNs are the other side's
    kContent,    // packets that were captured: they are cut too short, or damaged
  };
  uint64_t size = 0;  // packets (InfiniBand) or bytes (TCP) missing; 0 when the number cannot be told
  Of of = Of::kNumbers;
  // kNumbers: the first frame known by now in which the other side acknowledges the first of them; number 0: none.
  FrameRef acknowledged = {};
};

enum class AnomalyKind : uint8_t {
  kChangedRequest,   // a request packet (InfiniBand) repeats a PSN, or a TCP segment sequence numbers, with other bytes
  kChangedResponse,  // a packet of an RDMA Read Response comes again with other bytes
  kWrongLength,      // the packets of an RDMA operation do not add up to the length that it states
  kEarlyAck,         // a PSN is acknowledged before it is sent
  kBadChecksum,      // the ICRC or the CRC32C of the MPA is wrong, though the frame is whole
};

// What a packet does that the fabric's own protocol does not allow or expect. The event's frame is that of the packet.
// It comes when it is seen: its place among the other events says nothing.
struct Anomaly {
  AnomalyKind kind = AnomalyKind::kChangedRequest;
  // The number of the frame that it is held against: which had the PSN or sequence numbers first (kChanged...), in
  // which the operation began (kWrongLength), which sends the PSN (kEarlyAck); 0: none.
  uint64_t other_frame = 0;
  uint32_t number = 0;                     // the PSN; iWARP: the first sequence number whose byte changed
  uint64_t expected = 0, actual = 0;       // kWrongLength: bytes; kBadChecksum: what it should be and is
  EventKind operation = EventKind::kSend;  // kWrongLength: kWrite or kReadResponse
  bool unverified = false;                 // no checksum shows that nothing was damaged on the way
};

// The head says who and when, `what` the rest.
struct Event {
  Event() = default;
  // Of what the frames from `first` to `last`, the one being processed, carried.
  template <typename Kind>
  Event(const ConnectionInfo& of, Side sender, const FrameRef& first, const FrameRef& last, const Kind& rest)
      : connection(&of), from(sender), frame(last), first_frame(first), now(last), what(rest) {}
  // The rest is filled in where it is.
  template <typename Kind>
  Event(const ConnectionInfo& of, Side sender, const FrameRef& first, const FrameRef& last,
        std::in_place_type_t<Kind> kind)
      : connection(&of), from(sender), frame(last), first_frame(first), now(last), what(kind) {}

  const ConnectionInfo* connection = nullptr;  // never null in OnEvent
  Side from = 0;                               // who sent it
  FrameRef frame;                              // the frame that carried it; of several packets, the last
  FrameRef first_frame;                        // the frame of its first packet
  FrameRef now;  // the frame being processed: later than `frame` when packets were held back for reordering
  // Of a Send or an RDMA packet: the numbers of its packets, both included, as on the wire: PSNs (InfiniBand, RoCE), or
  // the sequence numbers of its bytes (iWARP).
  uint32_t first_number = 0, last_number = 0;
  std::variant<Setup, Opened, Closed, Send, Write, ReadRequest, ReadResponse, Nak, Gap, Anomaly> what;

  EventKind kind() const { return static_cast<EventKind>(what.index()); }
  // Each only of its own kind; rdma() of the three kinds of RDMA packets.
  const Setup& setup() const { return std::get<Setup>(what); }
  const Closed& closed() const { return std::get<Closed>(what); }
  const Send& send() const { return std::get<Send>(what); }
  const Nak& nak() const { return std::get<Nak>(what); }
  const Gap& gap() const { return std::get<Gap>(what); }
  const Anomaly& anomaly() const { return std::get<Anomaly>(what); }
  const RdmaPacket& rdma() const {
    if (const auto* write = std::get_if<Write>(&what)) return *write;
    if (const auto* response = std::get_if<ReadResponse>(&what)) return *response;
    return std::get<ReadRequest>(what);
  }
  // Null: neither a Send nor an RDMA packet.
  const Content* content() const {
    if (const auto* a_send = std::get_if<Send>(&what)) return a_send;
    if (kind() >= EventKind::kWrite && kind() <= EventKind::kReadResponse) return &rdma();
    return nullptr;
  }
  Content* content() { return const_cast<Content*>(std::as_const(*this).content()); }
};

static_assert(std::is_same_v<
              std::variant_alternative_t<static_cast<size_t>(EventKind::kAnomaly), decltype(Event::what)>, Anomaly>);

// What a packet outside of the followed connections tells about a host that may have some.
struct Aside {
  enum class Kind : uint8_t {
    kRefused,     // `from` answers a TCP SYN with a RST
    kUnanswered,  // nothing of `to` answers a TCP SYN for the port of NFS/RDMA, until the capture ends
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

// A requester is to send packets again, or has: an RNR NAK or a sequence NAK, each of them; or the packet that mends
// it. It comes when the packet is seen: its place among the events says nothing.
struct Recovery {
  ConnectionId connection = 0;
  uint32_t slot = 0;  // ConnectionInfo::slot
  Side requester = 0;
  bool rnr = false;     // an RNR NAK
  bool mended = false;  // no NAK: the packet
  FrameRef frame;
};

// A packet of a connection as the capture has it, also one that comes again or too early, in the order of the capture.
// Numbers are as on the wire. Told where packets come again or late, and of as many before as are remembered.
struct Sighting {
  enum class Part : uint8_t {
    kBegins,   // the first one of a connection
    kResumes,  // earlier ones were not told, or were and are now told again: none of them came again or late
    kNext,
    kLast,  // no more until one resumes
  };
  enum class Kind : uint8_t {
    kRequest,  // InfiniBand and RoCE; of the other side, the last four
    kReadRequest,
    kSegment,  // iWARP: TCP
    kReadResponse,
    kAck,
    kNak,  // but for a lack of receives
    kRnrNak,
  };
  // Sequence numbers from `first` on, before `behind` (RFC 2018).
  struct Block {
    uint32_t first = 0, behind = 0;
  };
  ConnectionId connection = 0;
  uint32_t slot = 0;  // ConnectionInfo::slot
  Side from = 0;
  Kind kind = Kind::kRequest;
  Part part = Part::kNext;
  bool acknowledges = false;  // kSegment: `acknowledged` and `sack` say something
  uint8_t blocks = 0;
  uint32_t number = 0;  // the PSN; the sequence number of the first byte
  uint32_t count = 1;   // kReadRequest: of the responses' PSNs, as far as is known; kSegment: of bytes, may be 0
  uint32_t acknowledged = 0;
  std::array<Block, 4> sack = {};
  FrameRef frame;
};

// Gives out ConnectionInfo::slot, for one producer of events. A slot is given back when its connection is closed and
// then given out again, so that there are never more than there were open connections at one time.
class Slots {
 public:
  uint32_t Take() {
    if (free_.empty()) return next_++;
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void Give(uint32_t slot) { free_.push_back(slot); }

 private:
  std::vector<uint32_t> free_;
  uint32_t next_ = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void OnEvent(const Event& event) = 0;
  virtual void OnAside(const Aside&) {}
  virtual void OnRecovery(const Recovery&) {}
  // Before the events of what it carries, if there are any.
  virtual void OnSighting(const Sighting&) {}
};

}  // namespace stag::fabric
