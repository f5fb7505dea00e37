// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/delivery/rc_delivery.h"

#include <algorithm>

#include "protocol/base/sequence.h"

namespace stag::delivery {
namespace {

using fabric::Sighting;

constexpr uint64_t kFarAhead = uint64_t{1} << 16;

// The last copy before `limit`, else the first.
FrameRef LastBefore(uint64_t limit, const FrameRef& first, const std::vector<FrameRef>& again) {
  const auto last = std::find_if(again.rbegin(), again.rend(), [&](const FrameRef& f) { return f.order() < limit; });
  return last == again.rend() ? first : *last;
}

}  // namespace

uint64_t RcDelivery::Unwrap(Side requester, uint32_t psn) {
  Requester& r = requesters_[requester];
  const uint64_t at = PlaceOf({requester, false}, psn);
  if (!r.any || (at > r.reference && at - r.reference <= kFarAhead)) r.reference = at;
  r.any = true;
  return at;
}

uint64_t RcDelivery::PlaceOf(const Lane& lane, uint32_t psn) const {
  const Requester& r = requesters_[lane.requester];
  return r.any ? NearestPosition<24>(r.reference, psn) : FirstPosition(psn);
}

const RcDelivery::Packet* RcDelivery::Find(const Stream& stream, uint64_t number) {
  if (stream.packets.empty()) return nullptr;
  const Packet& packet = stream.packets[number & (stream.packets.size() - 1)];
  return packet.number == number ? &packet : nullptr;
}

// A packet that is not proven to have arrived does not give way, if there may be more of them.
void RcDelivery::Keep(Stream& stream, uint64_t number, const FrameRef& frame) {
  if (stream.packets.empty()) stream.packets.resize(kFewPackets);
  while (stream.packets.size() < kMostPackets) {
    const Packet& old = stream.packets[number & (stream.packets.size() - 1)];
    if (old.number == 0 || old.number >= number || stream.evidence.Proves(old.number)) break;
    std::vector<Packet> more(2 * stream.packets.size());
    for (const Packet& packet : stream.packets)
      if (packet.number != 0) more[packet.number & (more.size() - 1)] = packet;
    stream.packets = std::move(more);
  }
  stream.packets[number & (stream.packets.size() - 1)] = {number, frame, frame.order()};
}

void RcDelivery::OnSighting(const Sighting& s, Results& results) {
  using Kind = Sighting::Kind;
  const bool response = s.kind >= Kind::kReadResponse;
  const Side requester = response ? static_cast<Side>(1 - s.from) : s.from;
  const uint64_t number = Unwrap(requester, s.number);
  if (!response) return OnRequest(requester, number, s, results);
  const Lane requests{requester, false};
  Requester& r = requesters_[requester];
  if (s.kind == Kind::kReadResponse) See({requester, true}, number, s, results);
  const bool refuses = s.kind == Kind::kNak || s.kind == Kind::kRnrNak;
  if (refuses) r.refusal = s.kind == Kind::kRnrNak ? Cause::kRnrNak : Cause::kNak;
  Prove(requests, refuses ? number - 1 : number, s.frame, results);
}

void RcDelivery::OnRequest(Side requester, uint64_t number, const Sighting& s, Results& results) {
  const Lane requests{requester, false}, responses{requester, true};
  Requester& r = requesters_[requester];
  const bool any = streams_[requests.index()].any;
  if (s.kind != Sighting::Kind::kReadRequest) {
    See(requests, number, s, results);
  } else {
    // What the requester goes back to, it has up to there.
    if (any && number <= r.last) Prove(responses, number - 1, s.frame, results);
    const auto whole = std::ranges::find_if(
        r.reads, [&](const Read& read) { return read.begin < number && number < read.begin + read.count; });
    if (whole != r.reads.end()) {  // it begins again in the middle of an earlier one
      const Packet* const first = Find(StreamOf(requests), whole->begin);
      if (first) {
        Trouble& trouble = TroubleOf(requests, whole->begin, first->first, results);
        trouble.responses = whole->count;
        AddCopy(requests, trouble, s);
      }
      const Packet* const before = Find(StreamOf(responses), number - 1);
      r.resumed = number;
      r.due = before ? before->first : s.frame;
    } else {
      See(requests, number, s, results);
      if (std::ranges::find(r.reads, number, &Read::begin) == r.reads.end()) {
        if (r.reads.size() < kReads) r.reads.emplace_back();
        r.reads[r.next_read++ % kReads] = {number, s.count};
      }
    }
  }
  if (number > r.last) r.refusal.reset();  // what is new comes behind what was asked for
  r.last = number;
}

Cause RcDelivery::CauseOf(const Lane& lane) const {
  return lane.responses ? Cause::kTimer : requesters_[lane.requester].refusal.value_or(Cause::kTimer);
}

void RcDelivery::AddCopy(const Lane& lane, Trouble& trouble, const Sighting& s) {
  trouble.cause = CauseOf(lane);
  trouble.until = StreamOf(lane).highest;
  if (trouble.again.size() < kMostCopies) trouble.again.push_back(s.frame);
}

RcDelivery::Trouble& RcDelivery::TroubleOf(const Lane& lane, uint64_t number, const FrameRef& first, Results& results) {
  Stream& stream = StreamOf(lane);
  if (stream.troubles.size() >= kMostTroubles) Settle(lane, true, results);
  const auto at = std::ranges::lower_bound(stream.troubles, number, {}, &Trouble::number);
  if (at != stream.troubles.end() && at->number == number && !at->settled) return *at;
  Trouble trouble;
  trouble.number = number;
  trouble.first = first;
  trouble.since = first.time_ns;
  if (at != stream.troubles.end() && at->number == number) return *at = trouble;
  ++troubles_;
  return *stream.troubles.insert(at, std::move(trouble));
}

// A packet of a stream.
void RcDelivery::See(const Lane& lane, uint64_t number, const Sighting& s, Results& results) {
  Stream& stream = StreamOf(lane);
  if (!stream.any || number > stream.highest) {
    if (stream.any && number - stream.highest > kFarAhead) return;
    if (!stream.any && resumes_) stream.lowest = number;
    stream.any = true;
    stream.highest = number;
    Keep(stream, number, s.frame);
    Requester& r = requesters_[lane.requester];
    if (lane.responses && r.due && r.resumed == number) {
      Trouble& trouble = TroubleOf(lane, number, s.frame, results);
      trouble.due = r.due;
      trouble.since = r.due->time_ns;
      trouble.cause = Cause::kTimer;
      trouble.until = number;
      r.due.reset();
    }
    return;
  }
  if (const Packet* const before = Find(stream, number)) {
    Trouble& trouble = TroubleOf(lane, number, before->first, results);
    if (s.kind == Sighting::Kind::kReadRequest) trouble.responses = std::max(trouble.responses, s.count);
    AddCopy(lane, trouble, s);
    return Settle(lane, false, results);
  }
  if (number < stream.lowest || stream.highest - number >= stream.packets.size()) return;  // nobody remembers
  int64_t since = s.frame.time_ns;
  for (uint64_t n = number + 1; n <= stream.highest; ++n)
    if (const Packet* const later = Find(stream, n)) since = std::min(since, later->first.time_ns);
  Keep(stream, number, s.frame);
  Trouble& trouble = TroubleOf(lane, number, s.frame, results);
  trouble.late = true;
  trouble.since = since;
  trouble.until = stream.highest;
}

void RcDelivery::Prove(const Lane& lane, uint64_t last, const FrameRef& frame, Results& results) {
  Stream& stream = StreamOf(lane);
  if (!stream.any || last > stream.highest + kFarAhead || !stream.evidence.Add(last, frame)) return;
  proven_ = true;
  if (!stream.troubles.empty()) Settle(lane, false, results);
  if (lane.responses && !streams_[lane.requester].troubles.empty()) Settle({lane.requester, false}, false, results);
}

bool RcDelivery::IsSettled(const Lane& lane, const Trouble& trouble) const {
  if (!StreamOf(lane).evidence.Proves(std::max(trouble.until, trouble.number))) return false;
  // A Read Request may be sent again for a response.
  return trouble.responses == 0 || IsKnown({lane.requester, true}, trouble.number + trouble.responses - 1);
}

// For each trouble from `lowest` on, the copy that delivered it. A receiver takes packets in order: none behind the
// copy that delivered a later one.
void RcDelivery::FindDelivering(Stream& stream, uint64_t lowest) {
  uint64_t limit = UINT64_MAX;
  auto trouble = stream.troubles.rbegin();
  for (; trouble != stream.troubles.rend() && !stream.evidence.Proves(trouble->number); ++trouble)
    trouble->delivered = LastBefore(limit, trouble->first, trouble->again);
  if (!stream.evidence.any()) return;
  for (uint64_t n = std::min(stream.evidence.highest(), stream.highest); n >= lowest; --n) {
    Packet* const packet = Find(stream, n);
    if (trouble != stream.troubles.rend() && trouble->number == n) {
      const FrameRef* const proof = stream.evidence.Find(n);
      trouble->delivered =
          LastBefore(std::min(limit, proof ? proof->order() : UINT64_MAX), trouble->first, trouble->again);
      limit = std::min(limit, trouble->delivered.order());
      if (packet) packet->delivered = trouble->delivered.order();
      ++trouble;
    } else if (packet) {
      limit = std::min(limit, packet->delivered);
    }
  }
}

// Judges the troubles of which nothing more can be learnt, or all.
void RcDelivery::Settle(const Lane& lane, bool all, Results& results) {
  Stream& stream = StreamOf(lane);
  const auto due = [&](const Trouble& t) { return !t.settled && (all || IsSettled(lane, t)); };
  if (std::ranges::none_of(stream.troubles, due)) return;
  FindDelivering(stream, stream.troubles.front().number);
  for (Trouble& trouble : stream.troubles) {
    if (!due(trouble)) continue;
    Judge(lane, trouble, results);
    trouble.settled = true;
  }
  // Those that are settled still say something of earlier ones that are not.
  const auto kept = std::ranges::find_if(stream.troubles, [](const Trouble& t) { return !t.settled; });
  troubles_ -= static_cast<size_t>(kept - stream.troubles.begin());
  stream.troubles.erase(stream.troubles.begin(), kept);
}

// When a packet that came late was due: a later one shows that it had been sent, if that was delivered behind it; else
// the capture, not the wire, has them in this order.
FrameRef RcDelivery::DueOf(const Stream& stream, const Trouble& trouble) const {
  FrameRef due = trouble.due.value_or(trouble.first);
  if (!trouble.late) return due;
  for (uint64_t n = trouble.number + 1; n <= std::min(trouble.until, stream.highest); ++n) {
    const Packet* const later = Find(stream, n);
    if (later && later->first.order() < due.order() && later->delivered > trouble.first.order()) due = later->first;
  }
  return due;
}

void RcDelivery::Judge(const Lane& lane, const Trouble& trouble, Results& results) const {
  const Stream& stream = StreamOf(lane);
  const Numbers numbers{trouble.number, trouble.number};
  uint64_t needed = trouble.delivered.order();
  if (trouble.responses > 0)
    if (const Packet* const last = Find(StreamOf({lane.requester, true}), trouble.number + trouble.responses - 1))
      needed = std::max(needed, last->delivered);
  if (!lane.responses)
    for (const FrameRef& copy : trouble.again)
      if (copy.order() > needed) results.OnSpurious(lane, numbers, trouble.first, copy);
  if (trouble.delivered.number != trouble.first.number) results.OnDelivered(lane, numbers, trouble.delivered);
  const FrameRef* const proof = stream.evidence.Find(trouble.number);
  if (proof && proof->order() < trouble.first.order()) return;  // the copy that counts was not captured
  const FrameRef due = DueOf(stream, trouble);
  if (Elapsed(due, trouble.delivered).value_or(0) > 0)
    results.OnWait(lane, numbers, due, trouble.delivered, trouble.cause);
}

bool RcDelivery::IsKnown(const Lane& lane, uint64_t last) const {
  return StreamOf(lane).evidence.Proves(last) && std::ranges::none_of(StreamOf(lane).troubles, [&](const Trouble& t) {
           return t.number == last && !t.settled;
         });
}

bool RcDelivery::AnyTrouble(const std::function<bool(const Lane&, const Numbers&)>& of) const {
  for (const Side requester : {Side{0}, Side{1}})
    for (const bool responses : {false, true})
      for (const Trouble& t : StreamOf({requester, responses}).troubles)
        if (!t.settled && of({requester, responses}, {t.number, t.number})) return true;
  return false;
}

int64_t RcDelivery::troubled_since() const {
  int64_t since = kNoTime;
  for (const Stream& stream : streams_)
    for (const Trouble& trouble : stream.troubles)
      if (!trouble.settled) since = std::min(since, trouble.since);
  return since;
}

void RcDelivery::Finish(Results& results) {
  for (const Side requester : {Side{0}, Side{1}})
    for (const bool responses : {true, false}) Settle({requester, responses}, true, results);
}

uint64_t RcDelivery::storage() const {
  uint64_t bytes = sizeof *this;
  for (const Requester& requester : requesters_) bytes += requester.reads.capacity() * sizeof(Read);
  for (const Stream& stream : streams_)
    bytes += stream.packets.capacity() * sizeof(Packet) + stream.evidence.storage() +
             stream.troubles.capacity() * (sizeof(Trouble) + 4 * sizeof(FrameRef));
  return bytes;
}

}  // namespace stag::delivery
