// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/clocks/clock_finder.h"

#include <algorithm>

#include "protocol/ib/opcode.h"

namespace stag::clocks {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kApart = uint64_t{3600} * kSecond;
// Nobody captures in the seventies: such a time is counted from boot, or from the beginning of the capture.
constexpr int64_t kNoTimeOfDay = int64_t{10} * 365 * 86400 * kSecond;
constexpr size_t kMaxFrames = 4096;
constexpr size_t kCauses = 8192;
constexpr uint64_t kNarrow = 1'000'000;

// Also of two differences of times.
uint64_t Distance(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return a > b ? x - y : y - x;
}

uint64_t PsnKey(const Address& requester, const Address& responder, uint32_t psn) {
  return MixHash(MixHash(MixHash(1, requester), responder), psn);
}

uint64_t TcpKey(const link::Packet& packet, bool forward, uint32_t sequence) {
  const Address& from = forward ? packet.source : packet.destination;
  const Address& to = forward ? packet.destination : packet.source;
  const uint32_t from_port = forward ? packet.source_port : packet.destination_port;
  const uint32_t to_port = forward ? packet.destination_port : packet.source_port;
  return MixHash(MixHash(MixHash(MixHash(2, from), to), uint64_t{from_port} << 32 | to_port), sequence);
}

}  // namespace

// Nearly all captures have one clock: their frames leave here, at a few instructions each.
unsigned ClockFinder::Take(const Frame& frame) {
  const int64_t time = frame.ref.time_ns;
  if (state_ != State::kOne || IsSuspicious(time)) [[unlikely]]
    return TakeOdd(frame);
  last_ = time;
  return 0;
}

unsigned ClockFinder::TakeOdd(const Frame& frame) {
  const int64_t time = frame.ref.time_ns;
  if (state_ == State::kTwo) {
    newest_ = Nearest(time);
    if (found_.aligned) Observe(frame, newest_);
    last_of_[newest_] = time;
    return newest_;
  }
  if (state_ == State::kOne) Begin(time);
  const unsigned clock = Tell(frame);
  bytes_ += frame.bytes.size();
  if (++frames_ == kMaxFrames || bytes_ >= max_bytes_) Decide();
  return clock;
}

bool ClockFinder::IsSuspicious(int64_t time_ns) const {
  return last_ ? Distance(time_ns, *last_) > kApart : time_ns < kNoTimeOfDay;
}

void ClockFinder::Begin(int64_t time_ns) {
  state_ = State::kLooking;
  frames_ = bytes_ = turns_ = 0;
  both_ = failed_ = false;
  newest_ = 0;
  last_of_[0] = last_.value_or(time_ns);
  causes_.assign(kCauses, {});
  at_least_ = at_most_ = std::nullopt;
}

unsigned ClockFinder::Tell(const Frame& frame) {
  const int64_t time = frame.ref.time_ns;
  if (failed_) {
    last_of_[0] = time;
    return 0;
  }
  const bool near_first = Distance(time, last_of_[0]) <= kApart;
  const bool near_second = both_ && Distance(time, last_of_[1]) <= kApart;
  if (both_ && !near_first && !near_second) {  // a clock that was set, rather
    failed_ = true;
    last_of_[0] = time;
    return newest_ = 0;
  }
  const unsigned clock = !near_first && (!both_ || near_second) ? 1 : both_ ? Nearest(time) : 0;
  both_ |= clock == 1;
  last_of_[clock] = time;
  turns_ += clock != newest_ ? 1 : 0;
  newest_ = clock;
  Observe(frame, clock);
  return clock;
}

void ClockFinder::Decide() {
  if (state_ != State::kLooking) return;
  if (failed_ || turns_ < 2) {
    state_ = State::kOne;
    last_ = last_of_[newest_];
  } else {
    state_ = State::kTwo;
    found_.found = true;
    // The time of day is the capture's clock, unless there were frames before with the other one.
    reference_ = !last_ && last_of_[1] > last_of_[0] ? 1 : 0;
    Bound();
  }
  if (!found_.aligned) std::vector<Cause>().swap(causes_);
}

void ClockFinder::Bound() {
  if (!at_least_ || !at_most_ || *at_least_ > *at_most_) return;
  const uint64_t width = Distance(*at_most_, *at_least_);
  found_.bounded = true;
  found_.uncertainty_ns = static_cast<int64_t>(width - width / 2);
  found_.aligned = policy_ == Policy::kAlign || (policy_ == Policy::kAuto && width <= kNarrow);
  SetOffset(*at_least_ + static_cast<int64_t>(width / 2));
}

void ClockFinder::SetOffset(int64_t offset_ns) {
  offset_ = offset_ns;
  found_.offset_ns = reference_ == 0 ? offset_ns : -offset_ns;
}

int64_t ClockFinder::Align(int64_t time_ns) const { return ClampTime(__int128{time_ns} + found_.offset_ns); }

unsigned ClockFinder::Nearest(int64_t time_ns) const {
  return Distance(time_ns, last_of_[1]) < Distance(time_ns, last_of_[0]) ? 1 : 0;
}

void ClockFinder::Observe(const Frame& frame, unsigned clock) {
  link::Decode(frame, packet_, ports_);
  const int64_t time = frame.ref.time_ns;
  switch (packet_.carrier) {
    case link::Carrier::kRoceV2:
    case link::Carrier::kRoceV1:
    case link::Carrier::kInfiniBand: {
      ib::ParseTransport(packet_.payload, packet_.wire_length, transport_);
      const ib::OpcodeInfo& info = ib::LookUpOpcode(transport_.bth.opcode);
      if (transport_.status != ParseStatus::kOk || info.service != ib::Service::kRc) return;
      const uint32_t psn = transport_.bth.psn;
      if (!info.response)
        return OnCause(PsnKey(packet_.source, packet_.destination, psn), transport_.bth.destination_qp, time, clock);
      if (info.aeth && ib::KindOf(transport_.aeth.syndrome) != ib::AethKind::kAck) return;
      return OnEffect(PsnKey(packet_.destination, packet_.source, psn), time, clock);
    }
    case link::Carrier::kTcp: {
      if (packet_.status != ParseStatus::kOk) return;
      if (packet_.tcp_flags & link::kTcpAck) OnEffect(TcpKey(packet_, false, packet_.acknowledgment), time, clock);
      const uint64_t length = packet_.wire_length + ((packet_.tcp_flags & (link::kTcpSyn | link::kTcpFin)) ? 1 : 0);
      if (length > 0) OnCause(TcpKey(packet_, true, packet_.sequence + static_cast<uint32_t>(length)), 0, time, clock);
      return;
    }
    default: return;
  }
}

// Of copies the first counts: whatever answers one of them comes after it.
void ClockFinder::OnCause(uint64_t key, uint32_t queue_pair, int64_t time_ns, unsigned clock) {
  Cause& cause = causes_[key % kCauses];
  if (cause.key != key) {
    cause = {key, queue_pair, false, clock, time_ns};
  } else if (cause.queue_pair != queue_pair) {
    cause.doubtful = true;
  }
}

void ClockFinder::OnEffect(uint64_t key, int64_t time_ns, unsigned clock) {
  const Cause& cause = causes_[key % kCauses];
  if (cause.key != key || cause.doubtful || cause.clock == clock) return;
  if (clock == 1) {
    const int64_t least = cause.time_ns - time_ns;
    at_least_ = std::max(at_least_.value_or(least), least);
    if (found_.aligned) SetOffset(std::max(offset_, least));
  } else {
    const int64_t most = time_ns - cause.time_ns;
    at_most_ = std::min(at_most_.value_or(most), most);
    if (found_.aligned) SetOffset(std::min(offset_, most));
  }
}

}  // namespace stag::clocks
