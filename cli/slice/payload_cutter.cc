// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/payload_cutter.h"

#include <algorithm>
#include <utility>

namespace stag::cli {
namespace {

// The length field and the header of a tagged DDP segment, and two markers that may stand in front and in between.
constexpr uint32_t kFpduHead = 2 + 14 + 2 * 4;

}  // namespace

void PayloadCutter::Set(uint64_t frame, uint16_t value) {
  if (frame <= forgotten_) return;
  const auto index = static_cast<size_t>(frame - forgotten_ - 1);
  if (index >= keep_.size()) keep_.resize(index + 1, kWhole);
  keep_[index] = value;
}

void PayloadCutter::Forget(uint64_t frame) {
  if (frame <= forgotten_) return;
  const auto n = static_cast<size_t>(std::min<uint64_t>(frame - forgotten_, keep_.size()));
  keep_.erase(keep_.begin(), keep_.begin() + static_cast<ptrdiff_t>(n));
  forgotten_ = frame;
}

void PayloadCutter::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  const session::SegmentRecord* const segment = operation.segment;
  if (operation.event->kind() == fabric::EventKind::kReadRequest || !segment) return;
  const bool bulk = segment->list == session::ListKind::kWriteList ||
                    (segment->list == session::ListKind::kReadList && segment->position > 0);
  if (!bulk) return;
  if (connection.info.fabric == fabric::FabricKind::kIwarp)
    return CutFpdu(operation.event->first_frame.number, operation.event->frame.number);
  Set(operation.event->frame.number, kHeaders);
}

// A segment is cut where the data begins, if the FPDU reaches to its end: the header of the next one stays.
void PayloadCutter::CutFpdu(uint64_t first, uint64_t last) {
  const PacketPosition* const start = places_.Find(first);
  if (!start || start->track != fpdu_.track || start->space != fpdu_.from) return;
  const uint64_t begin = start->begin + (fpdu_.sequence - static_cast<uint32_t>(start->begin));
  const uint64_t data = begin + std::min(kFpduHead, fpdu_.size), end = begin + fpdu_.size;
  if (first > last) std::swap(first, last);  // frames stand in another order than their times
  for (uint64_t frame = first; frame <= last; ++frame) {
    const PacketPosition* const place = places_.Find(frame);
    if (!place || place->track != fpdu_.track || place->space != fpdu_.from || place->end > end || place->end <= data)
      continue;
    const uint64_t kept = data > place->begin ? data - place->begin : 0;
    if (kept + kPayload <= UINT16_MAX) Set(frame, static_cast<uint16_t>(kept + kPayload));
  }
}

size_t PayloadCutter::Keep(const Frame& frame) const {
  const uint64_t index = frame.ref.number - forgotten_ - 1;
  const uint16_t value = index < keep_.size() ? keep_[static_cast<size_t>(index)] : kWhole;
  // The header of an ERF record says how long the record is.
  if (value == kWhole || frame.link == LinkType::kErf) return frame.bytes.size();
  link::Packet packet;
  link::Decode(frame, packet, tunnel_ports_);
  Bytes rest = packet.payload;
  if (packet.carrier == link::Carrier::kTcp) {
    if (value < kPayload) return frame.bytes.size();
    rest = rest.subspan(std::min<size_t>(rest.size(), value - kPayload));
  } else {
    const ib::Transport transport = ib::ParseTransport(packet.payload, packet.wire_length);
    if (transport.status != ParseStatus::kOk) return frame.bytes.size();
    rest = transport.data;
  }
  const bool inside = rest.data() >= frame.bytes.data() && rest.data() <= frame.bytes.data() + frame.bytes.size();
  return inside && rest.data() ? static_cast<size_t>(rest.data() - frame.bytes.data()) : frame.bytes.size();
}

}  // namespace stag::cli
