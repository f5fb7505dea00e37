// SPDX-License-Identifier: GPL-2.0-or-later
//
// RecordStoreBuilder: observes the session and takes the engine's findings. Copies out of their transient objects what
// the rendering of a frame needs, at the moment it is known. Allocates only what the store keeps.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "conformance/engine/engine.h"
#include "plugin/record_store.h"
#include "session/files/file_accesses.h"

namespace stag::plugin {

// Others carry RDMA, but not RPC.
inline bool IsOurs(const session::Connection& connection) { return connection.proof == session::Proof::kRpcRdma; }

class RecordStoreBuilder final : public session::Observer, public conformance::FindingSink, public transport::NoteSink {
 public:
  // `reassemble`: rebuild RPCs from chunks and from Sends of several packets.
  RecordStoreBuilder(RecordStore& store, bool reassemble) : store_(store), reassemble_(reassemble) {}
  // The frame being fed, and its captured bytes; valid until the next call.
  void set_frame(uint64_t number, Bytes frame) {
    number_ = number;
    frame_ = frame;
  }

  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnOrphan(const session::Connection&, const session::Message&) override;
  void OnConnectionClosed(const session::Connection&, const fabric::Event&) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;
  void OnCallComplete(const session::Connection&, const session::Transaction&) override;
  void OnTransaction(const session::Connection&, const session::Transaction&) override;
  void OnFinding(const conformance::Finding&) override;
  void OnNote(const fabric::ConnectionInfo&, const transport::Note&) override;

 private:
  // The frame at which records are made now.
  static uint64_t Now(const session::Connection& connection) { return connection.now.number; }
  ConnectionRecord* Remember(const session::Connection&);
  ShownBytes Show(Bytes bytes);
  HeaderRecord HeaderOf(const rpcrdma::Header&);
  // "SEQUENCE PUTFH READ".
  const std::string* NamesOf(const std::vector<session::Operation>&, bool callback);
  void NoteProcedure(const session::Transaction&, TransactionRecord&);
  void RecordInvalidation(const session::Connection&, const session::Transaction*, MessageRecord&, uint64_t frame);
  // The RPC Reply that came in `message`.
  void RecordReply(const session::Connection&, const session::Transaction&, const MessageRecord* message);
  // A Reply whose Call is not known, in a record of `frame`: what stands whole in the message.
  void RecordOrphan(const session::Message&, const MessageRecord&, uint64_t frame);
  // What the transaction shows of one of its messages, and the message of it; `frame`: which shows the message.
  void Link(const session::Connection&, const session::Message&, const session::Transaction&, MessageRecord&,
            uint64_t frame);
  // The Call of an orphan came.
  void Pair(const session::Connection&, const session::Message&, const session::Transaction&);
  // A copy of bytes of a rebuilt message; nullptr: not all were captured and kept, or the limit would be passed.
  const std::byte* Copy(const session::Transaction&, const session::Payload&, uint64_t offset, uint64_t length);
  // Finds or makes the bytes of the rebuilt `payload`.
  void Rebuild(const session::Transaction&, const session::Payload& payload, RpcRecord&);
  // Which segment an RDMA operation touched: for the operation's record. Returns the operations on that segment
  // (nullptr: no known segment).
  TransactionRecord::Moves* FindSegment(const session::RdmaOperation&, OperationRecord&);
  // Adds a note for a gap or a refusal.
  NoteRecord& AddNote(const session::Connection&, const fabric::Event&);
  std::span<const std::string* const> SpecificationsOf(const conformance::RuleInfo&, conformance::Profile);
  // The file contents that the transaction moved, and names. `rpc`: the record of the message they are a part of.
  void KeepContents(const session::Transaction&, const session::FileAccess&, const RpcRecord* rpc, FileRecord&);
  void RecordFiles(const session::Connection&, const session::Transaction&);

  RecordStore& store_;
  bool reassemble_;
  uint64_t number_ = 0;
  Bytes frame_;
  // Orphans whose Calls may yet come: by connection, the record, and the frame that shows it.
  std::unordered_map<ConnectionId, std::pair<MessageRecord*, uint64_t>> early_;
  std::unordered_map<std::string, const std::string*, TextHash, std::equal_to<>> operation_names_;
  std::map<std::pair<const conformance::RuleInfo*, conformance::Profile>, std::span<const std::string* const>> sources_;
  session::FileAccesses files_;  // scratch
};

// As far as it is known who the client is.
Direction DirectionOf(const session::Connection& connection, Side from);

}  // namespace stag::plugin
