// SPDX-License-Identifier: GPL-2.0-or-later
//
// AnswerStatus: what came of a Call, recorded or live, in one word; and whether a live Reply is the recorded one. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/base/serialize.h"
#include "replay/recording/recorded_rpc.h"
#include "replay/replay/plan.h"

namespace stag::replay {

struct AnswerStatus {
  enum class Kind : uint8_t {
    kNone,        // the recording shows no answer
    kStatus,      // an RPC Reply with success; `code`: the status of NFS, MOUNT, ... (0 where there is none)
    kAccepted,    // ... with another accept_stat: `code`
    kDenied,      // MSG_DENIED
    kRdmaError,   // RDMA_ERROR: `code` is rdma_err
    kUnreadable,  // something else
    kLost,        // live: the connection ended first
    kTimeout,     // live: nothing came in time
    kRefused      // live: it could not be sent
  };
  Kind kind = Kind::kNone;
  uint32_t code = 0;
  friend bool operator==(const AnswerStatus&, const AnswerStatus&) = default;
};
STAG_MEMBERS(AnswerStatus, kind, code)

AnswerStatus StatusOf(const recording::RecordedRpc& rpc);
// Of a live Reply and the walk over it.
AnswerStatus StatusOf(const rpc::ReplyHeader& header, const nfs::Walk& walk);
// Whether a server that gives `live` to a Call that once went well asks to send it again later: NFS3ERR_JUKEBOX,
// NFS4ERR_DELAY, NFS4ERR_GRACE.
bool PutOff(const AnswerStatus& live, const recording::RecordedRpc& rpc);
// "NFS3ERR_NOENT", "PROC_UNAVAIL", "ERR_CHUNK", "connection lost".
std::string Describe(const AnswerStatus& status, const PlannedProcedure& procedure);

// Whether a live Reply is, put together, the recorded one byte for byte, but for the xid and for the slot that SEQUENCE
// repeats: `rpc` has the recorded Reply, `reply` is the walk over `message`.
bool IsRecordedReply(const recording::RecordedRpc& rpc, const Values& reply, Bytes message,
                     std::span<const Bytes> chunks);

}  // namespace stag::replay
