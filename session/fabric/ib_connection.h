// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbConnection: the packets of one reliable connection in, in any order that a capture may show them; its events out,
// in the order of the connection (IBA section 9.7).
//
// Each side numbers its requests with PSNs; acknowledgements and read responses carry the PSN of the request that they
// answer. A packet is processed when everything it builds on was: a request after all earlier requests of its side, a
// response after its request, a Send after the data of the same side's earlier Reads. Packets that cannot be processed
// yet wait, and all later ones of both sides behind them, until what is missing shows up (frames captured out of order,
// or a retransmission) or is proven to be missing from the capture; then a kGap says so.
#pragma once

#include <array>
#include <bit>
#include <vector>

#include "protocol/ib/icrc.h"
#include "session/fabric/acknowledged_sends.h"
#include "session/fabric/ib_originals.h"
#include "session/fabric/ib_packet.h"
#include "session/fabric/ib_recovery.h"
#include "session/fabric/sighting_journal.h"

namespace stag::fabric {

class IbConnection {
 public:
  IbConnection(TrackerContext& context, HoldPool& pool, IbOriginals& originals)
      : context_(context),
        pool_(pool),
        originals_(originals),
        track_(context.packets() ? context.NewTrack() : 0),
        side_{SideState(context.budget()), SideState(context.budget())},
        journal_(context.budget()) {}
  IbConnection(const IbConnection&) = delete;
  IbConnection& operator=(const IbConnection&) = delete;

  ConnectionInfo info;

  // The first PSN that `requester` will use, `from_setup` by the CM exchange; bytes of path MTU (0: not known).
  void ExpectPsn(Side requester, uint32_t psn, bool from_setup = false);
  void SetPathMtu(uint32_t mtu);
  bool KnowsPsn(Side requester) const { return side_[requester].known; }
  // Could a request with this PSN be among the first of that side?
  bool MayBeginWith(Side requester, uint32_t psn) const;

  void EmitSetup(Side from, const FrameRef& frame, const Setup& setup);
  void Open(const FrameRef& frame);
  bool opened() const { return opened_; }
  // 0: there is no PacketObserver.
  PacketObserver::Track track() const { return track_; }

  void OnPacket(RcPacket& packet);
  // The same for one that was held back (HoldPool).
  void OnHeldPacket(RcPacket& packet);
  // Now and then, with the time of whatever was captured last: what waits does not wait longer for its connection's
  // silence.
  void CheckTime(int64_t now_ns);
  // Gives out what waits and emits kClosed.
  void Close(CloseReason reason, const FrameRef& frame);

  // Bytes that a side needs to remember its recent requests.
  static constexpr uint64_t kRecentCost = 64 * 64;
  // The newest frame seen of this connection.
  const FrameRef& last_frame() const { return last_frame_; }

 private:
  // An RDMA Read that is not complete. PSN `psn + k` answers with the bytes from `k * path MTU` on.
  struct Read {
    uint32_t psn = 0, count = 0;  // count 0: not known while the path MTU is not
    uint32_t handle = 0;
    uint64_t offset = 0;
    uint32_t length = 0;
    bool waived = false;  // no longer waited for
    struct Range {
      uint32_t begin, end;
    };
    uint32_t received = 0;      // packets 0 to received - 1 were seen
    std::vector<Range> beyond;  // seen out of order
    static constexpr size_t kMaxRanges = 16;
    uint64_t bytes = 0;                     // in the packets seen
    bool judged = false;                    // they were found not to add up
    bool verified = false;                  // neither the request nor they are damaged in what counts here
    FrameRef frame;                         // of the request
    static constexpr uint64_t kCost = 360;  // of the memory budget, in a list that grows by doubling
    bool Seen(uint32_t k) const;
    void Mark(uint32_t k);
    uint32_t Missing(uint32_t until) const;  // how many of packets 0 to until - 1 were not seen
  };

  struct Recent {  // a request, remembered for NAKs
    uint32_t psn = 0, count = 0;
    FrameRef frame;
    bool rdma = false;
    uint32_t handle = 0;
    uint64_t offset = 0, length = 0;
  };
  static constexpr size_t kRecent = 64;
  static_assert(kRecent * sizeof(Recent) <= kRecentCost);

  // An acknowledgement of PSNs that were not sent yet, as far as the capture shows: from `begin`, the first of them, to
  // `psn`. That they are sent after it proves little, for frames may be captured out of order; that the responder
  // completes messages of them after it does: a responder never goes back.
  struct EarlyAck {
    bool active = false, sent = false;  // sent: `begin` was, behind the acknowledgement
    bool followed = false;              // a later one went further
    uint32_t begin = 0, psn = 0, messages = 0;
    FrameRef frame;
    uint64_t sent_frame = 0;
  };

  // As long as a power of two: which side's it is, is found for each packet.
  struct alignas(128) SideState {
    explicit SideState(Budget& budget) : send{budget}, reads_charge(budget) {}

    bool known = false;       // `expected` is
    bool started = false;     // a request was seen
    uint32_t expected = 0;    // PSN of the next request
    bool open_count = false;  // the last request was a Read whose number of PSNs depends on the unknown path MTU
    uint32_t open_psn = 0, open_length = 0;
    IbOriginals::Stream requests, responses;  // responses to them
    bool lost_read = false;  // a Read Request is missing whose responses are at hand: they have no address

    struct PartialSend {
      explicit PartialSend(Budget& budget) : charge(budget) {}
      bool active = false, cut = false;
      std::vector<std::byte> bytes;
      Charge charge;
      uint64_t length = 0;
      Missing missing = Missing::kNothing;
      FrameRef first_frame;
      uint32_t first_psn = 0;
    };
    PartialSend send;
    struct {
      bool active = false, after_gap = false;
      bool whole = false;     // all packets so far were seen, and do not break the length
      bool verified = false;  // none of them is damaged in what counts here
      uint32_t handle = 0, psn = 0, mtu = 0, length = 0;
      uint64_t offset = 0, bytes = 0;
      FrameRef first_frame;
    } write;
    std::vector<Read> reads;
    Charge reads_charge;
    bool answered_known = false;
    uint32_t answered = 0;       // the highest PSN that a response carried
    std::vector<Recent> recent;  // ring
    size_t recent_next = 0;
    AcknowledgedSends<uint32_t> sends;  // by the PSN of the last packet
    bool acknowledged_known = false;
    uint32_t acknowledged = 0;  // the highest PSN that a response acknowledged, of those processed
    bool heard = false;         // a packet of it was seen
    uint64_t requests_seen = 0, requests_missing = 0;
    bool from_setup = false;  // the first PSN that it sends is known
    EarlyAck early;
    bool request_since_nak = true;
    uint32_t nak_psn = 0;
    uint8_t nak_syndrome = 0;
  };

  static_assert(std::has_single_bit(sizeof(SideState)));

  // A packet whose PSN is far ahead of its requester's, while no other is there: it counts when the next one that is as
  // far ahead is near it, or none comes before the end. That the requester goes on where it was proves it wrong.
  struct Stray {
    HeldPtr packet;         // null: there is none
    uint32_t expected = 0;  // by its requester, when it came
  };

  struct Block {
    enum class Why : uint8_t { kNone, kRequest, kRead, kDoubt } why = Why::kNone;
    Side requester = 0;  // whose requests, or whose Reads' responses, are missing; whose request is doubtful
    uint32_t psn = 0;    // the first PSN missing, or the doubtful one
    friend bool operator==(const Block&, const Block&) = default;
  };

  // Order
  void Arrive(const RcPacket& p);
  void See(const RcPacket& p);
  bool IsPlainRequest(const RcPacket& p);
  bool IsPlainResponse(const RcPacket& p);
  [[gnu::noinline]] void OnOddPacket(RcPacket& p);
  static void NoteAnswered(const RcPacket& p, SideState& s);
  int32_t Ahead(const SideState& s, uint32_t psn) const;
  bool RequestSeen(const SideState& s, uint32_t psn) const;
  bool ContinuesLostRead(const SideState& s, const RcPacket& p) const;
  Block BlockOf(const RcPacket& p) const;
  bool IsStray(const RcPacket& p) const;
  void SetAside(const RcPacket& p);
  void BelieveStray(Side requester);
  void Wait(const RcPacket& p);
  void Enqueue(const RcPacket& p);
  HeldPtr Take(size_t place);
  void Drain();
  void WatchBlock(const RcPacket* arrived);
  bool ProvesReceipt(const Block& block, const RcPacket& p) const;
  bool ReceiptIsProven(const Block& block) const;
  void SettleDoubt();
  void GiveUp(const Block& block, const RcPacket& waiting);
  void Force(const RcPacket& p);
  void Flush();

  // Meaning
  void Process(const RcPacket& p);
  void ProcessRequest(const RcPacket& p);
  void ProcessSend(const RcPacket& p, SideState& s);
  void ProcessWrite(const RcPacket& p, SideState& s);
  void ProcessReadRequest(const RcPacket& p, SideState& s);
  void ProcessReadResponse(const RcPacket& p);
  void ProcessNak(const RcPacket& p);
  void NoteReceipt(const RcPacket& p);
  void AddRead(const RcPacket& p, SideState& s, uint32_t count);
  void DoubtRead(const RcPacket& p, SideState& s);
  bool DisprovesRead(const RcPacket& p, SideState& s);
  void RemoveRead(SideState& s, size_t index);
  void Remember(const RcPacket& p, SideState& s, uint32_t count);
  static bool MakeRoom(std::vector<std::byte>& bytes, size_t size, Charge& charge);
  void AppendSend(SideState& s, const RcPacket& p);
  void EmitSend(SideState& s, const RcPacket& p);
  void AbandonSend(Side side, uint32_t end);
  void LearnMtu(uint64_t size);
  void ReportMissingResponses();
  void EmitGap(Side from, const Gap& gap, const FrameRef& frame);
  FrameRef ReceiptOf(const Block& block, const RcPacket& waiting) const;
  template <typename Kind>
  void Emit(Side from, const FrameRef& first, const FrameRef& frame, const Kind& what) {
    Event event(info, from, first, frame, what);
    context_.Emit(event);
  }

  // Anomalies
  bool Inspect(RcPacket& p, bool in_order);
  bool Doubt(RcPacket& p);
  bool PassesIcrc(RcPacket& p);
  static bool Verify(const RcPacket& p);
  void OnRepeat(const RcPacket& p, const IbOriginal& original);
  void NoteSent(const RcPacket& p, SideState& s);
  void NoteAck(const RcPacket& p, SideState& s);
  bool MayBeDamage(const RcPacket& p, bool verified) const;
  void NoteLength(const RcPacket& p, bool verified, Side from, const FrameRef& first, EventKind operation,
                  uint64_t expected, uint64_t actual);
  void EndWrite(const RcPacket& p, SideState& s);

  TrackerContext& context_;
  HoldPool& pool_;
  IbOriginals& originals_;
  const PacketObserver::Track track_;
  bool opened_ = false;
  uint64_t packets_ = 0;
  uint32_t mtu_ = 0;  // bytes; 0: not known
  std::array<SideState, 2> side_;
  struct IcrcRecord {
    uint32_t left = 16;  // of the first packets of a side the ICRC is looked at
    bool right = false;  // one was right
  };
  std::array<IcrcRecord, 2> icrc_;  // by sender
  IbRecovery recovery_;
  SightingJournal journal_;
  // Packets that are next have to be looked at: others wait, these are the first of a side, an acknowledgement came
  // early, or one of them mends a NAK.
  bool attentive_ = true;
  FrameRef last_frame_;

  std::array<Stray, 2> stray_;  // by requester
  std::vector<HeldPtr> queue_;  // waiting, in the order in which they will be processed
  uint64_t queue_bytes_ = 0;
  Block block_;  // of queue_'s head
  int64_t blocked_since_ns_ = 0;
  bool receipt_proven_ = false;
  uint32_t packets_since_proof_ = 0;
};

}  // namespace stag::fabric
