// SPDX-License-Identifier: GPL-2.0-or-later
//
// Session: fabric events in; connections, messages and transactions out. The main flow of the toolkit runs through
// here: fabric::Decoder -> Session (a fabric::Sink) -> Observers (lists, extraction, conformance rules, Wireshark
// trees).
//
// One pass; memory is bounded by SessionOptions; nothing is allocated per packet in the steady state (transactions are
// recycled with their storage).
#pragma once

#include <memory>
#include <vector>

#include "session/fabric/fabric_event.h"
#include "session/rpcrdma/connection.h"
#include "session/rpcrdma/judged.h"
#include "session/rpcrdma/message.h"
#include "session/rpcrdma/transaction.h"

namespace stag::session {

struct NumberRange {
  uint32_t first = 0, last = 0;  // both included
};

struct SessionOptions {
  // Keep the bytes of items moved by RDMA (Write chunks, Read chunks at Position > 0), for hashing or extraction.
  // Special chunks are always kept. Without it, such items are accounted for by ranges and may still be complete.
  bool keep_bulk = true;
  uint64_t memory_limit = 256u << 20;   // bytes, over all connections
  uint32_t max_outstanding = 1u << 16;  // Calls without an answer, per connection
  // Connections that are RPC-over-RDMA because the user says so: by service port (iWARP: the TCP port of either end),
  // and by queue pair number of either end. Looked at while a connection is not known for what it is: may change
  // meanwhile.
  const std::vector<NumberRange>* service_ports = nullptr;
  const std::vector<NumberRange>* queue_pairs = nullptr;
};

struct SessionStats {
  uint64_t connections = 0;  // RPC-over-RDMA connections
  uint64_t transactions = 0;
  uint64_t messages = 0;
  uint64_t evicted_transactions = 0;
  uint64_t dropped_bytes = 0;  // payload bytes not kept for lack of memory
  uint64_t copies_given_up =
      0;          // connections of which it is not known, for lack of memory, which copies were delivered
  Judged judged;  // of connections that have closed
};

// One RDMA operation packet, with what it belongs to.
struct RdmaOperation {
  const fabric::Event* event = nullptr;  // kWrite, kReadRequest or kReadResponse
  // The transaction and segment whose memory it touches; null when no advertised segment holds its first byte.
  const Transaction* transaction = nullptr;
  const SegmentRecord* segment = nullptr;
  uint64_t segment_offset = 0;  // of the packet's offset in the segment
  bool overrun = false;         // goes past the end of the segment
  bool retired = false;         // the transaction had ended before (its segment was looked up in a short history) ...
  bool settled = false;         // ... and all observers have heard of that (Observer::WantsDeliveries)
};

// All calls come in the order of the events. Connection::now is the frame being processed: the frame where whatever
// follows from the call became provable (the event's own frame may be earlier when packets were held back for
// reordering).
class Observer {
 public:
  virtual ~Observer() = default;
  // A new connection that is, or may be, RPC-over-RDMA; then its set-up messages and changes of state (event kinds
  // kSetup, kOpened). A connection is listed and judged only once connection.proof is kRpcRdma.
  virtual void OnConnection(const Connection&, const fabric::Event&) {}
  virtual void OnConnectionClosed(const Connection&, const fabric::Event&) {}
  // A Send. For a Call, `transaction` is the new transaction; for a Reply or RDMA_ERROR the one it ends, with the
  // reply's fields filled and its payload rebuilt; null when there is none. Credits are those from before this message.
  virtual void OnMessage(const Connection&, const Message&, const Transaction* /*transaction*/) {}
  // No Call comes for a message that was given as an early orphan (Message::early).
  virtual void OnOrphan(const Connection&, const Message&) {}
  virtual void OnRdma(const Connection&, const RdmaOperation&) {}
  virtual void OnNak(const Connection&, const fabric::Event&) {}
  virtual void OnGap(const Connection&, const fabric::Event&) {}
  virtual void OnAnomaly(const Connection&, const fabric::Event&) {}
  // The unreduced Call is as complete as it will be: at its Send, at the last Read Response, or at the Reply.
  virtual void OnCallComplete(const Connection&, const Transaction&) {}
  // The answer to the outstanding Call may be missing from the capture from now on.
  virtual void OnAnswerInDoubt(const Connection&, const Transaction&) {}
  // Packets are to be sent again, or were; also of a connection that is not proven yet.
  virtual void OnRecovery(const Connection&, const fabric::Recovery&) {}
  // Whether the observer wants to know which frames delivered what, and what packets waited for. Where the Decoder has
  // DecoderOptions::sightings, OnTransaction of a transaction that was answered comes to it when that is known, or
  // cannot be known any more; and so do the next two: a packet of the connection waited; a copy of one was sent for
  // nothing. Asked once.
  virtual bool WantsDeliveries() const { return false; }
  // Whether OnTransaction looks at the bytes of a Reply (Payload::stream) also where it comes later. Asked once.
  virtual bool WantsBytesLater() const { return true; }
  virtual void OnWait(const Connection&, const Wait&) {}
  virtual void OnSpurious(const Connection&, const Spurious&) {}
  // What a packet outside of the followed connections tells.
  virtual void OnAside(const fabric::Aside&) {}
  // The transaction ended (see outcome); after this it is recycled.
  virtual void OnTransaction(const Connection&, const Transaction&) {}
};

class Session final : public fabric::Sink {
 public:
  // Observers are called in order; they must outlive the Session.
  Session(const SessionOptions& options, std::vector<Observer*> observers);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void OnEvent(const fabric::Event& event) override;
  void OnAside(const fabric::Aside& aside) override;
  void OnRecovery(const fabric::Recovery& recovery) override;
  void OnSighting(const fabric::Sighting& sighting) override;
  // End of capture, after Decoder::Finish: outstanding transactions end as kUnanswered.
  void Finish();
  const SessionStats& stats() const;
  // Whether an observer does (Observer::WantsDeliveries).
  bool wants_deliveries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::session
