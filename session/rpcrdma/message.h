// SPDX-License-Identifier: GPL-2.0-or-later
//
// Message: one RPC-over-RDMA message (one RDMA Send), decoded. Reused for message after message; valid, with its views,
// during Observer::OnMessage.
#pragma once

#include <optional>

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "session/fabric/fabric_event.h"

namespace stag::session {

enum class Role : uint8_t {
  kUnknown,  // not decodable, or its Call was not captured and nothing else tells
  kCall,
  kReply,
  kError,  // RDMA_ERROR
  kDone,   // RDMA_DONE
};

struct Message {
  FrameRef frame, first_frame;  // last and first packet
  fabric::Side from = 0;
  Bytes bytes;          // captured prefix of the Send
  uint64_t length = 0;  // bytes of the Send on the wire (known of, when lost)
  fabric::Missing missing = fabric::Missing::kNothing;
  std::optional<uint32_t> invalidated;  // handle of a Send with Invalidate

  rpcrdma::Header header;
  Role role = Role::kUnknown;
  // A reply or error whose xid no outstanding Call has (`transaction` is null in OnMessage then).
  bool orphan = false;
  // An orphan whose Call may yet come: the capture may have swapped two frames. OnOrphan follows, or, with its Call,
  // OnMessage once more, where `again` is set.
  bool early = false, again = false;
  // It came again: same xid outstanding (Call) or just completed (Reply).
  bool repeated = false;

  // The inline Payload stream after the header; empty when the header is not kOk.
  Bytes payload;
  uint64_t payload_length = 0;  // on the wire
  // Headers of the inline RPC message (RDMA_MSG, and RDMA_MSGP as far as no padding comes before them).
  rpc::CallHeader call;
  rpc::ReplyHeader reply;
};

}  // namespace stag::session
