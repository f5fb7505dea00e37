// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/aligned_reader.h"

#include <algorithm>

#include "protocol/ib/opcode.h"

namespace stag::capture {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kApart = uint64_t{3600} * kSecond;
// Nobody captures in the seventies: such a time is counted from boot, or from the beginning of the capture.
constexpr int64_t kNoTimeOfDay = int64_t{10} * 365 * 86400 * kSecond;
constexpr size_t kMaxFrames = 4096, kMaxBytes = size_t{8} << 20;
constexpr size_t kCauses = 8192;
constexpr uint64_t kNarrow = 1'000'000;

uint64_t Distance(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return a > b ? x - y : y - x;
}

// Times of hostile files may be anything: these wrap.
int64_t Add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t Subtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
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

Reader::Next AlignedReader::ReadFrame(Frame& frame) {
  if (!held_.empty()) {
    if (next_held_ < held_.size()) {
      Deliver(frame);
      return Next::kFrame;
    }
    copied_ = false;
    held_ = {};
    bytes_ = {};
    next_held_ = 0;
  }
  const Next next = reader_.ReadFrame(frame);
  if (next != Next::kFrame) return next;
  if (found_.found) {
    const Which clock = Nearest(frame.ref.time_ns);
    if (found_.aligned) Observe(frame, clock);
    Stamp(frame, clock);
  } else if (IsSuspicious(frame)) {
    LookAhead(frame);
    Deliver(frame);
  } else {
    last_ = frame.ref.time_ns;
  }
  return Next::kFrame;
}

bool AlignedReader::IsSuspicious(const Frame& frame) const {
  return last_ ? Distance(frame.ref.time_ns, *last_) > kApart : frame.ref.time_ns < kNoTimeOfDay;
}

void AlignedReader::LookAhead(const Frame& first) {
  Frame frame = first;
  do {
    held_.push_back({frame, bytes_.size()});
    bytes_.insert(bytes_.end(), frame.bytes.begin(), frame.bytes.end());
  } while (held_.size() < kMaxFrames && bytes_.size() < kMaxBytes && reader_.ReadFrame(frame) == Next::kFrame);
  for (Held& held : held_) held.frame.bytes = Bytes(bytes_).subspan(held.at, held.frame.bytes.size());
  if (TellClocks()) {
    Align();
  } else {
    last_ = held_.back().frame.ref.time_ns;
  }
}

// Which clock stamped each of the frames that are held. False: there are not two.
bool AlignedReader::TellClocks() {
  last_of_[0] = last_.value_or(held_.front().frame.ref.time_ns);
  bool both = false;
  size_t turns = 0;
  Which before = Which::kFirst;
  for (Held& held : held_) {
    const int64_t time = held.frame.ref.time_ns;
    const bool near_first = Distance(time, last_of_[0]) <= kApart;
    const bool near_second = both && Distance(time, last_of_[1]) <= kApart;
    if (both && !near_first && !near_second) return false;  // a clock that was set, rather
    held.clock = !near_first && (!both || near_second) ? Which::kSecond : both ? Nearest(time) : Which::kFirst;
    both |= held.clock == Which::kSecond;
    last_of_[static_cast<size_t>(held.clock)] = time;
    turns += held.clock != before ? 1 : 0;
    before = held.clock;
  }
  if (turns < 2) return false;
  // The time of day is the capture's clock, unless frames with the other one have been delivered.
  if (!last_ && last_of_[1] > last_of_[0]) {
    std::swap(last_of_[0], last_of_[1]);
    for (Held& held : held_) held.clock = held.clock == Which::kFirst ? Which::kSecond : Which::kFirst;
  }
  const auto known = std::find_if(held_.begin(), held_.end(), [](const Held& h) { return h.clock == Which::kFirst; });
  last_known_ = last_ ? *last_ : known->frame.ref.time_ns;
  return found_.found = true;
}

void AlignedReader::Align() {
  causes_.resize(kCauses);
  for (const Held& held : held_) Observe(held.frame, held.clock);
  if (!at_least_ || !at_most_ || *at_least_ > *at_most_) return;
  const uint64_t width = Distance(*at_most_, *at_least_);
  found_.bounded = true;
  found_.offset_ns = Add(*at_least_, static_cast<int64_t>(width / 2));
  found_.uncertainty_ns = static_cast<int64_t>(width - width / 2);
  found_.aligned = clocks_ == Clocks::kAlign || (clocks_ == Clocks::kAuto && width <= kNarrow);
}

void AlignedReader::Deliver(Frame& frame) {
  const Held& held = held_[next_held_++];
  frame = held.frame;
  copied_ = true;
  if (found_.found) Stamp(frame, held.clock);
}

void AlignedReader::Stamp(Frame& frame, Which clock) {
  last_of_[static_cast<size_t>(clock)] = frame.ref.time_ns;
  if (clock == Which::kFirst) {
    last_known_ = frame.ref.time_ns;
    return;
  }
  ++found_.frames;
  frame.ref.timed = found_.aligned;
  frame.ref.time_ns = found_.aligned ? Add(frame.ref.time_ns, found_.offset_ns) : last_known_;
}

AlignedReader::Which AlignedReader::Nearest(int64_t time_ns) const {
  return Distance(time_ns, last_of_[1]) < Distance(time_ns, last_of_[0]) ? Which::kSecond : Which::kFirst;
}

void AlignedReader::Observe(const Frame& frame, Which clock) {
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
void AlignedReader::OnCause(uint64_t key, uint32_t queue_pair, int64_t time_ns, Which clock) {
  Cause& cause = causes_[key % kCauses];
  if (cause.key != key) {
    cause = {key, queue_pair, false, clock, time_ns};
  } else if (cause.queue_pair != queue_pair) {
    cause.doubtful = true;
  }
}

void AlignedReader::OnEffect(uint64_t key, int64_t time_ns, Which clock) {
  const Cause& cause = causes_[key % kCauses];
  if (cause.key != key || cause.doubtful || cause.clock == clock) return;
  if (clock == Which::kSecond) {
    const int64_t least = Subtract(cause.time_ns, time_ns);
    at_least_ = std::max(at_least_.value_or(least), least);
    if (found_.aligned) found_.offset_ns = std::max(found_.offset_ns, least);
  } else {
    const int64_t most = Subtract(time_ns, cause.time_ns);
    at_most_ = std::min(at_most_.value_or(most), most);
    if (found_.aligned) found_.offset_ns = std::min(found_.offset_ns, most);
  }
}

}  // namespace stag::capture
