// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/copies.h"

#include <algorithm>
#include <cstring>

#include "protocol/base/crc.h"
#include "protocol/ib/transport.h"

namespace stag::fabric {
namespace {

uint64_t Load64(const std::byte* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t h, uint64_t v) { return ((h << 23 | h >> 41) ^ v) * kOdd; }
uint32_t Half(uint64_t v) { return static_cast<uint32_t>(v * kOdd >> 32); }

// Of an end: what tells addresses of one kind apart stands in their first four bytes, or in their last. The UDP source
// port of a RoCE packet is none of it.
uint32_t EndOf(const Address& address, uint16_t port) {
  return LoadLe32(address.bytes.data()) + LoadLe32(address.bytes.data() + 12) + port;
}
// Of both ends in their order.
uint32_t FlowOf(uint32_t from, uint32_t to) { return from * static_cast<uint32_t>(kOdd) + to; }
uint32_t FlowOf(const link::Packet& packet, bool tcp) {
  return FlowOf(EndOf(packet.source, tcp ? packet.source_port : uint16_t{0}),
                EndOf(packet.destination, tcp ? packet.destination_port : uint16_t{0}));
}
uint32_t FlowBackOf(const link::Packet& packet, bool tcp) {
  return FlowOf(EndOf(packet.destination, tcp ? packet.destination_port : uint16_t{0}),
                EndOf(packet.source, tcp ? packet.source_port : uint16_t{0}));
}

// The header of a TCP segment, options included; empty: it is not there.
Bytes TcpHeaderOf(const link::Packet& packet) {
  const size_t size = packet.tcp_header_length;
  return size < 20 ? Bytes{} : Bytes(packet.payload.data() - size, size);
}

// A TCP segment whose options are those that nearly all have: the time of its sender.
bool HasTimestamp(const link::Packet& packet) {
  constexpr uint32_t kNopNopTimestamp = 0x0101080a;
  const Bytes header = TcpHeaderOf(packet);
  return header.size() >= 32 && LoadBe32(&header[20]) == kNopNopTimestamp;
}

// What TCP segments with the same key may differ in: checksum, options, and the end of the payload, since a host leaves
// the checksum to its adapter. Most have no options, or the times of both ends.
inline uint32_t TcpRestOf(const link::Packet& packet) {
  uint64_t rest = 0;
  if (const size_t size = packet.tcp_header_length; size >= 20) {
    const std::byte* const header = packet.payload.data() - size;
    rest = LoadLe32(header + 16) ^ Load64(header + size - 8);
    for (size_t at = 20; size > 32 && at < size; at += 4) rest = Mix(rest, LoadLe32(header + at));
  }
  const size_t payload = packet.payload.size();
  return Half(payload < 8 ? rest : rest + Load64(packet.payload.data() + payload - 8) * kOdd);
}

constexpr uint32_t kReach = 1 << 14;  // PSNs that may be under way

// Whether `later` is at most so many PSNs behind `psn`.
bool Reaches(uint32_t psn, uint32_t later) { return ((later - psn) & ib::kPsnMask) < kReach; }

uint32_t PsnOf(uint64_t place) { return static_cast<uint32_t>(place) & ib::kPsnMask; }
uint32_t QpOf(uint64_t place) { return static_cast<uint32_t>(place >> 32) & 0xffffff; }
uint32_t SequenceOf(uint64_t place) { return static_cast<uint32_t>(place >> 32); }

bool IsNak(uint8_t kind, uint8_t syndrome) {
  return kind == ib::kAcknowledge && ib::KindOf(syndrome) != ib::AethKind::kAck;
}
bool IsResponse(uint8_t kind) { return ib::LookUpOpcode(kind).response; }

}  // namespace

Copies::Copies(const AckTimeouts& timeouts)
    : timeouts_(timeouts), seen_(kRemembered), buckets_(size_t{1} << kBucketBits) {}

// The key is of what does not change on the way. The ICRC stands for all of a RoCE or InfiniBand packet; the byte of
// congestion notification, the BTH's fifth, changes: the seven behind it have the queue pair and the PSN. Nearly all
// packets are whole, and are no copies: they leave here, at a few instructions each.
bool Copies::IsCopy(const link::Packet& packet, const FrameRef& frame) {
  const Bytes payload = packet.payload;
  if (packet.carrier == link::Carrier::kTcp || payload.size() != packet.wire_length ||
      payload.size() < ib::kBthLength + ib::kIcrcLength)
    return IsOtherCopy(packet, frame);
  const uint32_t icrc = LoadLe32(payload.data() + payload.size() - ib::kIcrcLength);
  if (icrc == 0) return IsOtherCopy(packet, frame);
  return IsCopy((LoadBe64(payload.data() + 4) << 8) * kOdd ^ icrc, 0, 0, packet, frame, Form::kWhole);
}

// TCP segments; RoCE packets that are cut by the capture, of which what there is of their headers makes the key, or
// that have no ICRC.
bool Copies::IsOtherCopy(const link::Packet& packet, const FrameRef& frame) {
  const Bytes payload = packet.payload;
  if (packet.carrier == link::Carrier::kTcp) {
    const uint64_t numbers = uint64_t{packet.sequence} << 32 | packet.acknowledgment;
    const uint64_t about = packet.wire_length << 40 | uint64_t{packet.window} << 24 | uint64_t{packet.tcp_flags} << 16;
    const uint32_t flow = FlowOf(packet, true);
    return IsCopy(Mix(Mix(flow, numbers), about | packet.ip_id), flow, TcpRestOf(packet), packet, frame, Form::kTcp);
  }
  if (payload.size() < ib::kBthLength) return false;
  const uint32_t flow = FlowOf(packet, false);
  uint64_t key = Mix(uint64_t{LoadBe32(payload.data())} << 32 | flow, packet.wire_length << 16 | packet.ip_id);
  const Bytes rest = payload.subspan(5, std::min<size_t>(payload.size() - 5, 48) & ~size_t{7});
  for (size_t at = 0; at < rest.size(); at += 8) key = Mix(key, Load64(&rest[at]));
  return IsCopy(key, flow, Crc32c(0, payload.subspan(5)), packet, frame, Form::kOther);
}

// With no packet in its bucket it is no copy.
inline bool Copies::IsCopy(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet,
                           const FrameRef& frame, Form form) {
  if (Holds(NumberOf(BucketOf(key)))) return LookUp(key, rest, packet, frame, form);
  Remember(key, flow, rest, packet, frame, form);
  return false;
}

// Looks at the newest packet with the same key; of those that came the same way, at the newest that is the same in
// every byte.
bool Copies::LookUp(uint64_t key, uint32_t rest, const link::Packet& packet, const FrameRef& frame, Form form) {
  const uint32_t flow = FlowOf(packet, form == Form::kTcp);
  uint8_t flags = 0;
  for (uint32_t number = NumberOf(BucketOf(key)); Holds(number); number = At(number).before) {
    const Seen& first = At(number);
    if (first.key != key) continue;
    Seen now;
    Describe(key, flow, rest, packet, frame, form, now);
    flags = kAgain;
    if (now.way == first.way &&
        ((form != Form::kWhole && now.rest != first.rest) || now.kind != first.kind || now.detail != first.detail))
      continue;
    if (IsCopyOf(number, packet, frame)) return true;
    break;
  }
  Remember(key, flow, rest, packet, frame, form);
  At(next_ - 1).flags = flags;
  return false;
}

// What is read is read first: the compiler cannot know that nothing of it is overwritten.
inline void Copies::Describe(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet,
                             const FrameRef& frame, Form form, Seen& seen) {
  const std::byte* const at = packet.payload.data();
  const bool tcp = form == Form::kTcp, has_aeth = form == Form::kWhole || packet.payload.size() > ib::kBthLength;
  const uint64_t place = tcp ? uint64_t{packet.sequence} << 32 | packet.acknowledgment : LoadBe64(at + 4);
  const auto kind = tcp ? static_cast<uint8_t>(packet.wire_length > 0) : std::to_integer<uint8_t>(at[0]);
  const auto detail = tcp        ? packet.tcp_header_length
                      : has_aeth ? std::to_integer<uint8_t>(at[ib::kBthLength])
                                 : uint8_t{0};
  if (form == Form::kWhole) flow = FlowOf(packet, false);
  const uint64_t way = packet.way;
  const uint16_t ip_id = packet.ip_id;
  seen.time_ns = frame.time_ns;
  seen.key = key;
  seen.way = way;
  seen.place = place;
  seen.flow = flow;
  if (form != Form::kWhole) seen.rest = rest;
  seen.ip_id = ip_id;
  seen.kind = kind;
  seen.detail = detail;
  seen.copies = seen.flags = 0;
}

inline void Copies::Remember(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet,
                             const FrameRef& frame, Form form) {
  uint16_t& bucket = BucketOf(key);
  Seen& seen = At(next_);
  Describe(key, flow, rest, packet, frame, form, seen);
  seen.before = NumberOf(bucket);
  bucket = static_cast<uint16_t>(next_++);
}

bool Copies::IsCopyOf(uint32_t number, const link::Packet& packet, const FrameRef& frame) {
  Seen& first = At(number);
  const uint64_t a = static_cast<uint64_t>(first.time_ns), b = static_cast<uint64_t>(frame.time_ns);
  const uint64_t apart = first.time_ns < frame.time_ns ? b - a : a - b;
  if (apart > static_cast<uint64_t>(kWindow)) return false;
  const uint32_t way = Half(packet.way);
  const size_t used = first.flags & ~kAgain;
  const auto others = first.other_ways.begin(), others_end = others + static_cast<ptrdiff_t>(used);
  if (packet.way == first.way || std::find(others, others_end, way) != others_end)
    return CameTwice(number, packet, frame, static_cast<int64_t>(apart));
  if (used < first.other_ways.size()) {
    first.other_ways[used] = way;
    ++first.flags;
  }
  return true;
}

// A packet like this one came the same way. (It has the same identification: the key has that in it, or an ICRC that
// covers it.)
bool Copies::CameTwice(uint32_t number, const link::Packet& packet, const FrameRef& frame, int64_t apart) {
  Seen& first = At(number);
  const auto copy = [&] {
    if (first.copies < UINT8_MAX) ++first.copies;
    first.apart = static_cast<uint32_t>(apart);
    return true;
  };
  const bool tcp = packet.carrier == link::Carrier::kTcp;
  int64_t soonest = AckTimeouts::kShortest;
  if (!tcp) soonest = timeouts_.Of(packet.source, packet.destination);
  if (tcp && ((packet.tcp_flags & link::kTcpSyn) != 0 || HasTimestamp(packet))) soonest = kWindow + 1;
  const Between between = LookBetween(number, packet, tcp);
  const bool too_soon = frame.timed && apart < soonest && !between.again;
  if (too_soon && !between.answered) return copy();
  const Neighbours n = NeighboursOf(number, frame.time_ns, tcp);
  const bool near = n.Near(apart);
  if (too_soon && (near || n.looked < kMany)) return copy();
  if (n.counting && n.copied >= kSome) return copy();
  const bool all = near && n.looked >= kSome && n.copied * 8 >= n.looked * 7 && first.copies < n.usual();
  // Whoever goes back sends again what took no longer to send than until then.
  if (all && (apart < soonest || n.span > 2 * apart)) return copy();
  const bool some = near && n.looked >= kSome && n.copied >= 2;
  const bool little_known = n.looked < kMany && !between.again && frame.timed;
  if (!all && (first.copies > 0 || !(some || little_known))) return false;
  if (unclear_++ == 0) first_unclear_ = frame.number;
  return copy();
}

// The packets that came behind the first. Which queue pairs belong together is not known here: a PSN of another
// connection of the same hosts is hardly ever that near.
Copies::Between Copies::LookBetween(uint32_t number, const link::Packet& packet, bool tcp) const {
  const Seen& first = At(number);
  const uint32_t back = FlowBackOf(packet, tcp), psn = PsnOf(first.place);
  Between between;
  // Nothing tells one of these from the next.
  if (tcp ? (packet.tcp_flags & link::kTcpRst) != 0 : first.kind == ib::kCongestionNotification) return {.again = true};
  if (tcp) {
    if (first.kind == 0) return between;  // equal acknowledgements
    for (uint32_t n = next_ - 1; n != number && !between.again; --n) {
      const Seen& other = At(n);
      const int32_t ahead = static_cast<int32_t>(SequenceOf(other.place) - SequenceOf(first.place));
      const int32_t acknowledged = static_cast<int32_t>(static_cast<uint32_t>(other.place) - SequenceOf(first.place));
      if (other.flow == first.flow) between.again = other.kind != 0 && ahead < 0 && (other.flags & kAgain) != 0;
      // Options besides those that data have: SACK.
      if (other.flow == back)
        between.again = other.kind == 0 && acknowledged <= 0 && (other.detail > first.detail || other.copies >= 3);
    }
    return between;
  }
  const bool nak = IsNak(first.kind, first.detail), response = IsResponse(first.kind);
  if (first.kind == ib::kAcknowledge && !nak) return between;
  for (uint32_t n = next_ - 1; n != number && !between.again; --n) {
    const Seen& other = At(n);
    const uint32_t at = PsnOf(other.place);
    if (other.flow == first.flow) {
      // A Read Request for the rest of an earlier one is no like of that. What else is new, and below, is out of order.
      between.again = !nak && QpOf(other.place) == QpOf(first.place) && IsResponse(other.kind) == response &&
                      ((other.flags & kAgain) != 0 || other.kind == ib::kReadRequest) &&
                      other.kind != ib::kAcknowledge && at != psn && Reaches(at, psn);
    } else if (other.flow == back && !response) {
      between.again = IsNak(other.kind, other.detail) && Reaches(at, psn);
      between.answered |= first.kind == ib::kReadRequest && IsResponse(other.kind) && Reaches(psn, at);
    } else if (other.flow == back && nak) {
      between.again =
          !IsResponse(other.kind) && (Reaches(at, psn) || ((other.flags & kAgain) != 0 && Reaches(psn, at)));
    } else if (other.flow == back) {
      between.again = other.kind == ib::kReadRequest && Reaches(at, psn);
    }
  }
  return between;
}

// Of the packets that came the same way before it. The newest may get their copies yet.
Copies::Neighbours Copies::NeighboursOf(uint32_t number, int64_t now_ns, bool tcp) const {
  const Seen& first = At(number);
  const auto each = [&](auto&& see) {
    uint32_t seen = 0;
    for (uint32_t n = number - 1; Holds(n) && seen < kLookedAt; --n) {
      const Seen& other = At(n);
      if (other.way != first.way || other.key == 0) continue;
      see(other);
      ++seen;
    }
  };
  const auto ahead_of_position = [tcp](const Seen& seen) {
    return static_cast<uint16_t>(seen.ip_id - (tcp ? SequenceOf(seen.place) : PsnOf(seen.place)));
  };
  Neighbours all;
  each([&](const Seen& other) {
    if (other.copies > 0) {
      all.shortest = std::min<int64_t>(all.shortest, other.apart);
      all.longest = std::max<int64_t>(all.longest, other.apart);
    }
    if (first.ip_id != 0 && other.ip_id != 0 && other.flow == first.flow)
      all.counting |= other.ip_id != first.ip_id && ahead_of_position(other) != ahead_of_position(first);
  });
  each([&](const Seen& other) {
    if (other.copies > 0 || now_ns - other.time_ns >= all.longest) ++all.looked;
    all.copied += other.copies > 0 ? 1 : 0;
    all.copies += other.copies;
    all.span = std::max(all.span, first.time_ns - other.time_ns);
  });
  return all;
}

uint32_t Copies::Neighbours::usual() const { return std::max(1u, looked == 0 ? 0 : (copies + looked / 2) / looked); }

bool Copies::Neighbours::Near(int64_t apart) const {
  if (copied == 0 || looked == 0) return false;
  const int64_t play = 1000 + longest / 16 + (longest - shortest) / 2;
  return apart >= shortest / usual() - play && apart <= longest + play;
}

}  // namespace stag::fabric
