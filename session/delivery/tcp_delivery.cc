// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/delivery/tcp_delivery.h"

#include <algorithm>

#include "protocol/base/sequence.h"

namespace stag::delivery {
namespace {

using fabric::Sighting;

constexpr uint64_t kFarBytes = uint64_t{64} << 20;
// No receiver keeps an acknowledgment back for so long (RFC 9293 section 3.8.6.3; Linux: 200 ms).
constexpr int64_t kLongestDelay = 200'000'000;

}  // namespace

uint64_t TcpDelivery::Unwrap(const Stream& stream, uint32_t number) {
  return stream.any ? NearestPosition<32>(stream.top, number) : FirstPosition(number);
}

uint64_t TcpDelivery::PlaceOf(const Lane& lane, uint32_t number) const {
  return Unwrap(streams_[lane.requester], number);
}

void TcpDelivery::OnSighting(const Sighting& s, Results& results) {
  if (s.acknowledges) OnAcknowledgment(s.from, s, results);
  OnData(s.from, s, results);
}

void TcpDelivery::OnAcknowledgment(Side from, const Sighting& s, Results& results) {
  const auto sender = static_cast<Side>(1 - from);
  Stream& stream = streams_[sender];
  if (!stream.any) return;
  const uint64_t end = Unwrap(stream, s.acknowledged);
  if (end > stream.top + kFarBytes || end + kFarBytes < stream.top) return;
  if (end == stream.acknowledged && s.count == 0) ++stream.duplicates;
  if (end > stream.acknowledged) stream.duplicates = 0;
  stream.acknowledged = std::max(stream.acknowledged, end);
  for (size_t i = 0; i < s.blocks; ++i) {
    const uint64_t first = Unwrap(stream, s.sack[i].first), behind = Unwrap(stream, s.sack[i].behind);
    if (behind <= first || behind > stream.top) continue;
    const bool within = i == 0 && s.blocks > 1 && Unwrap(stream, s.sack[1].first) <= first &&
                        behind <= Unwrap(stream, s.sack[1].behind);
    if (i == 0 && (behind <= end || within)) {  // RFC 2883 section 4
      Refuse(sender, first, behind, s.frame, results);
    } else {
      Sack(stream, first, behind, s.frame);
    }
  }
  Prove({sender, false}, end - 1, s.frame, results);
}

// The index of the first unit that ends behind `at`.
size_t TcpDelivery::Find(const Stream& stream, uint64_t at) {
  const auto begin = stream.units.begin() + static_cast<ptrdiff_t>(stream.head);
  const auto found = std::upper_bound(begin, stream.units.end(), at,
                                      [](uint64_t place, const Unit& unit) { return place < unit.end; });
  return static_cast<size_t>(found - stream.units.begin());
}

// A unit becomes two, of which the second begins at `at`.
void TcpDelivery::Split(Stream& stream, size_t index, uint64_t at) {
  Unit rest = stream.units[index];
  rest.begin = at;
  stream.units[index].end = at;
  troubles_ += rest.troubled();
  stream.units.insert(stream.units.begin() + static_cast<ptrdiff_t>(index) + 1, std::move(rest));
}

void TcpDelivery::Repeat(Stream& stream, size_t index, const FrameRef& frame, uint64_t segment) {
  Unit& unit = stream.units[index];
  if (!unit.troubled()) ++troubles_;
  if (unit.again.size() < kMostCopies) unit.again.push_back({frame, segment, false});
  unit.cause = stream.duplicates > 0 || unit.sacked.number != 0 ? Cause::kDuplicateAcks : Cause::kTimer;
  unit.until = stream.top;
}

void TcpDelivery::OnData(Side from, const Sighting& s, Results& results) {
  Stream& stream = streams_[from];
  const uint64_t begin = Unwrap(stream, s.number), end = begin + s.count;
  if (!stream.any) {
    stream.any = true;
    stream.top = stream.settled = stream.acknowledged = begin;
  }
  if (end > stream.top + kFarBytes || end + kFarBytes < stream.top) return;
  if (begin > stream.top) stream.holes.push_back({stream.top, begin, s.frame});
  if (begin > stream.top && s.count == 0) stream.top = begin;
  if (s.count == 0) return;
  if (stream.units.size() - stream.head >= kMostUnits) Settle(from, true, results);

  bool fresh = false;  // a byte of it was not seen before
  uint64_t repeated = 0;
  const uint64_t segment = stream.last_segment + 1;
  for (uint64_t at = begin; at < end;) {
    if (at >= stream.top) {
      Unit& unit = stream.units.emplace_back();
      unit.begin = at;
      unit.end = stream.top = end;
      unit.first = s.frame;
      fresh = true;
      break;
    }
    if (at < stream.settled) {
      const uint64_t until = std::min(end, stream.settled);
      repeated += until - at;
      at = until;
      continue;
    }
    size_t index = Find(stream, at);
    if (index < stream.units.size() && stream.units[index].begin <= at) {
      if (stream.units[index].begin < at) Split(stream, index++, at);
      if (stream.units[index].end > end) Split(stream, index, end);
      Repeat(stream, index, s.frame, segment);
      repeated += stream.units[index].end - at;
      at = stream.units[index].end;
      continue;
    }
    Unit late;
    late.begin = at;
    late.end = std::min({end, stream.top, index < stream.units.size() ? stream.units[index].begin : stream.top});
    late.first = late.due = s.frame;
    late.until = stream.top;
    for (const Hole& hole : stream.holes)
      if (hole.begin <= at && at < hole.end) {
        late.due = hole.due;
        late.end = std::min(late.end, hole.end);
      }
    at = late.end;
    fresh = true;
    ++troubles_;
    stream.units.insert(stream.units.begin() + static_cast<ptrdiff_t>(index), std::move(late));
  }
  if (repeated == 0) return;
  stream.last_segment = segment;
  if (fresh) return;  // no retransmission
  const uint64_t open = end - std::max(begin, std::min(end, stream.settled));
  stream.segments.push_back({segment, begin, end, s.frame, open});
  TellSpurious(stream, {from, false}, results);
}

void TcpDelivery::Sack(Stream& stream, uint64_t begin, uint64_t end, const FrameRef& frame) {
  for (size_t i = Find(stream, begin); i < stream.units.size() && stream.units[i].begin < end; ++i) {
    Unit& unit = stream.units[i];
    if (unit.begin >= begin && unit.end <= end && unit.sacked.number == 0) unit.sacked = frame;
  }
}

// The receiver had these bytes when a copy came: the latest before `frame` that no other D-SACK names.
void TcpDelivery::Refuse(Side sender, uint64_t begin, uint64_t end, const FrameRef& frame, Results& results) {
  Stream& stream = streams_[sender];
  for (size_t i = Find(stream, begin); i < stream.units.size() && stream.units[i].begin < end; ++i) {
    Unit& unit = stream.units[i];
    const auto copy = std::find_if(unit.again.rbegin(), unit.again.rend(), [&](const Copy& c) { return !c.refused; });
    if (copy == unit.again.rend() || copy->frame.order() >= frame.order()) continue;
    copy->refused = true;
    const FrameRef& before = std::next(copy) == unit.again.rend() ? unit.first : std::next(copy)->frame;
    const FrameRef* const proof = stream.evidence.Find(unit.end - 1);
    const bool proven = (proof && proof->order() < copy->frame.order()) ||
                        (unit.sacked.number != 0 && unit.sacked.order() < copy->frame.order());
    if (!proven && Elapsed(before, copy->frame).value_or(0) >= kLongestDelay)
      results.OnWait({sender, false}, {unit.begin, unit.end - 1}, before, copy->frame, Cause::kTimer);
  }
}

void TcpDelivery::Prove(const Lane& lane, uint64_t last, const FrameRef& frame, Results& results) {
  Stream& stream = streams_[lane.requester];
  if (!stream.any || last < stream.settled || last > stream.top + kFarBytes) return;
  if (stream.evidence.Add(last, frame)) proven_ = true;
  Settle(lane.requester, false, results);
}

// Judges bytes in order, as far as nothing more can be learnt of them: a D-SACK for a copy comes before an
// acknowledgment of what was sent behind it.
void TcpDelivery::Settle(Side sender, bool all, Results& results) {
  Stream& stream = streams_[sender];
  for (; stream.head < stream.units.size(); ++stream.head) {
    Unit& unit = stream.units[stream.head];
    const bool proven = stream.evidence.Proves(unit.end - 1);
    if (!all && (!proven || (!unit.again.empty() && stream.evidence.highest() < unit.until))) break;
    troubles_ -= unit.troubled();
    Judge(sender, unit, results);
    stream.settled = unit.end;
  }
  if (stream.evidence.any() && stream.head == stream.units.size())
    stream.settled = std::max(stream.settled, std::min(stream.top, stream.evidence.highest() + 1));
  std::erase_if(stream.holes, [&](const Hole& hole) { return hole.end <= stream.settled; });
  if (stream.head == stream.units.size() || stream.head >= 256) {
    stream.units.erase(stream.units.begin(), stream.units.begin() + static_cast<ptrdiff_t>(stream.head));
    stream.head = 0;
  }
  TellSpurious(stream, {sender, false}, results);
}

void TcpDelivery::Judge(Side sender, Unit& unit, Results& results) {
  Stream& stream = streams_[sender];
  const Lane lane{sender, false};
  const Numbers numbers{unit.begin, unit.end - 1};
  uint64_t limit = UINT64_MAX;
  if (const FrameRef* const proof = stream.evidence.Find(unit.end - 1)) limit = proof->order();
  if (unit.sacked.number != 0) limit = std::min(limit, unit.sacked.order());
  FrameRef own = unit.first;
  for (const Copy& copy : unit.again)
    if (!copy.refused && copy.frame.order() < limit) own = copy.frame;
  for (const Copy& copy : unit.again)
    JudgeBytes(stream, copy.segment, unit.end - unit.begin, copy.frame.order() <= own.order());
  if (limit < unit.first.order()) return;  // the copy that counts was not captured
  if (own.order() > stream.delivered.order() || stream.delivered.number == 0) stream.delivered = own;
  const FrameRef& due = unit.late() ? unit.due : unit.first;
  if (Elapsed(due, stream.delivered).value_or(0) > 0) results.OnWait(lane, numbers, due, stream.delivered, unit.cause);
  if (stream.delivered.order() > unit.first.order()) results.OnDelivered(lane, numbers, stream.delivered);
}

void TcpDelivery::JudgeBytes(Stream& stream, uint64_t segment, uint64_t bytes, bool needed) {
  const auto found = std::ranges::find(stream.segments, segment, &Segment::id);
  if (found == stream.segments.end()) return;
  found->left -= std::min(found->left, bytes);
  found->needed = found->needed || needed;
}

void TcpDelivery::TellSpurious(Stream& stream, const Lane& lane, Results& results) {
  if (stream.segments.empty()) return;
  for (const Segment& segment : stream.segments)
    if (segment.left == 0 && !segment.needed)
      results.OnSpurious(lane, {segment.begin, segment.end - 1}, {}, segment.frame);
  std::erase_if(stream.segments, [](const Segment& segment) { return segment.left == 0; });
}

bool TcpDelivery::IsKnown(const Lane& lane, uint64_t last) const { return streams_[lane.requester].settled > last; }

bool TcpDelivery::AnyTrouble(const std::function<bool(const Lane&, const Numbers&)>& of) const {
  for (const Side sender : {Side{0}, Side{1}}) {
    const Stream& stream = streams_[sender];
    if (troubles_ == 0) continue;
    const auto first = std::find_if(stream.units.begin() + static_cast<ptrdiff_t>(stream.head), stream.units.end(),
                                    [](const Unit& unit) { return unit.troubled(); });
    if (first != stream.units.end() && of({sender, false}, {first->begin, stream.top - 1})) return true;
  }
  return false;
}

int64_t TcpDelivery::troubled_since() const {
  int64_t since = kNoTime;
  for (const Stream& stream : streams_)
    for (size_t i = stream.head; i < stream.units.size() && troubles_ > 0; ++i)
      since = std::min(since, stream.units[i].late() ? stream.units[i].due.time_ns : stream.units[i].first.time_ns);
  return since;
}

void TcpDelivery::Finish(Results& results) {
  for (const Side sender : {Side{0}, Side{1}}) Settle(sender, true, results);
}

uint64_t TcpDelivery::storage() const {
  uint64_t bytes = sizeof *this;
  for (const Stream& stream : streams_)
    bytes += stream.units.capacity() * sizeof(Unit) + stream.holes.capacity() * sizeof(Hole) +
             stream.segments.capacity() * sizeof(Segment) + stream.evidence.storage();
  return bytes;
}

}  // namespace stag::delivery
