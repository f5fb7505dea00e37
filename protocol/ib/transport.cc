// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/transport.h"

#include <algorithm>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::ib {
namespace {

constexpr uint8_t kSolicited = 0x80, kMigrated = 0x40, kFecn = 0x80, kBecn = 0x40, kAckRequest = 0x80;

void ParseBth(Cursor& c, Bth& bth) {
  const Bytes header = c.Take(kBthLength);
  if (header.empty()) return;
  bth.opcode = std::to_integer<uint8_t>(header[0]);
  const auto flags = std::to_integer<uint8_t>(header[1]);
  bth.solicited = (flags & kSolicited) != 0;
  bth.migrated = (flags & kMigrated) != 0;
  bth.pad = (flags >> 4) & 3;
  bth.version = flags & 15;
  bth.partition = LoadBe16(&header[2]);
  const auto congestion = std::to_integer<uint8_t>(header[4]);
  bth.fecn = (congestion & kFecn) != 0;
  bth.becn = (congestion & kBecn) != 0;
  bth.destination_qp = LoadBe32(&header[4]) & 0xffffff;
  bth.ack_request = (std::to_integer<uint8_t>(header[8]) & kAckRequest) != 0;
  bth.psn = LoadBe32(&header[8]) & 0xffffff;
}

}  // namespace

Transport ParseTransport(Bytes captured, uint64_t wire_length) {
  Transport t;
  Cursor c(captured, wire_length);
  ParseBth(c, t.bth);
  if (c.ok() && t.bth.version != 0) c.Fail(ParseStatus::kUnsupported);
  const OpcodeInfo& info = LookUpOpcode(t.bth.opcode);
  if (info.rdeth) c.Skip(4);
  if (info.deth) {
    t.deth.queue_key = c.U32();
    c.Skip(1);
    t.deth.source_qp = c.U24();
  }
  if (info.xrceth) c.Skip(4);
  if (info.reth) {
    t.reth.address = c.U64();
    t.reth.key = c.U32();
    t.reth.length = c.U32();
  }
  if (info.atomic) {
    t.atomic.address = c.U64();
    t.atomic.key = c.U32();
    t.atomic.swap_or_add = c.U64();
    t.atomic.compare = c.U64();
  }
  if (info.aeth) {
    t.aeth.syndrome = c.U8();
    t.aeth.msn = c.U24();
  }
  if (info.atomic_ack) t.atomic_result = c.U64();
  if (info.immediate) t.immediate = c.U32();
  if (info.ieth) t.invalidated = c.U32();
  t.status = c.status();
  if (!c.ok()) return t;
  uint64_t tail = kIcrcLength + t.bth.pad;
  if (c.wire_remaining() < tail) {
    t.status = ParseStatus::kMalformed;
    return t;
  }
  t.data_length = c.wire_remaining() - tail;
  t.data = c.Rest().first(static_cast<size_t>(std::min<uint64_t>(c.remaining(), t.data_length)));
  return t;
}

void AppendTransport(std::vector<std::byte>& out, const Transport& t) {
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
  w.Put(t.data);
  w.Zeros(pad);
}

}  // namespace stag::ib
