// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ip_fragments.h"

namespace stag::fabric {
namespace {

constexpr size_t kLongestPacket = 65535, kSpare = 16;
constexpr size_t kIpv6Header = 40;

}  // namespace

size_t IpFragments::Find(const link::Packet& packet) const {
  const auto found = std::ranges::find_if(parts_, [&](const Part& part) {
    return part.fragment.id == packet.fragment.id && part.fragment.next == packet.fragment.next &&
           part.fragment.v6 == packet.fragment.v6 && part.source == packet.source &&
           part.destination == packet.destination;
  });
  return static_cast<size_t>(found - parts_.begin());
}

link::FragmentStop IpFragments::WhyOf(const Part& part) {
  return part.header_length == 0 ? link::kFragmentWithoutFirst : link::kFragmentAlone;
}

void IpFragments::Drop(size_t at) {
  Part& part = parts_[at];
  bytes_ -= part.charge.bytes();
  if (spare_.size() < kSpare) {
    part.storage.pieces.clear();
    spare_.push_back(std::move(part.storage));
  }
  parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(at));
}

void IpFragments::GiveUp(size_t at, link::FragmentStop why) {
  stopped_.Add({link::StopReason::kFragment, why}, parts_[at].frames);
  Drop(at);
}

void IpFragments::Finish() {
  while (!parts_.empty()) GiveUp(0, WhyOf(parts_[0]));
}

// For the bytes of parts_[at]; others go, the oldest first.
bool IpFragments::MakeRoom(size_t& at, size_t bytes) {
  for (;;) {
    Charge& charge = parts_[at].charge;
    const uint64_t before = charge.bytes(), wanted = std::max<uint64_t>(before, sizeof(Part) + bytes);
    if (bytes_ - before + wanted <= most_bytes_ && charge.TrySet(wanted)) {
      bytes_ += wanted - before;
      return true;
    }
    if (parts_.size() == 1) return false;
    const size_t oldest = at == 0 ? 1 : 0;
    GiveUp(oldest, WhyOf(parts_[oldest]));
    if (oldest < at) --at;
  }
}

// False: it contradicts the others.
bool IpFragments::Put(Part& part, const link::Packet& packet, const FrameRef& frame) const {
  const link::IpFragment& fragment = packet.fragment;
  std::vector<Piece>& pieces = part.storage.pieces;
  const auto begin = fragment.offset, end = static_cast<uint32_t>(begin + packet.wire_length);
  const auto next = std::ranges::lower_bound(pieces, begin, {}, &Piece::begin);
  if (next != pieces.end() && next->begin == begin && next->end == end) return true;  // once more
  if (next != pieces.end() && next->begin < end) return false;
  if (next != pieces.begin() && std::prev(next)->end > begin) return false;
  if (fragment.more ? packet.wire_length % 8 != 0 || (part.total != 0 && end > part.total)
                    : part.total != 0 || (!pieces.empty() && pieces.back().end > end))
    return false;
  if (!fragment.more) part.total = end;
  const auto captured = static_cast<uint32_t>(packet.payload.size());
  pieces.insert(next, {begin, end, captured, frame.number});
  part.have += end - begin;
  if (part.storage.bytes.size() < begin + captured) part.storage.bytes.resize(begin + captured);
  std::ranges::copy(packet.payload, part.storage.bytes.begin() + begin);
  if (begin != 0) return true;
  part.header_length = std::min(packet.icrc_headers.size(), part.header.size());
  std::copy_n(packet.icrc_headers.begin(), part.header_length, part.header.begin());
  part.way = packet.way;
  return true;
}

const IpFragments::Whole* IpFragments::Take(const link::Packet& packet, const FrameRef& frame) {
  while (!parts_.empty() && frame.time_ns - parts_[0].begun_ns > kLongest) GiveUp(0, WhyOf(parts_[0]));
  size_t at = Find(packet);
  if (at == parts_.size()) {
    if (at == kMost) GiveUp(0, WhyOf(parts_[0]));
    Part& begun = parts_.emplace_back(budget_);
    at = parts_.size() - 1;
    begun.source = packet.source;
    begun.destination = packet.destination;
    begun.fragment = packet.fragment;
    begun.begun_ns = frame.time_ns;
    begun.tunnels = packet.tunnels;
    if (!spare_.empty()) {
      begun.storage = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  ++parts_[at].frames;
  const uint64_t end = packet.fragment.offset + packet.wire_length;
  if (packet.wire_length == 0 || end > kLongestPacket || parts_[at].storage.pieces.size() == kMostPieces) {
    GiveUp(at, link::kFragmentOverlaps);
    return nullptr;
  }
  if (!MakeRoom(at, static_cast<size_t>(end) + (parts_[at].storage.pieces.size() + 1) * sizeof(Piece))) {
    GiveUp(at, link::kFragmentNoRoom);
    return nullptr;
  }
  if (!Put(parts_[at], packet, frame)) {
    GiveUp(at, link::kFragmentOverlaps);
    return nullptr;
  }
  if (parts_[at].total == 0 || parts_[at].have != parts_[at].total) return nullptr;
  Assemble(parts_[at], frame);
  Drop(at);
  return &whole_;
}

// The pieces follow each other. The packet ends where the capture cut the first of them that it cut.
void IpFragments::Assemble(const Part& part, const FrameRef& frame) {
  size_t captured = 0;
  for (const Piece& piece : part.storage.pieces) {
    captured = piece.begin + piece.captured;
    if (captured < piece.end) break;
  }
  assembled_.assign(part.header.begin(), part.header.begin() + static_cast<ptrdiff_t>(part.header_length));
  assembled_.insert(assembled_.end(), part.storage.bytes.begin(),
                    part.storage.bytes.begin() + static_cast<ptrdiff_t>(captured));
  std::byte* const header = assembled_.data();
  if (part.fragment.v6 && part.header_length == kIpv6Header) {
    StoreBe16(header + 4, static_cast<uint16_t>(part.total));
    header[6] = static_cast<std::byte>(part.fragment.next);
  } else {
    const size_t total = part.header_length + part.total;
    StoreBe16(header + 2, static_cast<uint16_t>(total > kLongestPacket ? 0 : total));
    StoreBe16(header + 6, 0);
  }
  whole_.frame = {frame, LinkType::kRawIp, assembled_, static_cast<uint32_t>(part.header_length + part.total)};
  whole_.way = part.way;
  whole_.tunnels = part.tunnels;
  whole_.frames.clear();
  for (const Piece& piece : part.storage.pieces) whole_.frames.push_back(piece.frame);
}

}  // namespace stag::fabric
