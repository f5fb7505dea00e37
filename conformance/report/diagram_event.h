// SPDX-License-Identifier: GPL-2.0-or-later
//
// DiagramEvent: one thing that one side of a connection did, as a ladder diagram shows it: a set-up message, a Send, an
// RDMA operation, a NAK; also a gap in the capture and the end of the connection. A small value, made once per event.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "conformance/engine/finding.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

struct DiagramEvent {
  enum class Kind : uint8_t { kSetup, kSend, kWrite, kReadRequest, kReadResponse, kNak, kGap, kClosed, kAnomaly };

  uint64_t serial = 0;  // counts the entries of a file
  Kind kind = Kind::kSend;
  bool client_to_server = true;
  FrameRef frame;            // of its last packet so far
  uint64_t first_frame = 0;  // of its first packet
  uint64_t now = 0;          // the frame that was being processed: where what follows from it is provable
  uint64_t length = 0;       // bytes: of the Send, or moved by the RDMA operation so far
  bool last = true;          // the operation has no further packets

  // The transaction it belongs to, and whether the server called; nullopt: not known.
  std::optional<uint32_t> xid;
  std::optional<bool> backward;

  // kSend
  session::Role role = session::Role::kUnknown;
  uint8_t words = 0;  // fixed header words that were there
  uint32_t proc = 0, version = 0, credit = 0, error = 0;
  uint32_t read_segments = 0, write_chunks = 0;
  uint64_t read_bytes = 0, write_bytes = 0, reply_bytes = 0;
  bool reply_chunk = false, cut = false;  // cut: bytes of the Send are not in the capture
  std::optional<uint32_t> invalidated;
  std::optional<Procedure> procedure;
  std::array<uint32_t, 6> operations{};  // of a COMPOUND, as many as there is room for
  uint32_t operation_count = 0;          // of them all

  // kWrite, kReadRequest, kReadResponse
  uint32_t handle = 0;
  uint64_t offset = 0;  // remote address of the first byte
  bool in_segment = false, overrun = false, retired = false;
  session::ListKind list = session::ListKind::kReadList;
  uint32_t chunk = 0;
  uint64_t segment_offset = 0;

  // kSetup, kNak, kClosed, kAnomaly
  fabric::AnomalyKind anomaly = fabric::AnomalyKind::kChangedRequest;
  fabric::SetupMessage setup = fabric::SetupMessage::kRequest;
  fabric::NakKind nak = fabric::NakKind::kSequence;
  std::array<uint8_t, 3> terminate{};  // layer, type, code
  uint16_t reject_reason = 0;
  fabric::CloseReason close_reason = fabric::CloseReason::kEndOfCapture;
  std::string private_data;  // kSetup: for people; empty: none
};

// An RDMA operation.
inline bool IsRdma(DiagramEvent::Kind kind) {
  using enum DiagramEvent::Kind;
  return kind == kWrite || kind == kReadRequest || kind == kReadResponse;
}

DiagramEvent MakeSetupEvent(const session::Connection& connection, const fabric::Event& event);
DiagramEvent MakeSendEvent(const session::Connection& connection, const session::Message& message,
                           const session::Transaction* transaction);
// What is known of a Call once it is complete: the procedure of a Long Call, the operations of a COMPOUND.
void TakeOperations(DiagramEvent& entry, const session::Transaction& transaction);
DiagramEvent MakeRdmaEvent(const session::Connection& connection, const session::RdmaOperation& operation);
DiagramEvent MakeOtherEvent(const session::Connection& connection,
                            const fabric::Event& event);  // kNak, kGap, kClosed, kAnomaly

// What it is, in a few words: "Call NFSv3 READ", "RDMA Write, 4,096 bytes", "NAK: remote access error".
std::string EventTitle(const DiagramEvent& entry);
// More of it: "xid 0x1a2b3c4d, RDMA_MSG, 132 bytes, credits 32, ..."; may be empty.
std::string EventDetail(const DiagramEvent& entry);

}  // namespace stag::conformance
