// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionRow: an RPC that has ended, as a row; and TransactionRows, which makes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/digest.h"
#include "analysis/row_head.h"
#include "session/rpcrdma/phases.h"
#include "session/rpcrdma/transaction.h"

namespace stag::analysis {

struct ReadChunkRow {
  uint32_t position = 0;
  size_t segments = 0;
  uint64_t bytes = 0;
};
struct OfferedChunkRow {  // a Write chunk, or the Reply chunk
  uint32_t segments = 0;
  uint64_t offered = 0;
  std::optional<uint64_t> returned;
};
struct PhasesRow {
  PhasesRow() = default;
  explicit PhasesRow(const session::Phases& phases);
  std::optional<results::Duration> to_first_read, pull, service, push, finish, recovery;
};

struct TransactionRow {
  std::string id;
  uint32_t connection = 0;
  std::optional<results::Time> time, reply_time;
  std::optional<results::Elapsed> time_s, reply_time_s;
  std::string_view direction;
  results::Xid xid;
  bool backward = false;
  uint64_t call_frame = 0;
  std::optional<uint64_t> reply_frame;
  results::Omittable<uint64_t> delivered_frame;
  std::optional<results::Duration> rtt;
  std::optional<uint32_t> program, version, procedure;
  std::optional<std::string_view> name;
  std::optional<std::string> operation;
  std::optional<std::vector<std::string_view>> ops;
  std::optional<session::CallForm> call_form;
  session::ReplyForm reply_form = session::ReplyForm::kNone;
  session::Answer answer = session::Answer::kPending;
  results::Omittable<results::Duration> waited;
  std::optional<std::vector<ReadChunkRow>> read_chunks;
  std::optional<std::vector<OfferedChunkRow>> write_chunks;
  std::optional<OfferedChunkRow> reply_chunk;
  bool call_complete = false, reply_complete = false;
  std::optional<uint64_t> call_bytes, reply_bytes;
  std::optional<Sha256::Value> call_sha256, reply_sha256, data_sha256;
  std::optional<uint64_t> data_bytes;
  std::optional<uint32_t> status;
  std::optional<std::string_view> status_name;
  std::optional<PhasesRow> phases;
  bool phases_complete = false;
};

// "2.17": the 17th Call of connection 2.
void PutTransactionId(std::string& out, uint32_t connection, uint64_t number);

// Its storage is used again.
class TransactionRows {
 public:
  // `digests`: the bytes of messages and of their data are hashed; else their digests are null. OpenSSL is asked for
  // its hash now: later there may be no memory for that.
  explicit TransactionRows(bool digests) {
    if (digests) sha_.emplace();
  }
  // The row stays as it is until the next call.
  const TransactionRow& Fill(const session::Transaction& t, int64_t origin_ns);

 private:
  void FillProcedure(const session::Transaction& t);
  void FillChunks(const session::Transaction& t);
  void FillMessages(const session::Transaction& t);

  TransactionRow row_;
  std::string operations_;  // that row_.ops refers to
  std::vector<size_t> ends_;
  std::vector<std::string_view> ops_;  // storage of row_.ops, while that is null
  std::optional<Sha256> sha_;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::ReadChunkRow> : Part<analysis::ReadChunkRow> {
  static constexpr std::array kMembers = {
      Member<&Row::position>("position", "Position of the chunk in the message.").In("bytes"),
      Member<&Row::segments>("segments", "Segments of the chunk."),
      Member<&Row::bytes>("bytes", "Length of the chunk.").In("bytes"),
  };
};
template <>
struct Record<analysis::OfferedChunkRow> : Part<analysis::OfferedChunkRow> {
  static constexpr std::array kMembers = {
      Member<&Row::segments>("segments", "Segments that the Call offers."),
      Member<&Row::offered>("offered", "Their length.").In("bytes"),
      Member<&Row::returned>("returned", "Length that the Reply returns; null: no Reply, or its lists cannot be read.")
          .In("bytes"),
  };
};
template <>
struct Record<analysis::PhasesRow> : Part<analysis::PhasesRow> {
  static constexpr std::array kMembers = {
      Member<&Row::to_first_read>("to_first_read", "From the Call to the first RDMA Read.").Column("to read"),
      Member<&Row::pull>("pull", "From the first RDMA Read to the last Response.").Column("pull"),
      Member<&Row::service>("service", "The server has the whole Call and writes nothing yet.").Column("service"),
      Member<&Row::push>("push", "From the first RDMA Write to the last.").Column("push"),
      Member<&Row::finish>("finish", "From the last RDMA Write to the Reply.").Column("finish"),
      Member<&Row::recovery>("recovery",
                             "A packet of the RPC waited to be delivered: it was lost, or sent too early for its "
                             "receiver. In none of the others; null: none did.")
          .Column("recovery"),
  };
};

template <>
struct Record<analysis::TransactionRow> : Of<analysis::TransactionRow> {
  static constexpr std::string_view kType = "transaction";
  static constexpr std::string_view kDoc =
      "An RPC whose Call was captured, in order of the Calls. A value that the capture does not show is null.";
  static constexpr std::array kMembers = {
      Member<&Row::id>("id", "Name of the RPC in its capture: \"2.17\" is the 17th Call of connection 2."),
      Member<&Row::connection>("connection", "Number of the connection in its capture, from 1.").Column("conn"),
      Member<&Row::time>("time", "Time of the Call: the last packet of its Send, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture.").Column("time"),
      Member<&Row::direction>("direction", "Direction of the Call: c2s, or s2c for a Call of the server (RFC 8167).")
          .Column("dir"),
      Member<&Row::xid>("xid", "The RPC's xid.").Column("xid"),
      Member<&Row::backward>("backward", "The server called.").Use("direction"),
      Member<&Row::call_frame>("call_frame", "The frame of the last packet of the Call's Send.").Column("call"),
      Member<&Row::reply_frame>("reply_frame", "The frame of the last packet of the Reply's Send.").Column("reply"),
      Member<&Row::delivered_frame>(
          "delivered_frame",
          "The frame that delivered the Reply, where another one did: a copy of its last packet, "
          "or, on iWARP, what was missing before it."),
      Member<&Row::reply_time>("reply_time", "Time of the Reply, UTC."),
      Member<&Row::reply_time_s>("reply_time_s", "The same, since the first frame of the capture."),
      Member<&Row::rtt>("rtt_us", "Round-trip time, from the Call to the Reply.").Column("rtt"),
      Member<&Row::program>("program", "RPC program."),
      Member<&Row::version>("version", "Version of the program."),
      Member<&Row::procedure>("procedure", "Number of the procedure."),
      Member<&Row::name>("name", "Name of the procedure."),
      Member<&Row::operation>("operation",
                              "Procedure with its program, as stag latency names it; of a COMPOUND the operation that "
                              "it is about.")
          .Column("operation"),
      Member<&Row::ops>(
          "ops",
          "Operations of a COMPOUND or CB_COMPOUND; null: the procedure is none, or not all of them were captured."),
      Member<&Row::call_form>("call_form", "How the Call was sent."),
      Member<&Row::reply_form>("reply_form", "How the answer was sent; none: no answer was captured."),
      Member<&Row::answer>("answer",
                           "captured: the answer is in the capture, whole or in part. not_captured: it is not, and may "
                           "have been on the wire. pending: it is not, nothing of its direction is missing since the "
                           "Call, and the capture ends before the connection. none: likewise, and the connection "
                           "ended."),
      Member<&Row::waited>("waited_us", "Time from the Call to the end of the capture, where the answer is pending."),
      Member<&Row::read_chunks>("read_chunks", "The Read chunks."),
      Member<&Row::write_chunks>("write_chunks", "The Write chunks."),
      Member<&Row::reply_chunk>("reply_chunk", "The Reply chunk."),
      Member<&Row::call_complete>("call_complete", "Every byte of the Call was seen."),
      Member<&Row::reply_complete>("reply_complete", "Every byte of the Reply was seen."),
      Member<&Row::call_bytes>("call_bytes", "Length of the rebuilt RPC Call.").In("bytes").Column("call"),
      Member<&Row::reply_bytes>("reply_bytes", "Length of the rebuilt RPC Reply.").In("bytes").Column("reply"),
      Member<&Row::call_sha256>("call_sha256", "SHA-256 of the rebuilt RPC Call."),
      Member<&Row::reply_sha256>("reply_sha256", "SHA-256 of the rebuilt RPC Reply."),
      Member<&Row::data_sha256>("data_sha256",
                                "SHA-256 of the DDP-eligible items, those of the Call first, without padding; null: "
                                "there are none."),
      Member<&Row::data_bytes>("data_bytes", "Length of the DDP-eligible items.").In("bytes").Column("data"),
      Member<&Row::status>("status", "NFS status; null where the Reply has none.").Column("status"),
      Member<&Row::status_name>("status_name",
                                "Name of the NFS status, or of the error of RPC (PROG_UNAVAIL) or RPC-over-RDMA "
                                "(ERR_CHUNK)."),
      Member<&Row::phases>("phases_us", "Parts of the round-trip time, in microseconds; null: there is none."),
      Member<&Row::phases_complete>("phases_complete", "Every phase that the RPC has is known."),
  };
};

}  // namespace stag::results
