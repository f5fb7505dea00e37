// SPDX-License-Identifier: GPL-2.0-or-later
//
// TcpDelivery: the bytes of a TCP connection that carries iWARP (RFC 9293), with SACK (RFC 2018) and D-SACK (RFC 2883).
// Bytes are handed up in order: a byte is delivered with its own copy or with that of a byte before it, whichever comes
// last.
#pragma once

#include <array>
#include <vector>

#include "session/delivery/delivery.h"
#include "session/delivery/evidence.h"

namespace stag::delivery {

class TcpDelivery final : public Delivery {
 public:
  void OnSighting(const fabric::Sighting& sighting, Results& results) override;
  uint64_t PlaceOf(const Lane& lane, uint32_t number) const override;
  void Prove(const Lane& lane, uint64_t last, const FrameRef& frame, Results& results) override;
  bool IsKnown(const Lane& lane, uint64_t last) const override;
  bool AnyTrouble(const std::function<bool(const Lane&, const Numbers&)>& of) const override;
  int64_t troubled_since() const override;
  void Finish(Results& results) override;
  uint64_t storage() const override;

 private:
  struct Copy {
    FrameRef frame;
    uint64_t segment = 0;  // of Stream::segments
    bool refused = false;  // a D-SACK names it
  };
  // Bytes whose copies are in the same frames.
  struct Unit {
    uint64_t begin = 0, end = 0;
    FrameRef first, due;  // `due`: of bytes that come late; number 0: they do not
    FrameRef sacked;      // the first frame that does; number 0: none
    std::vector<Copy> again;
    uint64_t until = 0;  // the end of what was sent when the last copy came
    Cause cause = Cause::kGap;
    bool late() const { return due.number != 0; }
    bool troubled() const { return late() || !again.empty(); }
  };
  // Nobody has seen these bytes; `due` shows that they were sent.
  struct Hole {
    uint64_t begin = 0, end = 0;
    FrameRef due;
  };
  // A segment that repeats bytes.
  struct Segment {
    uint64_t id = 0, begin = 0, end = 0;
    FrameRef frame;
    uint64_t left = 0;    // bytes that are not judged
    bool needed = false;  // a byte of it was delivered by it
  };
  struct Stream {
    bool any = false;
    uint64_t top = 0;      // the end of what was sent
    uint64_t settled = 0;  // what is before it is
    std::vector<Unit> units;
    size_t head = 0;  // of them
    std::vector<Hole> holes;
    std::vector<Segment> segments;
    uint64_t last_segment = 0;
    Evidence evidence;
    uint64_t acknowledged = 0;
    uint32_t duplicates = 0;  // acknowledgments that say no more than the last
    FrameRef delivered;       // the latest frame that delivered a byte
  };
  static constexpr size_t kMostUnits = 8192, kMostCopies = 64;

  static uint64_t Unwrap(const Stream& stream, uint32_t number);
  void OnData(Side from, const fabric::Sighting& sighting, Results& results);
  void OnAcknowledgment(Side from, const fabric::Sighting& sighting, Results& results);
  static size_t Find(const Stream& stream, uint64_t at);
  void Split(Stream& stream, size_t index, uint64_t at);
  void Repeat(Stream& stream, size_t index, const FrameRef& frame, uint64_t segment);
  static void Sack(Stream& stream, uint64_t begin, uint64_t end, const FrameRef& frame);
  void Refuse(Side sender, uint64_t begin, uint64_t end, const FrameRef& frame, Results& results);
  static void JudgeBytes(Stream& stream, uint64_t segment, uint64_t bytes, bool needed);
  static void TellSpurious(Stream& stream, const Lane& lane, Results& results);
  void Settle(Side sender, bool all, Results& results);
  void Judge(Side sender, Unit& unit, Results& results);

  std::array<Stream, 2> streams_;
};

}  // namespace stag::delivery
