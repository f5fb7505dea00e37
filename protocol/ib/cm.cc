// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/cm.h"

#include <algorithm>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::ib {
namespace {

constexpr uint8_t kCmClassVersion = 2;

uint32_t DecodeMtu(uint8_t code) { return code >= 1 && code <= 5 ? 128u << code : 0; }

uint8_t EncodeMtu(uint32_t mtu) {
  for (uint8_t code = 1; code <= 5; ++code)
    if (DecodeMtu(code) == mtu) return code;
  return 0;
}

void CopyTo(std::array<std::byte, 16>& to, Bytes from) {
  if (from.size() == to.size()) std::copy(from.begin(), from.end(), to.begin());
}

void ParseRequest(Cursor& c, CmMessage& m) {
  c.Skip(4);
  m.service_id = c.U64();
  m.ca_guid = c.U64();
  c.Skip(4);
  m.queue_key = c.U32();
  m.qp = c.U24();
  m.responder_resources = c.U8();
  c.Skip(3);
  m.initiator_depth = c.U8();
  c.Skip(3);
  m.service_type = (c.U8() >> 1) & 3;
  m.starting_psn = c.U24();
  m.retry_count = c.U8() & 7;
  m.partition = c.U16();
  uint8_t mtu_rnr = c.U8();
  m.path_mtu = DecodeMtu(mtu_rnr >> 4);
  m.rnr_retry_count = mtu_rnr & 7;
  m.srq = (c.U8() & 0x08) != 0;
  m.local_lid = c.U16();
  m.remote_lid = c.U16();
  CopyTo(m.local_gid, c.Take(16));
  CopyTo(m.remote_gid, c.Take(16));
  c.Skip(7);
  m.ack_timeout = c.U8() >> 3;
  c.Skip(44);  // alternate path
}

void AppendRequest(Writer& w, const CmMessage& m) {
  w.Zeros(4);
  w.U64(m.service_id);
  w.U64(m.ca_guid);
  w.Zeros(4);
  w.U32(m.queue_key);
  w.U24(m.qp);
  w.U8(m.responder_resources);
  w.U24(0);
  w.U8(m.initiator_depth);
  w.U24(0);
  w.U8(static_cast<uint8_t>((m.service_type & 3) << 1));
  w.U24(m.starting_psn);
  w.U8(m.retry_count & 7);
  w.U16(m.partition);
  w.U8(static_cast<uint8_t>(EncodeMtu(m.path_mtu) << 4 | (m.rnr_retry_count & 7)));
  w.U8(m.srq ? 0x08 : 0);
  w.U16(m.local_lid);
  w.U16(m.remote_lid);
  w.Put(m.local_gid);
  w.Put(m.remote_gid);
  w.Zeros(7);
  w.U8(static_cast<uint8_t>(m.ack_timeout << 3));
  w.Zeros(44);
}

void ParseReply(Cursor& c, CmMessage& m) {
  m.queue_key = c.U32();
  m.qp = c.U24();
  c.Skip(1 + 4);
  m.starting_psn = c.U24();
  c.Skip(1);
  m.responder_resources = c.U8();
  m.initiator_depth = c.U8();
  c.Skip(1);
  uint8_t rnr_srq = c.U8();
  m.rnr_retry_count = rnr_srq >> 5;
  m.srq = (rnr_srq & 0x10) != 0;
  m.ca_guid = c.U64();
}

void AppendReply(Writer& w, const CmMessage& m) {
  w.U32(m.queue_key);
  w.U24(m.qp);
  w.Zeros(1 + 4);
  w.U24(m.starting_psn);
  w.U8(0);
  w.U8(m.responder_resources);
  w.U8(m.initiator_depth);
  w.U8(0);
  w.U8(static_cast<uint8_t>((m.rnr_retry_count & 7) << 5 | (m.srq ? 0x10 : 0)));
  w.U64(m.ca_guid);
}

// The IP CM header in front of a REQ's private data, unless what is there cannot be one.
void TakeIpHeader(CmMessage& m) {
  if (IpCmPort(m.service_id) == 0) return;
  Cursor c(m.private_data);
  IpCmHeader h;
  uint8_t version = c.U8();
  h.major_version = version >> 4;
  h.minor_version = version & 15;
  h.ip_version = c.U8() >> 4;
  h.source_port = c.U16();
  CopyTo(h.source, c.Take(16));
  CopyTo(h.destination, c.Take(16));
  if (!c.ok()) {  // the capture cut within it: none of the consumer's data is there
    m.private_data = {};
    return;
  }
  if (h.major_version != 0 || (h.ip_version != 4 && h.ip_version != 6)) return;
  m.ip = h;
  m.private_data = c.Rest();
}

void AppendIpHeader(Writer& w, const IpCmHeader& h) {
  w.U8(static_cast<uint8_t>(h.major_version << 4 | (h.minor_version & 15)));
  w.U8(static_cast<uint8_t>(h.ip_version << 4));
  w.U16(h.source_port);
  w.Put(h.source);
  w.Put(h.destination);
}

}  // namespace

size_t PrivateDataRoom(CmKind kind) {
  switch (kind) {
    case CmKind::kRequest: return 92;
    case CmKind::kMessageReceived: return 222;
    case CmKind::kReject: return 148;
    case CmKind::kReply: return 196;
    case CmKind::kReadyToUse: return 224;
    case CmKind::kDisconnectRequest: return 220;
    case CmKind::kDisconnectReply: return 224;
  }
  return 0;
}

CmMessage ParseCm(const Mad& mad) {
  CmMessage m;
  m.status = mad.status;
  if (mad.status != ParseStatus::kOk) return m;
  m.kind = static_cast<CmKind>(mad.header.attribute);
  size_t room = PrivateDataRoom(m.kind);
  if (mad.header.management_class != kMadClassCm || mad.header.method != kMadMethodSend || room == 0) {
    m.status = ParseStatus::kUnsupported;
    return m;
  }
  Cursor c(mad.data, mad.data_length);
  m.local_id = c.U32();
  if (m.kind != CmKind::kRequest) m.remote_id = c.U32();
  switch (m.kind) {
    case CmKind::kRequest: ParseRequest(c, m); break;
    case CmKind::kReply: ParseReply(c, m); break;
    case CmKind::kMessageReceived:
      m.about = c.U8() >> 6;
      c.Skip(1);
      break;
    case CmKind::kReject:
      m.about = c.U8() >> 6;
      c.Skip(1);
      m.reject_reason = c.U16();
      c.Skip(72);  // additional reject information
      break;
    case CmKind::kDisconnectRequest:
      m.qp = c.U24();
      c.Skip(1);
      break;
    case CmKind::kReadyToUse:
    case CmKind::kDisconnectReply: break;
  }
  if (c.ok() && c.wire_remaining() < room) c.Fail(ParseStatus::kMalformed);
  m.status = c.status();
  if (!c.ok()) return m;
  m.private_data = c.Rest().first(std::min(c.remaining(), room));
  m.private_data_truncated = m.private_data.size() < room;
  if (m.kind == CmKind::kRequest) TakeIpHeader(m);
  return m;
}

void AppendCm(std::vector<std::byte>& out, const CmMessage& m, uint64_t transaction) {
  size_t begin = out.size();
  MadHeader header;
  header.management_class = kMadClassCm;
  header.class_version = kCmClassVersion;
  header.method = kMadMethodSend;
  header.transaction = transaction;
  header.attribute = static_cast<uint16_t>(m.kind);
  AppendMadHeader(out, header);
  Writer w(out);
  w.U32(m.local_id);
  if (m.kind != CmKind::kRequest) w.U32(m.remote_id);
  size_t room = PrivateDataRoom(m.kind);
  switch (m.kind) {
    case CmKind::kRequest:
      AppendRequest(w, m);
      if (m.ip) AppendIpHeader(w, *m.ip), room -= kIpCmHeaderLength;
      break;
    case CmKind::kReply: AppendReply(w, m); break;
    case CmKind::kMessageReceived:
      w.U8(static_cast<uint8_t>(m.about << 6));
      w.U8(0);
      break;
    case CmKind::kReject:
      w.U8(static_cast<uint8_t>(m.about << 6));
      w.U8(0);
      w.U16(m.reject_reason);
      w.Zeros(72);
      break;
    case CmKind::kDisconnectRequest:
      w.U24(m.qp);
      w.U8(0);
      break;
    case CmKind::kReadyToUse:
    case CmKind::kDisconnectReply: break;
  }
  w.Put(m.private_data.first(std::min(m.private_data.size(), room)));
  w.Zeros(begin + kMadLength - out.size());
}

}  // namespace stag::ib
