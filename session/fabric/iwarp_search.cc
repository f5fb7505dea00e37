// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_search.h"

#include <algorithm>
#include <array>

#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"

namespace stag::fabric {
namespace {

// A tagged header is evidence of 1, an untagged one (whose queue, sequence and offset fields must fit its opcode too)
// of 2, a chain that starts with a TCP segment where iWARP is likely has 1 more. So three FPDUs in a row are always
// enough.
constexpr uint32_t kProof = 3;
constexpr size_t kMaxPlaces = 64;
// A marker, the length field, the larger header, and a marker in the middle of them.
constexpr size_t kPeek = iwarp::kMarkerSize + iwarp::kUlpduLengthSize + iwarp::kUntaggedHeaderSize + iwarp::kMarkerSize;

// The two control bytes of DDP and RDMAP as IsPlausible() wants them: a cheap look before the thorough one.
bool LooksLikeControl(std::byte ddp, std::byte rdmap) {
  return (ddp & std::byte{0x3f}) == std::byte{0x01} && (rdmap & std::byte{0xf8}) == std::byte{0x40};
}

}  // namespace

void BoundarySearch::Reset(uint64_t from, bool expected) {
  candidates_.clear();
  scanned_ = from;
  expected_ = expected;
}

void BoundarySearch::Consider(uint64_t position, bool at_segment) {
  if (candidates_.size() >= kMaxPlaces) {
    if (!at_segment) return;
    // Segment starts are worth more than other offsets: the youngest of those makes room.
    const auto victim =
        std::find_if(candidates_.rbegin(), candidates_.rend(), [](const Candidate& c) { return !c.at_segment; });
    if (victim == candidates_.rend()) return;
    candidates_.erase(std::next(victim).base());
  }
  candidates_.push_back({position, position, 0, false, at_segment, false, false});
}

void BoundarySearch::Scan(const TcpStream& stream, const Context& context) {
  if (stream.empty()) return;
  scanned_ = std::max(scanned_, stream.front().begin);
  const uint64_t base = context.base;
  stream.ForEachFrom(scanned_, [&](const TcpPiece& piece) {
    const uint64_t captured_end = piece.begin + piece.bytes.size();
    for (uint64_t at = std::max(scanned_, piece.begin); at < captured_end; ++at) {
      const bool at_segment = (at == piece.begin && piece.starts_segment) || (expected_ && at == scanned_);
      if (context.markers && (at - base) % 4 != 0) continue;
      const uint64_t control =
          at - piece.begin + iwarp::FpduPrefix(at - base, context.markers) + iwarp::kUlpduLengthSize;
      const bool visible = control + 1 < piece.bytes.size();
      const bool plausible = visible && LooksLikeControl(piece.bytes[static_cast<size_t>(control)],
                                                         piece.bytes[static_cast<size_t>(control) + 1]);
      // Where the control bytes are in the next piece, Follow() decides.
      if (plausible || !visible) Consider(at, at_segment);
    }
    expected_ = false;
    scanned_ = piece.end;
    return true;
  });
}

BoundarySearch::Verdict BoundarySearch::Follow(Candidate& c, const TcpStream& stream, uint64_t end,
                                               const Context& context) const {
  for (;;) {
    const uint64_t bonus = context.likely && c.at_segment ? 1 : 0;
    std::array<std::byte, kPeek> head;
    bool cut = false;
    const size_t n = stream.Peek(c.next, head, cut);
    iwarp::Fpdu fpdu;
    iwarp::DdpSegment segment;
    iwarp::DecodeFpdu(Bytes(head).first(n), ~uint64_t{0}, c.next - context.base, context.markers, scratch_->plain,
                      fpdu);
    if (fpdu.size == 0 ||
        iwarp::DecodeDdpSegment(fpdu.ulpdu, fpdu.ulpdu_length, segment) == ParseStatus::kTruncatedByCapture) {
      if (cut || n == head.size()) return Verdict::kRejected;
      // Not all of the header is there yet; what is there can already be wrong.
      if (fpdu.ulpdu.size() >= 2 && !LooksLikeControl(fpdu.ulpdu[0], fpdu.ulpdu[1])) return Verdict::kRejected;
      return Verdict::kUndecided;
    }
    if (fpdu.ulpdu_length < segment.header.size() || !iwarp::IsPlausible(segment.header, segment.payload_length))
      return Verdict::kRejected;
    if (!c.next_counted) {
      c.weight += segment.header.tagged ? 1 : 2;
      c.next_counted = true;
    }

    // The whole FPDU, when it is there: its padding and its CRC must not contradict.
    const uint32_t size = fpdu.size;
    const bool arrived = c.next + size <= end;
    if (arrived) {
      scratch_->fpdu.resize(size);
      if (stream.Peek(c.next, scratch_->fpdu, cut) == size) {
        iwarp::DecodeFpdu(scratch_->fpdu, size, c.next - context.base, context.markers, scratch_->plain, fpdu);
        if (!fpdu.padding_zero) return Verdict::kRejected;
        if (fpdu.crc_field != 0 && context.crc != CrcUse::kOff) {
          if (fpdu.crc_field != iwarp::ComputeFpduCrc(scratch_->fpdu)) return Verdict::kRejected;
          c.crc_right = true;
        } else if (fpdu.crc_field != 0 || context.crc == CrcUse::kOn) {
          return Verdict::kRejected;
        } else {
          c.crc_zero = true;
        }
      }
    }
    // Where the set-up was not seen a chain must also be too long for markers to have stood in it: with one of them
    // taken for payload the bytes would be wrong.
    const bool no_markers = context.markers_known || c.next - c.begin >= iwarp::kMarkerInterval;
    if (c.crc_right || (no_markers && c.weight + bonus >= kProof)) return Verdict::kProven;
    if (!arrived) return Verdict::kUndecided;
    c.next += size;
    c.next_counted = false;
  }
}

std::optional<BoundarySearch::Found> BoundarySearch::Advance(const TcpStream& stream, const Context& context,
                                                             bool final) {
  Scan(stream, context);
  const uint64_t end = stream.contiguous_end();
  uint64_t data_end = end;
  if (final)
    stream.ForEachFrom(stream.next(), [&](const TcpPiece& piece) { return data_end = piece.data_end(), true; });
  for (size_t i = 0; i < candidates_.size();) {
    Candidate& c = candidates_[i];
    const Verdict verdict = Follow(c, stream, end, context);
    if (verdict == Verdict::kRejected) {
      candidates_.erase(candidates_.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    // With nothing more to come, a chain that ends exactly where the data ends has to do.
    const bool fits = final && context.likely && c.at_segment && c.weight > 0 && c.next == data_end;
    if (verdict == Verdict::kProven || fits) {
      const CrcUse crc = c.crc_right ? CrcUse::kOn : c.crc_zero ? CrcUse::kOff : context.crc;
      return Found{c.begin, crc, c.next - c.begin >= iwarp::kMarkerInterval};
    }
    ++i;
  }
  return std::nullopt;
}

}  // namespace stag::fabric
