// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fills the Store: observes the Session and takes the Engine's findings. Copies out of their transient objects what the
// rendering of a frame needs, at the moment it is known.
#pragma once

#include "conformance/engine/engine.h"
#include "plugin/store.h"
#include "session/files/file_accesses.h"

namespace stag::plugin {

class Recorder final : public session::Observer, public conformance::FindingSink {
 public:
  // `reassemble`: rebuild RPCs from chunks and from Sends of several packets.
  Recorder(Store& store, bool reassemble) : store_(store), reassemble_(reassemble) {}
  // The captured bytes of the frame being fed; valid until the next call.
  void set_frame(Bytes frame) { frame_ = frame; }

  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;
  void OnCallComplete(const session::Connection&, const session::Transaction&) override;
  void OnTransaction(const session::Connection&, const session::Transaction&) override;
  void OnFinding(const conformance::Finding&) override;

 private:
  FrameRecord& Now(const session::Connection&);
  ConnectionRecord* Remember(const session::Connection&);
  ShownBytes Show(Bytes bytes);
  void NoteProcedure(const session::Transaction&, TransactionRecord&);
  void RecordInvalidation(const session::Connection&, const session::Transaction*, MessageRecord&);
  // The RPC Reply that came in `message`.
  void RecordReply(const session::Connection&, const session::Transaction&, const MessageRecord* message);
  // A Reply whose Call is not known: what stands whole in the message.
  void RecordOrphan(const session::Connection&, const session::Message&, const MessageRecord&);
  // Finds or makes the bytes of the rebuilt `payload`.
  void Rebuild(const session::Transaction&, const session::Payload& payload, RpcRecord&);
  // Which segment an RDMA operation touched: for the operation's record, and the transaction's list of operations by
  // segment with the index in it (nullptr: no known segment).
  std::vector<TransactionRecord::Moves>* FindSegment(const session::RdmaOperation&, OperationRecord&, size_t* index);
  // The file contents that the transaction moved, and names. `rpc`: the record of the message they are a part of.
  void KeepContents(const session::Transaction&, const session::FileAccess&, const RpcRecord* rpc, FileRecord&);
  void RecordFiles(const session::Connection&, const session::Transaction&);

  Store& store_;
  bool reassemble_;
  Bytes frame_;
  std::vector<std::byte> flat_;  // scratch
  session::FileAccesses files_;  // scratch
};

// As far as it is known who the client is.
Direction DirectionOf(const session::Connection& connection, Side from);

}  // namespace stag::plugin
