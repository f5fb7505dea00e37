// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditHistory: an Observer that tells how requests, grants and outstanding Calls of a connection went over time, for
// each direction on its own: the transactions that one side requests. What RNR NAKs and lost connections follow an
// overrun is told with them (RFC 5666 (draft-08) section 3.3, RFC 8166 section 3.3.1: a responder need not cope with
// more Calls than it granted).
//
// One pass. An overrun rests on no Reply having come before it that the capture lost; so from an overrun on, changes of
// the connection are held back until the responder is heard again without a gap, at most kMaxHeld of them. Where a gap
// shows first, the numbers since then are not known.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/base/enum_names.h"
#include "session/rpcrdma/session.h"

namespace stag::session {

struct CreditChange {
  enum class Event : uint8_t {
    kJoined,  // the first message of a connection whose set-up was not captured
    kCall,
    kReply,
    kError,      // RDMA_ERROR
    kDone,       // RDMA_DONE
    kUnclear,    // a Send of which nothing tells whether it is a Call or a Reply
    kRnrNak,     // an RNR NAK of a Send; `from` lacked the receive
    kTerminate,  // RDMAP Terminate by `from`
    kGap,        // packets of `from` are missing from the capture
    kClosed,     // see `close_reason`
  };
  Event event = Event::kCall;
  ConnectionId connection = 0;
  Side client = 0;  // of the connection, as far as is known when this is given
  FrameRef frame;
  Side requester = 0;  // whose Calls these are
  Side from = 0;       // who sent what changed something
  std::optional<uint32_t> xid;
  // After the event; nullopt: not known. The last request and grant since the start or the last gap.
  std::optional<uint32_t> requested, granted;
  std::optional<uint32_t> outstanding;
  bool overrun = false;       // a Call over the grant, or a second one before the first grant
  bool zero_grant = false;    // kReply, kError: states no credits (an RDMA_ERROR leaves the grant as it was)
  uint64_t explained_by = 0;  // kRnrNak, kTerminate, kClosed: the frame of the overrun that it follows; 0: none
  bool lost = false;          // kClosed: see CreditSummary::Loss
  fabric::CloseReason close_reason = fabric::CloseReason::kEndOfCapture;
};

struct CreditSummary {
  uint64_t calls = 0, replies = 0, errors = 0;
  MinMaxLast requested, granted;
  // The number of outstanding Calls was known at some time; and was not, at some time.
  bool any_known = false, any_unknown = false;
  uint32_t max_outstanding = 0;  // while it was known
  FrameRef max_frame;            // when that was reached first
  uint64_t overruns = 0;
  FrameRef first_overrun;    // number 0: none
  uint64_t zero_grants = 0;  // Replies and RDMA_ERRORs that granted nothing
  FrameRef first_zero_grant;
  uint64_t rnr_naks = 0, rnr_naks_explained = 0;
  uint64_t gaps = 0;
  // The connection was terminated, or closed with Calls outstanding, by more than the end of the capture.
  struct Loss {
    bool lost = false;
    bool terminated = false;
    FrameRef frame;
    uint64_t explained_by = 0;
  } loss;
};

class CreditSink {
 public:
  virtual ~CreditSink() = default;
  // In the order of the events of a connection.
  virtual void OnChange(const CreditChange& change) = 0;
  // Once for each direction that had a message; for the forward direction of a connection without any, too. After this
  // nothing more comes of it. The forward direction first.
  virtual void OnSummary(const Connection& connection, Side requester, const CreditSummary& summary) = 0;
};

class CreditHistory final : public Observer {
 public:
  // `connection`: only this one (0: all).
  explicit CreditHistory(CreditSink& sink, ConnectionId connection = 0) : sink_(sink), only_(connection) {}

  void OnConnection(const Connection&, const fabric::Event&) override;
  void OnMessage(const Connection&, const Message&, const Transaction*) override;
  void OnOrphan(const Connection& connection, const Message& message) override {
    OnMessage(connection, message, nullptr);
  }
  void OnRdma(const Connection&, const RdmaOperation&) override;
  void OnNak(const Connection&, const fabric::Event&) override;
  void OnGap(const Connection&, const fabric::Event&) override;
  void OnConnectionClosed(const Connection&, const fabric::Event&) override;

  // Changes that wait, of a connection and of all.
  static constexpr size_t kMaxHeld = 4096, kMaxHeldInAll = 16384;

 private:
  struct Sent {
    uint64_t first_frame = 0, frame = 0;
    uint32_t xid = 0;
    bool call = false;
    Side from = 0;
  };
  struct Direction {
    bool active = false;
    std::optional<uint32_t> requested, granted, outstanding;  // as told last
    uint64_t overrun_frame = 0;                               // the last overrun since nothing was outstanding
    CreditSummary summary;
  };
  static constexpr size_t kSent = 64;
  struct History {
    std::array<Direction, 2> direction;  // by requesting side
    std::vector<Sent> sent;              // a ring when it has kSent; before that it grows
    size_t sent_count = 0;
    bool terminated = false;
    std::vector<CreditChange> held;
    std::array<bool, 2> unproven{};  // by responding side: an overrun is held that its silence proves
  };

  History* Find(const Connection& connection);
  CreditChange Change(const Connection& connection, const History& history, Side requester, CreditChange::Event event,
                      const FrameRef& frame) const;
  void Begin(const Connection& connection, History& history, Side requester, const FrameRef& frame);
  void Tell(const Connection& connection, History& history, const CreditChange& change);
  void Give(const Connection& connection, History& history, CreditChange change);
  static void Add(CreditSummary& summary, const CreditChange& change);
  void Heard(const Connection& connection, History& history, Side side);
  void Flush(const Connection& connection, History& history);

  CreditSink& sink_;
  ConnectionId only_;
  size_t held_in_all_ = 0;
  std::unordered_map<ConnectionId, History> histories_;
  History* last_ = nullptr;  // of Find: events of a connection mostly come in runs
  ConnectionId last_id_ = 0;
};

}  // namespace stag::session

namespace stag {

template <>
struct EnumNames<session::CreditChange::Event> {
  static constexpr std::array<std::string_view, 10> kNames{"joined",  "call",    "reply",     "error", "done",
                                                           "unclear", "rnr_nak", "terminate", "gap",   "closed"};
};

}  // namespace stag
