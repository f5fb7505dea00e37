// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/checksums.h"

#include <algorithm>
#include <optional>

#include "protocol/ib/icrc.h"
#include "protocol/ib/transport.h"
#include "protocol/link/encode.h"
#include "protocol/link/ip_protocol.h"

namespace stag::scrub {
namespace {

using link::HeaderKind;

using link::kProtocolIcmp, link::kProtocolIcmpv6, link::kProtocolIgmp, link::kProtocolTcp, link::kProtocolUdp;
constexpr unsigned kBits = 2;  // of a state

// The Internet checksum of `bytes`, whose field at `field` counts as zero.
uint16_t InternetChecksum(uint32_t sum, Bytes bytes, size_t field) {
  sum = link::ChecksumSum(sum, bytes.first(field));
  return link::ChecksumFinish(link::ChecksumSum(sum, bytes.subspan(field + 2)));
}

// What an IP header says of what it carries, up to `end` in the frame.
struct IpLayer {
  uint32_t pseudo_header = 0;  // the addresses' part of the sum
  size_t end = 0;
  uint8_t next = 0;
  bool first_fragment = true, whole = true;
};

}  // namespace

template <typename Fn>
void Checksums::ForEach(const Frame& frame, Fn fn) {
  link::Decode(frame, packet_, headers_, ports_);
  const Bytes in = frame.bytes;
  const bool rdma = packet_.status == ParseStatus::kOk &&
                    (packet_.carrier == link::Carrier::kRoceV2 || packet_.carrier == link::Carrier::kRoceV1 ||
                     packet_.carrier == link::Carrier::kInfiniBand);
  if (rdma && packet_.payload.size() == packet_.wire_length &&
      packet_.payload.size() >= ib::kBthLength + ib::kIcrcLength) {
    const Bytes covered = packet_.payload.first(packet_.payload.size() - ib::kIcrcLength);
    const uint32_t icrc = ib::ComputeIcrc(packet_.carrier, packet_.icrc_headers, covered);
    fn(static_cast<size_t>(covered.data() + covered.size() - in.data()), ib::kIcrcLength, __builtin_bswap32(icrc));
  }
  std::vector<std::optional<IpLayer>> layers(headers_.size());
  for (size_t i = 0; i < headers_.size(); ++i) {
    const link::Header& header = headers_[i];
    const std::byte* at = in.data() + header.offset;
    if (header.kind == HeaderKind::kIpv4) {
      IpLayer ip;
      ip.pseudo_header = link::ChecksumSum(0, Bytes(at + 12, 8));
      ip.end = header.offset + LoadBe16(at + 2);
      ip.next = std::to_integer<uint8_t>(at[9]);
      ip.first_fragment = (LoadBe16(at + 6) & 0x1fff) == 0;
      ip.whole = (LoadBe16(at + 6) & 0x3fff) == 0 && LoadBe16(at + 2) != 0;
      layers[i] = ip;
    } else if (header.kind == HeaderKind::kIpv6) {
      IpLayer ip;
      ip.pseudo_header = link::ChecksumSum(0, Bytes(at + 8, 32));
      ip.end = header.end() + LoadBe16(at + 4);
      ip.next = std::to_integer<uint8_t>(at[6]);
      ip.whole = LoadBe16(at + 4) != 0;
      layers[i] = ip;
    } else if (header.kind == HeaderKind::kIpv6Extension && i > 0 && layers[i - 1]) {
      constexpr uint8_t kFragment = 44;
      IpLayer ip = *layers[i - 1];
      if (ip.next == kFragment && (LoadBe16(at + 2) & 0xfff9) != 0) ip.whole = false;
      ip.next = std::to_integer<uint8_t>(at[0]);
      layers[i] = ip;
    }
  }
  const auto transport = [&](const IpLayer& ip, size_t begin, size_t end, size_t field, bool pseudo) {
    if (!ip.whole || end > in.size() || begin + field + 2 > end) return;
    const Bytes segment = in.subspan(begin, end - begin);
    uint32_t sum = 0;
    if (pseudo) sum = ip.pseudo_header + ip.next + static_cast<uint32_t>(segment.size());
    uint32_t value = InternetChecksum(sum, segment, field);
    if (ip.next == kProtocolUdp && value == 0) value = 0xffff;
    fn(begin + field, size_t{2}, value);
  };
  if (!headers_.empty() && layers.back()) {  // nothing that was followed: ICMP and IGMP have checksums, too
    const IpLayer& ip = *layers.back();
    const size_t begin = headers_.back().end();
    if (ip.next == kProtocolIcmp || ip.next == kProtocolIgmp) transport(ip, begin, ip.end, 2, false);
    if (ip.next == kProtocolIcmpv6) transport(ip, begin, ip.end, 2, true);
  }
  for (size_t i = headers_.size(); i-- > 0;) {
    const link::Header& header = headers_[i];
    const IpLayer* below = i > 0 && layers[i - 1] ? &*layers[i - 1] : nullptr;
    if (header.kind == HeaderKind::kTcp && below && below->next == kProtocolTcp)
      transport(*below, header.offset, below->end, 16, true);
    if (header.kind == HeaderKind::kUdp && below && below->next == kProtocolUdp) {
      const size_t length = LoadBe16(in.data() + header.offset + 4);
      if (length >= 8 && header.offset + length <= below->end)
        transport(*below, header.offset, header.offset + length, 6, true);
    }
    if (header.kind == HeaderKind::kIpv4)
      fn(header.offset + 10, size_t{2}, InternetChecksum(0, in.subspan(header.offset, header.length), 10));
  }
}

uint32_t Checksums::Judge(const Frame& frame) {
  uint32_t states = 0;
  unsigned shift = 0;
  ForEach(frame, [&](size_t place, size_t size, uint32_t right) {
    const std::byte* at = frame.bytes.data() + place;
    const uint32_t is = size == 2 ? LoadBe16(at) : LoadBe32(at);
    const State state = is == right ? State::kRight : is == 0 ? State::kZero : State::kWrong;
    if (shift < 32) states |= static_cast<uint32_t>(state) << shift;
    shift += kBits;
  });
  return states;
}

void Checksums::Store(MutableBytes bytes, LinkType link, uint32_t wire_length, uint32_t states) {
  unsigned shift = 0;
  const Frame frame{{}, link, bytes, wire_length};
  ForEach(frame, [&](size_t place, size_t size, uint32_t right) {
    const State state = shift < 32 ? static_cast<State>(states >> shift & 3) : State::kZero;
    shift += kBits;
    if (state == State::kZero) return;
    const uint32_t wrong = size == 2 ? 0x5555u : 0x55555555u;
    uint32_t value = state == State::kRight ? right : right ^ wrong;
    if (value == 0 && state == State::kWrong) value = right ^ wrong << 1;
    size == 2 ? StoreBe16(bytes.data() + place, static_cast<uint16_t>(value)) : StoreBe32(bytes.data() + place, value);
  });
}

}  // namespace stag::scrub
