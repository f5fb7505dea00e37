// SPDX-License-Identifier: GPL-2.0-or-later
//
// Session::Impl: what session.cc (connections, and how transactions end), session_messages.cc (Sends) and
// session_memory.cc (RDMA operations) share. Nobody else includes this.
#pragma once

#include <array>
#include <vector>

#include "session/rpcrdma/deliveries.h"
#include "session/rpcrdma/multi_map.h"
#include "session/rpcrdma/outstanding_peak.h"
#include "session/rpcrdma/session.h"
#include "session/rpcrdma/transaction_pool.h"

namespace stag::session {

struct SegmentRef {
  TransactionEntry* entry = nullptr;
  uint32_t index = 0;
  bool of_reply = false;  // in Transaction::reply (legacy)
};

inline constexpr uint32_t kEnded = 32;  // that a connection remembers

// A transaction that has ended. `entry`: it may see late RDMA operations; null: it has no segments, or was given up.
struct EndedTransaction {
  uint32_t xid = 0;
  Side requester = 0;
  bool replied = false;
  TransactionEntry* entry = nullptr;
};

// An orphan that waits for its Call, with its bytes.
struct EarlyReply {
  bool waiting = false;
  uint32_t xid = 0;
  uint32_t patience = 0;
  uint64_t number = 0;  // among its sender's Sends, from 1
  fabric::Event event;
  std::vector<std::byte> bytes;
};

struct ConnectionState {
  explicit ConnectionState(Budget& budget) : charge(budget) {}
  // Charges its storage, after some of it may have grown.
  void SetCharge();

  Charge charge;
  Connection connection;
  std::array<MultiMap<TransactionEntry*>, 2> outstanding;  // by requesting side: xid
  std::array<MultiMap<TransactionEntry*>, 2>
      reading;                                 // legacy replies whose Read list waits for RDMA_DONE, by requesting side
  std::array<MultiMap<SegmentRef>, 2> memory;  // by owning side: handle
  std::array<uint64_t, 2> sends{};             // by side: Sends so far
  EarlyReply early;
  SegmentRef last_hit;                       // the segment that the previous RDMA packet touched ...
  Side last_hit_owner = 0;                   // ... and whose memory it is
  uint64_t calls = 0;                        // transactions that were opened
  uint64_t gap_serial = 0;                   // the newest transaction when something was last lost
  std::array<uint64_t, 2> missing_serial{};  // by sender: the same, of what that side sent
  // By requesting side: outstanding Calls whose answer may be missing, without and with a proof; and the most that were
  // outstanding while there were none of these.
  std::array<uint32_t, 2> in_doubt{}, proven{}, most_at_once{};
  std::array<OutstandingPeak, 2> peak;
  Judged judged;                               // of transactions that have
  OnConnection live;                           // transactions that have not ended
  std::array<EndedTransaction, kEnded> ended;  // and the last that have, in turn
  uint32_t endings = 0;
  EndedTransaction& EndedAt(uint32_t ending) { return ended[ending % kEnded]; }
  // Null: nobody wants it, or no packet came yet.
  std::unique_ptr<Deliveries> deliveries;
  std::unique_ptr<DeliveryNotes> notes;  // of `deliveries`
  uint32_t sightings = 0;
  bool deliveries_given_up = false;
};

inline void ConnectionState::SetCharge() {
  constexpr uint64_t kCost = sizeof(ConnectionState) + 512;
  uint64_t bytes = kCost + early.bytes.capacity();
  if (deliveries) bytes += deliveries->storage();
  for (size_t side = 0; side < 2; ++side)
    bytes += outstanding[side].storage() + reading[side].storage() + memory[side].storage() +
             connection.setup[side].bytes.capacity() + peak[side].storage();
  charge.Set(bytes);
}

template <typename Value>
void Unlist(MultiMap<Value>& table, int32_t& at) {
  if (at >= 0) table.EraseAt(at);
  at = -1;
}

struct Session::Impl {
  Impl(const SessionOptions& session_options, std::vector<Observer*> session_observers)
      : options(session_options), observers(std::move(session_observers)), budget(options.memory_limit), pool(budget) {
    for (Observer* observer : observers) {
      const bool waits = observer->WantsDeliveries();
      (waits ? patient : prompt).push_back(observer);
      bytes_later = bytes_later || (waits && observer->WantsBytesLater());
    }
  }

  template <typename Fn>
  void Notify(Fn fn) {
    for (Observer* observer : observers) fn(*observer);
  }

  void TellEnd(const std::vector<Observer*>& to, const Connection& connection, const Transaction& t) const {
    for (Observer* observer : to) observer->OnTransaction(connection, t);
  }
  void OnEvent(const fabric::Event& event);
  ConnectionState& Find(const fabric::Event& event);
  ConnectionState& Create(const fabric::Event& event);
  void OnSetup(ConnectionState& state, const fabric::Event& event);
  void OnSend(ConnectionState& state, const fabric::Event& event);
  void OnRdma(ConnectionState& state, const fabric::Event& event);
  void OnGap(ConnectionState& state, const fabric::Event& event);
  // Something of the connection is not known from now on: packets are missing, or memory for a transaction.
  void Lose(ConnectionState& state);
  // Answers that may be missing (session_answers.cc).
  void MissAnswers(ConnectionState& state, Side from, const FrameRef& frame, const FrameRef& acknowledged);
  void DoubtAnswer(ConnectionState& state, TransactionEntry& entry, const FrameRef& proof);
  static void ProveAnswer(ConnectionState& state, TransactionEntry& entry, const FrameRef& frame);
  void ProveByCall(ConnectionState& state, const TransactionEntry& call);
  static void CountOut(ConnectionState& state, TransactionEntry& entry);
  static void ProveByAnswer(ConnectionState& state, const TransactionEntry& answered);
  static void SettleAnswer(ConnectionState& state, TransactionEntry& entry);
  static Answer AnswerOf(const Connection& connection, const TransactionEntry& entry);
  void Close(ConnectionState& state, const fabric::Event& event);
  // Which frames delivered what (session_deliveries.cc).
  class Notes;
  void OnSighting(const fabric::Sighting& sighting);
  void CarryCall(ConnectionState& state, TransactionEntry& entry, const fabric::Event& event);
  static void CarryReply(ConnectionState& state, TransactionEntry& entry, const fabric::Event& event);
  static void CarryRdma(ConnectionState& state, TransactionEntry& entry, const fabric::Event& event);
  static void ProveCall(ConnectionState& state, TransactionEntry& entry, const fabric::Event& event);
  void EndKnown(ConnectionState& state);
  void EndAwaited(ConnectionState& state);
  void EndFirst(ConnectionState& state, size_t count);
  void GiveUpDeliveries(ConnectionState& state);
  // How much could be judged: of a transaction that ends, and of a connection that closes.
  static void CountJudged(ConnectionState& state, const TransactionEntry& entry);
  void CountJudged(const ConnectionState& state);

  // Parts of OnSend.
  bool IsNamed(const fabric::ConnectionInfo& info) const;
  bool Decode(ConnectionState& state, const fabric::Event& event);
  Role RoleOf(const ConnectionState& state) const;
  bool MayBeAnswer(const Connection& connection) const;
  void FindClient(ConnectionState& state);
  void Call(ConnectionState& state, const fabric::Event& event);
  void OnAnswer(ConnectionState& state, const fabric::Event& event);
  void Done(ConnectionState& state);
  void Orphan(ConnectionState& state, const fabric::Event& event);
  bool MayPrecedeItsCall(const ConnectionState& state) const;
  void Keep(ConnectionState& state, const fabric::Event& event);
  void Count(Connection& connection);
  bool ShowsNoCall(const ConnectionState& state) const;
  void FlushEarly(ConnectionState& state);

  // Charges what the connection's storage has grown by.
  void CountStorage(ConnectionState& state) {
    connection_bytes -= state.charge.bytes();
    state.SetCharge();
    connection_bytes += state.charge.bytes();
  }
  // The same where one of these tables may have.
  void CountGrowth(ConnectionState& state, MultiMap<TransactionEntry*>& xids, MultiMap<SegmentRef>& handles) {
    const bool grown = xids.TakeGrowth();
    if (handles.TakeGrowth() || grown) [[unlikely]]
      CountStorage(state);
  }
  void CompleteCall(ConnectionState& state, TransactionEntry& entry);
  void TakeGrant(CreditState& credits, bool ends_call, uint64_t number) const;
  void TakeSend(Half& half) const;
  void TakeReply(TransactionEntry& entry, const fabric::Event& event);
  void TakeReadList(Half& half) const;
  void End(ConnectionState& state, TransactionEntry& entry, Outcome outcome);
  void Retire(ConnectionState& state, TransactionEntry& entry);
  void Forget(ConnectionState& state, TransactionEntry& entry);
  void Register(ConnectionState& state, TransactionEntry& entry, Side owner, bool of_reply);
  void Unregister(ConnectionState& state, TransactionEntry& entry, Side owner, bool of_reply);
  SegmentRef Lookup(ConnectionState& state, Side owner, fabric::EventKind kind, const fabric::RdmaPacket& packet,
                    bool& gave_up);
  void Store(const SegmentRef& ref, uint64_t at, Bytes bytes);
  // Between events: gives up what is over the memory limit. Nothing else evicts.
  void Relieve() {
    if (budget.over()) [[unlikely]]
      GiveUp();
  }
  [[gnu::noinline]] void GiveUp();

  SessionOptions options;
  std::vector<Observer*> observers;
  // Those that hear of the end of a transaction at once, and when it is known which frames delivered what.
  std::vector<Observer*> prompt, patient;
  bool bytes_later = false;  // one of the latter asks for the bytes of Replies
  SessionStats stats;
  Budget budget;
  TransactionPool pool;
  std::vector<std::unique_ptr<ConnectionState>> connections;  // by slot; null: none has it
  size_t open = 0;                                            // of them
  uint64_t connection_bytes = 0;                              // that they are charged
  uint64_t trimmed_in = 0;                                    // the frame after which tables were trimmed last
  FrameRef now;                                               // of the event being processed
  Message message;
  uint64_t serial = 0;
  uint64_t send_number = 0;  // of the message among its sender's Sends, from 1
};

}  // namespace stag::session
