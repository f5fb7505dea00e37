// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/times/erspan_reader.h"

#include <algorithm>

namespace stag::capture {
namespace {

// The source of the IP header; LIDs and the like do not come around ERSPAN.
Address SourceOf(const link::Header& ip, Bytes frame) {
  Address source;
  const bool v4 = ip.kind == link::HeaderKind::kIpv4;
  source.kind = v4 ? Address::Kind::kIpv4 : Address::Kind::kIpv6;
  std::ranges::copy(frame.subspan(ip.offset + (v4 ? 12 : 8), v4 ? 4 : 16), source.bytes.begin());
  return source;
}

// How far `now` is from `first`, in counts of 32 bits that may have gone round: what is nearest to `about`.
int64_t Extend(uint32_t first, uint32_t now, int64_t about) {
  constexpr int64_t kRound = int64_t{1} << 32;
  const int64_t apart = static_cast<uint32_t>(now - first);
  const int64_t off = about - apart;
  const int64_t rounds = off >= 0 ? (off + kRound / 2) / kRound : -((kRound / 2 - off) / kRound);
  return apart + rounds * kRound;
}

}  // namespace

// The header of type III: version, VLAN (2 bytes), session (2), timestamp (4), security group (2), flags (2) with the
// granularity in 0x0006, and with 0x0001 a platform specific subheader of 8 bytes, whose first 6 bits are its kind.
std::optional<ErspanReader::Stamp> ErspanReader::StampOf(Bytes header) {
  if (header.size() < 12 || std::to_integer<unsigned>(header[0]) >> 4 != 2) return std::nullopt;
  constexpr uint64_t kOneSecond = 1'000'000'000;  // ns
  Stamp stamp;
  stamp.count = LoadBe32(&header[4]);
  const unsigned flags = LoadBe16(&header[10]), granularity = flags >> 1 & 3;
  const bool subheader = (flags & 1) != 0 && header.size() >= 20;
  const unsigned kind = subheader ? std::to_integer<unsigned>(header[12]) >> 2 : ~0u;
  const uint64_t upper = subheader ? LoadBe32(&header[16]) : 0;
  constexpr unsigned k100Us = 0, k100Ns = 1, kIeee1588 = 2;
  if (granularity == kIeee1588) {  // nanoseconds; the subheader has the seconds
    if (kind != 0 && kind != 5 && kind != 6 && kind != 7) return std::nullopt;
    if (stamp.count >= kOneSecond) return std::nullopt;
    stamp.count += upper * kOneSecond;
    return stamp;
  }
  if (granularity != k100Us && granularity != k100Ns) return std::nullopt;  // the user's own
  stamp.unit_ns = granularity == k100Us ? 100'000 : 100;
  stamp.goes_round = kind != 3;  // which has the upper 32 bits
  if (!stamp.goes_round) stamp.count |= upper << 32;
  return stamp;
}

ErspanReader::Clock* ErspanReader::ClockOf(const Address& source, const Stamp& stamp, int64_t time_ns) {
  const auto found = std::ranges::find_if(clocks_, [&](const Clock& clock) {
    return clock.source == source && clock.first.unit_ns == stamp.unit_ns && clock.first.goes_round == stamp.goes_round;
  });
  if (found != clocks_.end()) return &*found;
  if (clocks_.size() == kMostClocks) return nullptr;
  return &clocks_.emplace_back(Clock{source, stamp, time_ns});
}

Reader::Next ErspanReader::ReadFrame(Frame& frame) {
  const Next next = reader_.ReadFrame(frame);
  if (next != Next::kFrame || !frame.ref.timed) return next;
  link::Decode(frame, packet_, headers_, ports_);
  const auto erspan = std::ranges::find(headers_, link::HeaderKind::kErspan, &link::Header::kind);
  if (erspan == headers_.end()) return next;
  const auto ip = std::find_if(std::make_reverse_iterator(erspan), headers_.rend(), [](const link::Header& header) {
    return header.kind == link::HeaderKind::kIpv4 || header.kind == link::HeaderKind::kIpv6;
  });
  const auto stamp = StampOf(frame.bytes.subspan(erspan->offset, erspan->length));
  if (!stamp || ip == headers_.rend()) return next;
  const int64_t captured = frame.ref.time_ns;
  const Clock* clock = ClockOf(SourceOf(*ip, frame.bytes), *stamp, captured);
  if (!clock) return next;
  const int64_t elapsed = captured - clock->began_ns;
  const int64_t counts = stamp->goes_round ? Extend(static_cast<uint32_t>(clock->first.count),
                                                    static_cast<uint32_t>(stamp->count), elapsed / stamp->unit_ns)
                                           : static_cast<int64_t>(stamp->count - clock->first.count);
  const __int128 time = clock->began_ns + static_cast<__int128>(counts) * stamp->unit_ns;
  if (time != ClampTime(time)) return next;
  frame.ref.time_ns = static_cast<int64_t>(time);
  ++stamped_;
  return next;
}

}  // namespace stag::capture
