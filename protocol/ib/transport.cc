// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/transport.h"

#include <algorithm>

#include "protocol/base/writer.h"

namespace stag::ib {
namespace {

constexpr uint8_t kSolicited = 0x80, kMigrated = 0x40, kFecn = 0x80, kBecn = 0x40, kAckRequest = 0x80;

void ParseBth(const std::byte* header, Bth& bth) {
  const uint32_t first = LoadBe32(header), second = LoadBe32(header + 4), third = LoadBe32(header + 8);
  bth.opcode = static_cast<uint8_t>(first >> 24);
  bth.solicited = (first >> 23 & 1) != 0;
  bth.migrated = (first >> 22 & 1) != 0;
  bth.pad = first >> 20 & 3;
  bth.version = first >> 16 & 15;
  bth.partition = static_cast<uint16_t>(first);
  bth.fecn = second >> 31 != 0;
  bth.becn = (second >> 30 & 1) != 0;
  bth.destination_qp = second & 0xffffff;
  bth.ack_request = third >> 31 != 0;
  bth.psn = third & 0xffffff;
}

Reth RethAt(const std::byte* p) { return {LoadBe64(p), LoadBe32(p + 8), LoadBe32(p + 12)}; }
Aeth AethAt(const std::byte* p) { return {std::to_integer<uint8_t>(*p), LoadBe32(p) & 0xffffff}; }

[[gnu::noinline]] void ParseOthers(const std::byte* p, Transport& t) {
  const OpcodeInfo& info = LookUpOpcode(t.bth.opcode);
  if (info.rdeth) p += 4;
  if (info.deth) {
    t.deth = {LoadBe32(p), LoadBe32(p + 4) & 0xffffff};
    p += 8;
  }
  if (info.xrceth) p += 4;
  if (info.reth) {
    t.reth = RethAt(p);
    p += 16;
  }
  if (info.atomic) {
    t.atomic = {LoadBe64(p), LoadBe32(p + 8), LoadBe64(p + 12), LoadBe64(p + 20)};
    p += 28;
  }
  if (info.aeth) {
    t.aeth = AethAt(p);
    p += 4;
  }
  if (info.atomic_ack) {
    t.atomic_result = LoadBe64(p);
    p += 8;
  }
  if (info.immediate) {
    t.immediate = LoadBe32(p);
    p += 4;
  }
  if (info.ieth) t.invalidated = LoadBe32(p);
}

// `p`: info.extended bytes; t.bth is filled.
void ParseExtended(const std::byte* p, const OpcodeInfo& info, Transport& t) {
  switch (info.which) {
    case OpcodeInfo::Extended::kNone: return;
    case OpcodeInfo::Extended::kReth: t.reth = RethAt(p); return;
    case OpcodeInfo::Extended::kAeth: t.aeth = AethAt(p); return;
    case OpcodeInfo::Extended::kOthers: return ParseOthers(p, t);
  }
}

// Why the headers cannot be parsed.
[[gnu::noinline]] void Refuse(Bytes captured, uint64_t wire_length, Transport& t) {
  t.data = {};
  t.data_length = 0;
  const auto missing = [&](size_t end) {
    return wire_length < end ? ParseStatus::kMalformed : ParseStatus::kTruncatedByCapture;
  };
  if (captured.size() < kBthLength) {
    t.bth = {};
    t.status = missing(kBthLength);
    return;
  }
  const size_t begin = kBthLength + LookUpOpcode(t.bth.opcode).extended;
  if (t.bth.version != 0) {
    t.status = ParseStatus::kUnsupported;
  } else {
    t.status = captured.size() < begin ? missing(begin) : ParseStatus::kMalformed;
  }
}

}  // namespace

int64_t RnrTimerNs(uint8_t syndrome) {
  // In units of 10 us.
  static constexpr std::array<uint32_t, 32> kTimers = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return int64_t{kTimers[syndrome & 31]} * 10'000;
}

void ParseTransport(Bytes captured, uint64_t wire_length, Transport& t) {
  wire_length = std::max<uint64_t>(wire_length, captured.size());
  if (captured.size() < kBthLength) return Refuse(captured, wire_length, t);
  ParseBth(captured.data(), t.bth);
  const OpcodeInfo& info = LookUpOpcode(t.bth.opcode);
  const size_t begin = kBthLength + info.extended, tail = kIcrcLength + t.bth.pad;
  if (t.bth.version != 0 || captured.size() < begin || wire_length - begin < tail)
    return Refuse(captured, wire_length, t);
  t.status = ParseStatus::kOk;
  t.data_length = wire_length - begin - tail;
  t.data = captured.subspan(begin, static_cast<size_t>(std::min<uint64_t>(captured.size() - begin, t.data_length)));
  ParseExtended(captured.data() + kBthLength, info, t);
}

void AppendTransportHeaders(std::vector<std::byte>& out, const Transport& t) {
  const OpcodeInfo& info = LookUpOpcode(t.bth.opcode);
  size_t pad = static_cast<size_t>(RoundUp4(t.data.size()) - t.data.size());
  Writer w(out);
  w.U8(t.bth.opcode);
  w.U8(static_cast<uint8_t>((t.bth.solicited ? kSolicited : 0) | (t.bth.migrated ? kMigrated : 0) | pad << 4 |
                            (t.bth.version & 15)));
  w.U16(t.bth.partition);
  w.U8(static_cast<uint8_t>((t.bth.fecn ? kFecn : 0) | (t.bth.becn ? kBecn : 0)));
  w.U24(t.bth.destination_qp);
  w.U8(t.bth.ack_request ? kAckRequest : 0);
  w.U24(t.bth.psn);
  if (info.rdeth) w.U32(0);
  if (info.deth) {
    w.U32(t.deth.queue_key);
    w.U32(t.deth.source_qp & 0xffffff);
  }
  if (info.xrceth) w.U32(0);
  if (info.reth) {
    w.U64(t.reth.address);
    w.U32(t.reth.key);
    w.U32(t.reth.length);
  }
  if (info.atomic) {
    w.U64(t.atomic.address);
    w.U32(t.atomic.key);
    w.U64(t.atomic.swap_or_add);
    w.U64(t.atomic.compare);
  }
  if (info.aeth) {
    w.U8(t.aeth.syndrome);
    w.U24(t.aeth.msn);
  }
  if (info.atomic_ack) w.U64(t.atomic_result);
  if (info.immediate) w.U32(t.immediate);
  if (info.ieth) w.U32(t.invalidated);
}

void AppendTransport(std::vector<std::byte>& out, const Transport& t) {
  AppendTransportHeaders(out, t);
  Writer w(out);
  w.Put(t.data);
  w.Zeros(static_cast<size_t>(RoundUp4(t.data.size()) - t.data.size()));
}

}  // namespace stag::ib
