// SPDX-License-Identifier: GPL-2.0-or-later
//
// RcDelivery: the packets of a reliable connection (InfiniBand, RoCE; IBA section 9.7). The receiver takes packets in
// order, and drops what comes before its turn.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/base/budget.h"
#include "session/delivery/delivery.h"
#include "session/delivery/evidence.h"

namespace stag::delivery {

class RcDelivery final : public Delivery {
 public:
  // `resumes`: the connection has had packets before the first, and nobody knows which.
  explicit RcDelivery(bool resumes = false) : resumes_(resumes) {}

  void OnSighting(const fabric::Sighting& sighting, Results& results) override;
  uint64_t PlaceOf(const Lane& lane, uint32_t number) const override;
  void Prove(const Lane& lane, uint64_t last, const FrameRef& frame, Results& results) override;
  bool IsKnown(const Lane& lane, uint64_t last) const override;
  bool AnyTrouble(const std::function<bool(const Lane&, const Numbers&)>& of) const override;
  int64_t troubled_since() const override;
  void Finish(Results& results) override;
  uint64_t storage() const override;

 private:
  // A packet of the last ones.
  struct Packet {
    uint64_t number = 0;     // 0: none
    FrameRef first;          // its first copy
    uint64_t delivered = 0;  // order() of the copy that delivered it, as far as is known
  };
  struct Trouble {
    uint64_t number = 0;
    uint32_t responses = 0;       // of an RDMA Read Request; their numbers are from its own on
    FrameRef first;               // copy
    std::vector<FrameRef> again;  // copies that came later
    std::optional<FrameRef> due;  // of a first copy that comes late
    Cause cause = Cause::kGap;
    bool late = false;   // `first` came behind later packets
    uint64_t until = 0;  // the highest number when the last copy came
    int64_t since = 0;   // it may wait
    FrameRef delivered;  // while they are settled
    bool settled = false;
  };
  struct Stream {
    bool any = false;
    uint64_t lowest = 0;          // number that is known, if lower ones were
    uint64_t highest = 0;         // number
    std::vector<Packet> packets;  // by number, a power of two
    Evidence evidence;
    std::vector<Trouble> troubles;  // by number
  };
  struct Read {
    uint64_t begin = 0;
    uint32_t count = 0;
  };
  struct Requester {
    bool any = false;
    uint64_t reference = 0;   // near which numbers are
    uint64_t last = 0;        // of the request that was sent last
    std::vector<Read> reads;  // the last ones, a ring
    size_t next_read = 0;
    std::optional<Cause> refusal;  // kNak or kRnrNak: it asks for packets again, and was not obeyed
    uint64_t resumed = 0;          // where a Read Request began again in the middle of an earlier one ...
    std::optional<FrameRef> due;   // ... and since when the response with that number is due
  };

  static constexpr size_t kFewPackets = 256, kMostPackets = 1 << 15, kMostTroubles = 4096, kMostCopies = 64,
                          kReads = 64;

  uint64_t Unwrap(Side requester, uint32_t psn);
  Stream& StreamOf(const Lane& lane) { return streams_[lane.index()]; }
  const Stream& StreamOf(const Lane& lane) const { return streams_[lane.index()]; }
  static const Packet* Find(const Stream& stream, uint64_t number);
  static Packet* Find(Stream& stream, uint64_t number) {
    return const_cast<Packet*>(Find(std::as_const(stream), number));
  }
  static void Keep(Stream& stream, uint64_t number, const FrameRef& frame);
  Trouble& TroubleOf(const Lane& lane, uint64_t number, const FrameRef& first, Results& results);
  void OnRequest(Side requester, uint64_t number, const fabric::Sighting& sighting, Results& results);
  void AddCopy(const Lane& lane, Trouble& trouble, const fabric::Sighting& sighting);
  void See(const Lane& lane, uint64_t number, const fabric::Sighting& sighting, Results& results);
  Cause CauseOf(const Lane& lane) const;
  bool IsSettled(const Lane& lane, const Trouble& trouble) const;
  void Settle(const Lane& lane, bool all, Results& results);
  static void FindDelivering(Stream& stream, uint64_t lowest);
  FrameRef DueOf(const Stream& stream, const Trouble& trouble) const;
  void Judge(const Lane& lane, const Trouble& trouble, Results& results) const;

  const bool resumes_;
  std::array<Stream, kLanes> streams_;
  std::array<Requester, 2> requesters_;
};

}  // namespace stag::delivery
