// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recorder: an Observer that keeps what tests look at, with the rebuilt messages copied out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "session/rpcrdma/session.h"

namespace stag::session {

struct Ended {
  uint32_t xid = 0;
  fabric::ConnectionId connection = 0;
  bool backward = false;
  Outcome outcome = Outcome::kOutstanding;
  CallForm call_form = CallForm::kShort;
  ReplyForm reply_form = ReplyForm::kNone;
  bool call_complete = false, reply_complete = false;
  RebuildDefect call_defect = RebuildDefect::kNone, reply_defect = RebuildDefect::kNone;
  std::vector<std::byte> call, reply;
  std::vector<std::byte> data;  // of the complete items, call first
  bool data_complete = true;
  uint64_t call_frame = 0, reply_frame = 0;
  std::vector<Operation> operations;
  bool disturbed = false;
  bool done_seen = false;
  uint64_t moved = 0;
};

class Recorder : public Observer {
 public:
  void OnMessage(const Connection&, const Message& message, const Transaction* transaction) override {
    matched += transaction != nullptr;
    if (message.again) return;
    roles.push_back(message.role);
    early += message.early;
    orphans += message.orphan && !message.early;
    repeated += message.repeated;
  }
  void OnOrphan(const Connection&, const Message& message) override { orphans += message.orphan; }
  void OnRdma(const Connection&, const RdmaOperation& operation) override {
    unresolved += operation.segment == nullptr;
    overruns += operation.overrun;
    late += operation.retired;
  }
  void OnGap(const Connection&, const fabric::Event&) override { ++gaps; }
  void OnCallComplete(const Connection&, const Transaction& transaction) override {
    completed.push_back(transaction.xid);
  }
  void OnTransaction(const Connection&, const Transaction& t) override {
    Ended e;
    e.xid = t.xid;
    e.connection = t.connection;
    e.backward = t.backward;
    e.outcome = t.outcome;
    e.call_form = t.call.form;
    e.reply_form = t.reply.form;
    e.call_complete = t.call.complete;
    e.reply_complete = t.reply.complete;
    e.call_defect = t.call.defect;
    e.reply_defect = t.reply.defect;
    (void)t.CopyTo(t.call, e.call);
    (void)t.CopyTo(t.reply, e.reply);
    for (const Payload* payload : t.messages())
      for (const DataItem& item : payload->items) {
        e.data_complete = e.data_complete && item.complete;
        t.ForEach(*payload, item.unreduced_offset, item.item.length,
                  [&](Bytes bytes, uint64_t) { e.data.insert(e.data.end(), bytes.begin(), bytes.end()); });
      }
    e.call_frame = t.call.frame.number;
    e.reply_frame = t.reply.frame.number;
    e.operations = t.operations;
    e.disturbed = t.disturbed;
    e.done_seen = t.done_seen;
    for (const SegmentRecord& segment : t.call.segments) e.moved += segment.moved.total();
    ended.push_back(e);
  }
  void OnConnection(const Connection& connection, const fabric::Event&) override { last = connection; }
  void OnConnectionClosed(const Connection& connection, const fabric::Event&) override { closed.push_back(connection); }

  std::vector<Role> roles;
  std::vector<uint32_t> completed;
  std::vector<Ended> ended;
  std::vector<Connection> closed;
  Connection last;
  int orphans = 0, early = 0, repeated = 0, matched = 0, unresolved = 0, overruns = 0, late = 0, gaps = 0;
};

}  // namespace stag::session
