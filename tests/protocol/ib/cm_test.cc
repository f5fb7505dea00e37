// SPDX-License-Identifier: GPL-2.0-or-later
//
// CM messages: real REQ and REP of Linux, every kind there and back, cuts.
#include "protocol/ib/cm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/ib/transport.h"
#include "tests/protocol/ib/real_frames.h"

namespace stag::ib {
namespace {

using test::Hex;
using Buffer = std::vector<std::byte>;

CmMessage ParseFrame(const Buffer& frame, size_t wire) {
  link::Packet p = test::DecodeFrame(frame, wire);
  Transport t = ParseTransport(p.payload, p.wire_length);
  EXPECT_EQ(t.bth.opcode, kUdSendOnly);
  EXPECT_EQ(t.bth.destination_qp, kGsiQp);
  EXPECT_EQ(t.deth.queue_key, kGsiQueueKey);
  return ParseCm(ParseMad(t.data, t.data_length));
}

TEST(Cm, RealRequest) {
  Buffer frame = Hex(test::kRequestFrame);
  CmMessage m = ParseFrame(frame, frame.size());
  ASSERT_EQ(m.status, ParseStatus::kOk);
  EXPECT_EQ(m.kind, CmKind::kRequest);
  EXPECT_EQ(m.local_id, 0x2aa04b20u);
  EXPECT_EQ(m.service_id, 0x01064e51u);
  EXPECT_EQ(IpCmPort(m.service_id), 20049);
  EXPECT_EQ(m.qp, 0x11u);
  EXPECT_EQ(m.responder_resources, 4);
  EXPECT_EQ(m.initiator_depth, 4);
  EXPECT_EQ(m.starting_psn, 0x735574u);
  EXPECT_EQ(m.retry_count, 6);
  EXPECT_EQ(m.ack_timeout, 19);
  EXPECT_EQ(m.path_mtu, 1024u);
  EXPECT_EQ(m.service_type, 0);
  ASSERT_TRUE(m.ip.has_value());
  EXPECT_EQ(m.ip->ip_version, 4);
  EXPECT_EQ(m.ip->source_port, 0xc9b2);
  EXPECT_EQ(LoadBe32(m.ip->source.data() + 12), 0x0a000002u);
  EXPECT_EQ(LoadBe32(m.ip->destination.data() + 12), 0x0a000001u);
  ASSERT_EQ(m.private_data.size(), 56u);
  EXPECT_EQ(LoadBe64(m.private_data.data()), 0xf6ab0e1801010303u);  // RPC-over-RDMA
  EXPECT_FALSE(m.private_data_truncated);
}

TEST(Cm, RealReplyCutByTheCapture) {
  Buffer frame = Hex(test::kReplyFrame);  // its last 188 bytes of zeros and the ICRC are left out
  CmMessage m = ParseFrame(frame, 322);
  ASSERT_EQ(m.status, ParseStatus::kOk);
  EXPECT_EQ(m.kind, CmKind::kReply);
  EXPECT_EQ(m.local_id, 0x7b1ba0fau);
  EXPECT_EQ(m.remote_id, 0x2aa04b20u);
  EXPECT_EQ(m.qp, 0x11u);
  EXPECT_EQ(m.starting_psn, 0x41acf1u);
  EXPECT_EQ(LoadBe64(m.private_data.data()), 0xf6ab0e1801000303u);
  EXPECT_EQ(m.private_data.size(), 8u);
  EXPECT_TRUE(m.private_data_truncated);
}

CmMessage Sample(CmKind kind, Bytes private_data) {
  CmMessage m;
  m.kind = kind;
  m.local_id = 0x01020304;
  if (kind != CmKind::kRequest) m.remote_id = 0x05060708;
  m.private_data = private_data;
  if (kind == CmKind::kRequest || kind == CmKind::kReply) {
    m.ca_guid = 0x1111222233334444;
    m.queue_key = 0x55555555;
    m.qp = 0xabcdef;
    m.starting_psn = 0xfedcba;
    m.responder_resources = 16;
    m.initiator_depth = 15;
    m.rnr_retry_count = 7;
    m.srq = true;
  }
  if (kind == CmKind::kRequest) {
    m.service_id = IpCmServiceId(20049);
    m.service_type = 1;
    m.retry_count = 5;
    m.ack_timeout = 19;
    m.path_mtu = 4096;
    m.partition = 0x8001;
    m.local_lid = 7, m.remote_lid = 8;
    m.local_gid[15] = std::byte{1}, m.remote_gid[0] = std::byte{2};
    m.ip.emplace();
    m.ip->ip_version = 6;
    m.ip->source_port = 1234;
    m.ip->source[3] = std::byte{9}, m.ip->destination[4] = std::byte{8};
  }
  if (kind == CmKind::kReject || kind == CmKind::kMessageReceived) m.about = 1;
  if (kind == CmKind::kReject) m.reject_reason = 28;
  if (kind == CmKind::kDisconnectRequest) m.qp = 0x123456;
  return m;
}

const CmKind kKinds[] = {CmKind::kRequest,    CmKind::kMessageReceived,   CmKind::kReject,         CmKind::kReply,
                         CmKind::kReadyToUse, CmKind::kDisconnectRequest, CmKind::kDisconnectReply};

TEST(Cm, EveryKindThereAndBack) {
  Buffer data = Hex("f6ab0e1801010303aabbccddeeff");
  for (CmKind kind : kKinds) {
    CmMessage in = Sample(kind, data);
    Buffer wire;
    AppendCm(wire, in, 0x42);
    ASSERT_EQ(wire.size(), kMadLength);
    Mad mad = ParseMad(wire, wire.size());
    EXPECT_EQ(mad.header.transaction, 0x42u);
    EXPECT_EQ(mad.header.management_class, kMadClassCm);
    CmMessage out = ParseCm(mad);
    ASSERT_EQ(out.status, ParseStatus::kOk);
    EXPECT_EQ(out.kind, in.kind);
    EXPECT_EQ(out.local_id, in.local_id);
    EXPECT_EQ(out.remote_id, in.remote_id);
    EXPECT_EQ(out.ca_guid, in.ca_guid);
    EXPECT_EQ(out.queue_key, in.queue_key);
    EXPECT_EQ(out.qp, in.qp);
    EXPECT_EQ(out.starting_psn, in.starting_psn);
    EXPECT_EQ(out.responder_resources, in.responder_resources);
    EXPECT_EQ(out.initiator_depth, in.initiator_depth);
    EXPECT_EQ(out.rnr_retry_count, in.rnr_retry_count);
    EXPECT_EQ(out.srq, in.srq);
    EXPECT_EQ(out.service_id, in.service_id);
    EXPECT_EQ(out.service_type, in.service_type);
    EXPECT_EQ(out.retry_count, in.retry_count);
    EXPECT_EQ(out.ack_timeout, in.ack_timeout);
    EXPECT_EQ(out.path_mtu, in.path_mtu);
    EXPECT_EQ(out.partition, in.partition);
    EXPECT_EQ(out.local_lid, in.local_lid);
    EXPECT_EQ(out.remote_lid, in.remote_lid);
    EXPECT_EQ(out.local_gid, in.local_gid);
    EXPECT_EQ(out.remote_gid, in.remote_gid);
    EXPECT_EQ(out.ip, in.ip);
    EXPECT_EQ(out.about, in.about);
    EXPECT_EQ(out.reject_reason, in.reject_reason);
    size_t room = PrivateDataRoom(kind) - (kind == CmKind::kRequest ? kIpCmHeaderLength : 0);
    ASSERT_EQ(out.private_data.size(), room);
    EXPECT_TRUE(std::ranges::equal(out.private_data.first(data.size()), data));
    EXPECT_TRUE(
        std::ranges::all_of(out.private_data.subspan(data.size()), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(Cm, CutAnywhere) {
  for (CmKind kind : kKinds) {
    Buffer wire;
    AppendCm(wire, Sample(kind, {}), 1);
    size_t fixed = kMadLength - PrivateDataRoom(kind);
    for (size_t n = 0; n < wire.size(); ++n) {
      CmMessage m = ParseCm(ParseMad(Bytes(wire).first(n), wire.size()));
      EXPECT_EQ(m.status, n < fixed ? ParseStatus::kTruncatedByCapture : ParseStatus::kOk) << n;
      EXPECT_EQ(m.private_data_truncated, m.status == ParseStatus::kOk);
      EXPECT_EQ(ParseCm(ParseMad(Bytes(wire).first(n), n)).status, ParseStatus::kMalformed) << n;
    }
  }
}

TEST(Cm, NotAnIpCmHeader) {
  Buffer data = Hex("00000405");
  CmMessage in = Sample(CmKind::kRequest, data);
  in.ip.reset();
  in.service_id = 0x1234;
  Buffer wire;
  AppendCm(wire, in, 1);
  CmMessage out = ParseCm(ParseMad(wire, wire.size()));
  EXPECT_FALSE(out.ip.has_value());
  EXPECT_EQ(out.private_data.size(), 92u);
  EXPECT_EQ(IpCmPort(in.service_id), 0);
  EXPECT_EQ(IpCmPort(0x01110000 + 20049), 0);  // UDP port space
}

TEST(Cm, OtherManagementIsUnsupported) {
  Buffer wire;
  AppendCm(wire, Sample(CmKind::kReply, {}), 1);
  auto parsed = [&wire](size_t at, uint8_t value) {
    Buffer changed = wire;
    changed[at] = std::byte{value};
    return ParseCm(ParseMad(changed, changed.size())).status;
  };
  EXPECT_EQ(parsed(0, 2), ParseStatus::kUnsupported);      // base version
  EXPECT_EQ(parsed(1, 3), ParseStatus::kUnsupported);      // subnet administration
  EXPECT_EQ(parsed(3, 1), ParseStatus::kUnsupported);      // another method
  EXPECT_EQ(parsed(17, 0x19), ParseStatus::kUnsupported);  // LAP
}

}  // namespace
}  // namespace stag::ib
