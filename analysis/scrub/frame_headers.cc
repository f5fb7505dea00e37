// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/frame_headers.h"

#include <algorithm>

#include "protocol/ib/cm.h"
#include "protocol/link/ip_protocol.h"
#include "protocol/rpcrdma/header.h"

namespace stag::scrub {
namespace {

using link::HeaderKind;

constexpr uint16_t kEthertypeArp = 0x0806;
constexpr size_t kMacSize = 6, kIpv4Size = 4, kIpv6Size = 16;

}  // namespace

void FrameHeaders::Scrub(const Frame& frame, std::vector<std::byte>& out) {
  in_ = frame.bytes;
  out.assign(in_.size(), std::byte{0});
  out_ = &out;
  payload_ = {};
  ethertype_ = 0;
  next_ = 0;
  ip_ = datagram_ = other_ = false;
  link::Decode(frame, packet_, headers_, ports_);
  for (const link::Header& header : headers_) Header(header);
  const bool whole = packet_.status == ParseStatus::kOk && packet_.carrier != link::Carrier::kOther;
  if (whole && packet_.carrier != link::Carrier::kTcp && packet_.carrier != link::Carrier::kRpcbind) return Rdma();
  if (whole) {
    payload_.there = true;
    payload_.offset = static_cast<size_t>(packet_.payload.data() - in_.data());
    payload_.captured = packet_.payload.size();
    return;
  }
  other_ = true;
  const size_t end = headers_.empty() ? in_.size() : headers_.back().end();
  if (headers_.empty() || headers_.back().kind != HeaderKind::kUdp) return Behind(end);
  constexpr size_t kUdp = 8;
  const size_t length = LoadBe16(&in_[end - kUdp + 4]);
  datagram_ = length >= kUdp && !packet_.ip_fragment;
  if (datagram_) payload_ = {true, end, std::min(length - kUdp, in_.size() - end), 0};
}

void FrameHeaders::Keep(size_t offset, size_t length) {
  if (offset >= in_.size()) return;
  const size_t n = std::min(length, in_.size() - offset);
  std::copy_n(in_.begin() + static_cast<ptrdiff_t>(offset), n, out_->begin() + static_cast<ptrdiff_t>(offset));
}

void FrameHeaders::Header(const link::Header& header) {
  const size_t at = header.offset;
  ip_ = false;
  switch (header.kind) {
    case HeaderKind::kErf: {
      constexpr size_t kRecord = 16, kExtension = 8;
      Keep(at, kRecord);
      for (size_t more = at + kRecord; more < header.end(); more += kExtension) Keep(more, 1);  // its type
      return;
    }
    case HeaderKind::kLinuxSll: Keep(at, 6), CookedAddress(at + 6, LoadBe16(&in_[at + 4])), Keep(at + 14, 2); break;
    case HeaderKind::kLinuxSll2: Keep(at, 12), CookedAddress(at + 12, std::to_integer<size_t>(in_[at + 11])); break;
    case HeaderKind::kEthernet: Mac(at), Mac(at + kMacSize), Keep(at + 2 * kMacSize, 2); break;
    case HeaderKind::kVlan:
    case HeaderKind::kTag: Keep(at, header.length); break;
    case HeaderKind::kIpv4:
      Keep(at, 10);
      Ipv4(at + 12), Ipv4(at + 16);
      next_ = std::to_integer<uint8_t>(in_[at + 9]);
      ip_ = (LoadBe16(&in_[at + 6]) & 0x1fff) == 0;
      return;
    case HeaderKind::kIpv6:
      Keep(at, 8);
      Ipv6(at + 8), Ipv6(at + 24);
      next_ = std::to_integer<uint8_t>(in_[at + 6]);
      ip_ = true;
      return;
    case HeaderKind::kIpv6Extension: return Ipv6Extension(header);
    case HeaderKind::kUdp: return Keep(at, 6);
    case HeaderKind::kTcp: return TcpOptions(header);
    case HeaderKind::kGrh:
      Keep(at, 8);
      Ipv6(at + 8), Ipv6(at + 24);
      return;
    case HeaderKind::kLrh:
      Keep(at, 8);
      Lid(at + 2), Lid(at + 6);
      return;
    case HeaderKind::kGre: return Gre(header);
    case HeaderKind::kGeneve: return Geneve(header);
    case HeaderKind::kVxlan:
    case HeaderKind::kErspan:
    case HeaderKind::kMpls:
    case HeaderKind::kMplsControlWord:
    case HeaderKind::kPppoe:
    case HeaderKind::kShim: return Keep(at, header.length);
    case HeaderKind::kMacSec:
      Keep(at, 6);
      if (header.length > 6) Mac(at + 6), Keep(at + 12, 2);
      return;
    case HeaderKind::kNsh: return Keep(at, 8);
    case HeaderKind::kTzsp: return Tzsp(header);
    case HeaderKind::kBatmanAdvanced: return Keep(at, 4), Mac(at + 4);
    case HeaderKind::kSFlow: return SFlow(header);
    case HeaderKind::kSFlowRecord: return Keep(at, 8);
    case HeaderKind::kErfPadding:
    case HeaderKind::kOpaque: return;
  }
  ethertype_ = header.kind == HeaderKind::kLinuxSll2 ? LoadBe16(&in_[at]) : LoadBe16(&in_[header.end() - 2]);
}

// All but the checksum (RFC 2784), which covers what is replaced.
void FrameHeaders::Gre(const link::Header& header) {
  constexpr std::byte kHasChecksum{0x80};
  Keep(header.offset, header.length);
  if ((in_[header.offset] & kHasChecksum) != std::byte{0} && header.length >= 8)
    std::fill_n(out_->begin() + static_cast<ptrdiff_t>(header.offset) + 4, 2, std::byte{0});
}

// RFC 8926: options keep their headers.
void FrameHeaders::Geneve(const link::Header& header) {
  constexpr size_t kFixed = 8, kOption = 4;
  Keep(header.offset, kFixed);
  for (size_t at = header.offset + kFixed; at + kOption <= header.end();
       at += kOption + (std::to_integer<size_t>(in_[at + 3]) & 31) * 4)
    Keep(at, kOption);
}

// Tags keep their types and lengths.
void FrameHeaders::Tzsp(const link::Header& header) {
  constexpr size_t kFixed = 4;
  constexpr uint8_t kPadding = 0, kEnd = 1;
  Keep(header.offset, kFixed);
  for (size_t at = header.offset + kFixed; at + 1 < header.end();) {
    const auto tag = std::to_integer<uint8_t>(in_[at]);
    const bool alone = tag == kPadding || tag == kEnd;
    Keep(at, alone ? 1 : 2);
    at += alone ? 1 : 2 + std::to_integer<size_t>(in_[at + 1]);
  }
  Keep(header.end() - 1, 1);  // what ends them
}

void FrameHeaders::SFlow(const link::Header& header) {
  constexpr size_t kAgent = 8;
  Keep(header.offset, header.length);
  const bool v4 = LoadBe32(&in_[header.offset + 4]) == 1;
  std::fill_n(out_->begin() + static_cast<ptrdiff_t>(header.offset + kAgent), v4 ? kIpv4Size : kIpv6Size, std::byte{0});
  v4 ? Ipv4(header.offset + kAgent) : Ipv6(header.offset + kAgent);
}

// Kept: what is behind it, and how long it is; zeros are padding where there are options.
void FrameHeaders::Ipv6Extension(const link::Header& header) {
  Keep(header.offset, next_ == link::kProtocolFragment ? 8 : next_ == link::kProtocolRouting ? 4 : 2);
  ip_ = next_ != link::kProtocolFragment || (LoadBe16(&in_[header.offset + 2]) & 0xfff8) == 0;
  next_ = std::to_integer<uint8_t>(in_[header.offset]);
}

// Options that hold no secret stay; others become NOPs.
void FrameHeaders::TcpOptions(const link::Header& header) {
  constexpr size_t kFixed = 20, kChecksum = 16;
  constexpr uint8_t kEnd = 0, kNop = 1, kSegmentSize = 2, kWindowScale = 3, kSackPermitted = 4, kSack = 5, kTimes = 8;
  const auto holds_no_secret = [](uint8_t kind, size_t size) {
    switch (kind) {
      case kNop: return true;
      case kSegmentSize: return size == 4;
      case kWindowScale: return size == 3;
      case kSackPermitted: return size == 2;
      case kSack: return size > 2 && size % 8 == 2;
      case kTimes: return size == 10;
      default: return false;
    }
  };
  Keep(header.offset, kChecksum);
  Keep(header.offset + kChecksum + 2, 2);
  for (size_t at = header.offset + kFixed; at < header.end();) {
    const auto kind = std::to_integer<uint8_t>(in_[at]);
    if (kind == kEnd) return;
    size_t size = 1;
    if (kind != kNop && at + 1 < header.end()) size = std::to_integer<size_t>(in_[at + 1]);
    const bool fits = kind == kNop || (size >= 2 && size <= header.end() - at);
    if (!fits) return;
    if (holds_no_secret(kind, size)) {
      Keep(at, size);
    } else {
      std::fill_n(out_->begin() + static_cast<ptrdiff_t>(at), size, std::byte{kNop});
    }
    at += size;
  }
}

// A frame of another protocol: what is kept of it behind the headers, and of those only.
void FrameHeaders::Behind(size_t at) {
  if (ethertype_ == kEthertypeArp) return Arp(at);
  if (!ip_ || !Has(at, 1)) return;
  if (next_ == link::kProtocolIcmp) {
    const auto type = std::to_integer<uint8_t>(in_[at]);
    Keep(at, 2);
    if (type == 0 || type == 8) Keep(at + 4, 4);  // echo: identifier and sequence number
  } else if (next_ == link::kProtocolIgmp) {
    Keep(at, 1);
  } else if (next_ == link::kProtocolIcmpv6) {
    Icmpv6(at);
  }
}

void FrameHeaders::Arp(size_t at) {
  constexpr size_t kFixed = 8, kSizes = 6;
  if (!Has(at, kFixed)) return;
  Keep(at, kSizes);
  if (std::to_integer<size_t>(in_[at + 4]) != kMacSize || std::to_integer<size_t>(in_[at + 5]) != kIpv4Size) return;
  Keep(at + kSizes, kFixed - kSizes);
  for (size_t end : {at + kFixed, at + kFixed + kMacSize + kIpv4Size}) {
    Mac(end);
    Ipv4(end + kMacSize);
  }
}

void FrameHeaders::Icmpv6(size_t at) {
  constexpr uint8_t kEchoRequest = 128, kEchoReply = 129, kRouterSolicitation = 133, kRouterAdvertisement = 134,
                    kSolicitation = 135, kAdvertisement = 136, kListenerReport2 = 143;
  Keep(at, 2);
  switch (std::to_integer<uint8_t>(in_[at])) {
    case kEchoRequest:
    case kEchoReply: return Keep(at + 4, 4);
    case kRouterSolicitation: return NeighbourOptions(at + 8);
    case kRouterAdvertisement: Keep(at + 4, 12); return NeighbourOptions(at + 16);
    case kSolicitation:
    case kAdvertisement:
      Keep(at + 4, 4);
      Ipv6(at + 8);
      return NeighbourOptions(at + 24);
    case kListenerReport2: {
      // Records without sources, auxiliary data or secrets but the group.
      constexpr size_t kRecord = 20;
      if (!Has(at, 8)) return;
      const size_t records = LoadBe16(&in_[at + 6]);
      size_t record = at + 8, kept = 0;
      for (; kept < records && Has(record, kRecord); ++kept, record += kRecord) {
        if (LoadBe32(&in_[record]) & 0x00ffffffu) break;
        Keep(record, 1);
        Ipv6(record + 4);
      }
      StoreBe16(&(*out_)[at + 6], static_cast<uint16_t>(kept));
      return;
    }
    default: return;
  }
}

void FrameHeaders::NeighbourOptions(size_t at) {
  constexpr uint8_t kSourceAddress = 1, kTargetAddress = 2, kNonce = 14;
  while (Has(at, 8)) {
    const auto type = std::to_integer<uint8_t>(in_[at]);
    const size_t size = std::to_integer<size_t>(in_[at + 1]) * 8;
    if (size == 0 || !Has(at, size)) return;
    Keep(at, 2);
    if (type == kSourceAddress || type == kTargetAddress) Mac(at + 2);
    if (type != kSourceAddress && type != kTargetAddress) (*out_)[at] = std::byte{kNonce};
    at += size;
  }
}

void FrameHeaders::CookedAddress(size_t at, size_t length) {
  constexpr size_t kField = 8;
  if (length == kMacSize) return Mac(at);
  if (length > 0 && Has(at, kField) && Address(at, kField))
    pseudonyms_.Opaque(in_.subspan(at, kField), MutableBytes(*out_).subspan(at, kField));
}

void FrameHeaders::Rdma() {
  const auto begin = static_cast<size_t>(packet_.payload.data() - in_.data());
  ib::ParseTransport(packet_.payload, packet_.wire_length, transport_);
  if (packet_.payload.size() < ib::kBthLength) return;
  constexpr size_t kUpToVersion = 2;
  if (transport_.bth.version != 0) return Keep(begin, kUpToVersion);
  Keep(begin, ib::kBthLength);
  const ib::OpcodeInfo& info = ib::LookUpOpcode(transport_.bth.opcode);
  // Extended headers. Their last ones may hold data: what an atomic operation swaps, adds and finds, immediate data.
  size_t kept = info.extended;
  if (info.atomic) kept -= 16;
  if (info.atomic_ack) kept -= 8;
  if (info.immediate) kept -= 4;
  Keep(begin + ib::kBthLength, std::min(kept, packet_.payload.size() - ib::kBthLength));
  if (transport_.status != ParseStatus::kOk || !info.data) return;
  const size_t data = begin + ib::kBthLength + info.extended;
  if (info.service == ib::Service::kUd && transport_.bth.destination_qp == ib::kGsiQp)
    return Management(data, transport_.data, transport_.data_length);
  payload_.there = true;
  payload_.offset = data;
  payload_.captured = transport_.data.size();
  payload_.psn = transport_.bth.psn;
}

void FrameHeaders::Management(size_t at, Bytes bytes, uint64_t length) {
  const ib::Mad mad = ib::ParseMad(bytes, length);
  if (mad.status != ParseStatus::kOk) return;
  Keep(at, ib::kMadHeaderLength);
  const ib::CmMessage cm = ib::ParseCm(mad);
  if (cm.status != ParseStatus::kOk) return;
  const size_t body = at + ib::kMadHeaderLength;
  const size_t data = ib::kMadDataLength - ib::PrivateDataRoom(cm.kind);
  constexpr size_t kRejectInformation = 72, kRequestGuid = 16, kReplyGuid = 28, kGuid = 8;
  Keep(body, data - (cm.kind == ib::CmKind::kReject ? kRejectInformation : 0));
  const auto guid = [&](size_t place) {
    if (Address(place, kGuid)) pseudonyms_.Opaque(in_.subspan(place, kGuid), MutableBytes(*out_).subspan(place, kGuid));
  };
  if (cm.kind == ib::CmKind::kReply) guid(body + kReplyGuid);
  if (cm.kind == ib::CmKind::kRequest) {
    guid(body + kRequestGuid);
    for (size_t path : {body + 52, body + 96}) {  // primary and alternate
      Lid(path), Lid(path + 2);
      Ipv6(path + 4), Ipv6(path + 20);
    }
    if (cm.ip) {
      const size_t ip = body + data;
      Keep(ip, 4);
      for (size_t place : {ip + 4, ip + 20}) cm.ip->ip_version == 4 ? Ipv4(place + 12) : Ipv6(place);
    }
  }
  if (!cm.private_data.empty())
    CmPrivateData(static_cast<size_t>(cm.private_data.data() - in_.data()), cm.private_data);
}

// Kept: an RFC 8797 message, whole or not.
void FrameHeaders::CmPrivateData(size_t at, Bytes data) {
  constexpr size_t kMessage = 8;
  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(data);
  if (search.found == rpcrdma::PrivateDataSearch::Found::kNothing) return;
  Keep(at + search.offset, std::min(kMessage, data.size() - search.offset));
}

// Whether there is an address of `size` bytes to replace; it is counted, or kept.
bool FrameHeaders::Address(size_t at, size_t size) {
  if (!Has(at, size)) return false;
  if (keep_addresses_) {
    Keep(at, size);
  } else {
    ++replaced_.addresses;
  }
  return !keep_addresses_;
}

void FrameHeaders::Mac(size_t at) {
  if (!Address(at, kMacSize)) return;
  Keep(at, kMacSize);
  pseudonyms_.Mac(out_->data() + at);
}

void FrameHeaders::Ipv4(size_t at) {
  if (!Address(at, kIpv4Size)) return;
  Keep(at, kIpv4Size);
  pseudonyms_.Ipv4(out_->data() + at);
}

void FrameHeaders::Ipv6(size_t at) {
  if (!Address(at, kIpv6Size)) return;
  Keep(at, kIpv6Size);
  pseudonyms_.Ipv6(out_->data() + at);
}

void FrameHeaders::Lid(size_t at) {
  if (!Address(at, 2)) return;
  Keep(at, 2);
  pseudonyms_.Lid(out_->data() + at);
}

}  // namespace stag::scrub
