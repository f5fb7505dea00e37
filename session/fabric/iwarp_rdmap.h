// SPDX-License-Identifier: GPL-2.0-or-later
//
// RdmapLayer: the ULPDUs of both sides of one iWARP connection, each side's in stream order, into fabric events: puts
// Sends together, tells the parts of RDMA Writes, and finds for every Read Response the Read Request that it answers
// (RFC 5040, RFC 5041).
#pragma once

#include <array>

#include "protocol/iwarp/ddp.h"
#include "session/fabric/iwarp_budget.h"

namespace stag::fabric {

class RdmapLayer {
 public:
  // `info` must outlive this.
  RdmapLayer(TrackerContext& context, const ConnectionInfo& info);

  // A ULPDU of `length` bytes from side `from`, of which `captured` is the prefix; `missing` says why it is shorter.
  // `first` and `last`: the frames that carried the first and the last byte of its FPDU. False when it is no DDP
  // segment of RDMAP version 1 (nothing comes of it then).
  bool OnUlpdu(Side from, Bytes captured, uint32_t length, Missing missing, const FrameRef& first,
               const FrameRef& last);
  // The same for a segment that is decoded already.
  bool OnSegment(Side from, const iwarp::DdpSegment& segment, Missing missing, const FrameRef& first,
                 const FrameRef& last);

  // The sequence numbers of the FPDU that comes next: of its first byte and its last.
  void set_numbers(uint32_t first, uint32_t last) { numbers_ = {first, last}; }

  // From here on FPDUs of `from` are missing: an unfinished Send goes out as far as it is known.
  void OnLost(Side from);
  // Whether the first FPDU of `from` may be the ready-to-receive indication of peer-to-peer mode (RFC 6581 section 4):
  // when it is a zero-length Write, Read Request or Send it is part of the set-up, not an operation. Where the set-up
  // was not seen, it may.
  void set_may_be_ready(Side from, bool may) { side_[from].may_be_ready = may; }
  // How many Sends of this side were given out.
  uint64_t sends(Side from) const { return side_[from].sends; }
  // Segments of a Send of this side came, and its last is to come.
  bool sending(Side from) const { return side_[from].sending; }

 private:
  struct PendingRead {
    iwarp::ReadRequest request;
    uint32_t sequence;
    FrameRef frame;
  };
  struct RecentSend {
    uint32_t sequence = 0;
    FrameRef frame;
  };
  struct SideState {
    explicit SideState(TrackerContext& context) : send(context), reads(context) {}
    bool may_be_ready = true;
    uint64_t sends = 0;
    bool reads_known = true;  // all Read Requests of this side are, or were, in `reads`
    // The Send being put together (RFC 5041 section 5.3: by MSN and MO).
    bool sending = false;
    bool send_headless = false;  // its start was lost: nothing can be given out
    uint32_t send_sequence = 0;
    iwarp::DdpHeader send_header;
    uint64_t send_length = 0;
    Missing send_missing = Missing::kNothing;
    FrameRef send_first, send_last;
    uint32_t send_number = 0;  // Event::first_number
    BudgetVector<std::byte> send;
    // Of a Send that went out unfinished: what still comes of it is dropped.
    bool abandoned = false;
    uint32_t abandoned_sequence = 0;
    // The RDMA Write in progress.
    bool writing = false, write_unknown = false;
    uint32_t write_stag = 0;
    uint64_t write_next = 0;
    // Read Requests of this side, in order; Read Responses come in the same order (RFC 5040 section 5.5).
    BudgetVector<PendingRead> reads;
    std::array<RecentSend, 16> recent_sends;
  };

  template <typename Kind>
  void Emit(Side from, const FrameRef& first, const FrameRef& last, const Kind& what) {
    Event event(info_, from, first, last, what);
    Number(event);
    context_.Emit(event);
  }
  void Number(Event& event) const {
    event.first_number = numbers_.first;
    event.last_number = numbers_.last;
  }
  bool IsReadyToReceive(const iwarp::DdpSegment& segment) const;
  void OnSend(Side from, const iwarp::DdpSegment& segment, Missing missing, const FrameRef& first,
              const FrameRef& last);
  void EmitSend(Side from, const iwarp::DdpHeader& header, Bytes bytes, uint64_t length, Missing missing,
                const FrameRef& first, const FrameRef& last);
  void EmitUnfinishedSend(Side from);
  void OnWrite(Side from, const iwarp::DdpSegment& segment, Missing missing, const FrameRef& first,
               const FrameRef& last);
  void OnReadRequest(Side from, const iwarp::DdpSegment& segment, Missing missing, const FrameRef& first,
                     const FrameRef& last);
  void OnReadResponse(Side from, const iwarp::DdpSegment& segment, Missing missing, const FrameRef& first,
                      const FrameRef& last);
  void OnTerminate(Side from, const iwarp::DdpSegment& segment, const FrameRef& first, const FrameRef& last);

  TrackerContext& context_;
  const ConnectionInfo& info_;
  std::array<SideState, 2> side_;
  struct {
    uint32_t first = 0, last = 0;
  } numbers_;
};

}  // namespace stag::fabric
