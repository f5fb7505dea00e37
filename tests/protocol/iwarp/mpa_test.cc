// SPDX-License-Identifier: GPL-2.0-or-later
//
// MPA set-up frames: known bytes both ways, every flag, every truncation.
#include "protocol/iwarp/mpa.h"

#include <gtest/gtest.h>

#include "tests/protocol/iwarp/hex.h"

namespace stag::iwarp {
namespace {

using test::Hex;

// What a Linux 6.1 NFS/RDMA client sends through siw (from a capture).
const std::vector<std::byte> kLinuxRequest =
    Hex("4d504120494420526571204672616d65 10 02 000c 00040004 f6ab0e1801010303");

TEST(Mpa, LinuxRequest) {
  MpaFrame frame;
  ASSERT_EQ(DecodeMpaFrame(kLinuxRequest, kLinuxRequest.size(), frame), ParseStatus::kOk);
  EXPECT_EQ(frame.kind, MpaFrame::Kind::kRequest);
  EXPECT_EQ(frame.revision, 2);
  EXPECT_FALSE(frame.markers || frame.crc || frame.reject);
  EXPECT_EQ(frame.reserved, 0);
  ASSERT_TRUE(frame.enhanced);
  EXPECT_EQ(*frame.enhanced, (EnhancedSetup{.ird = 4, .ord = 4}));
  EXPECT_EQ(frame.private_length, 8);
  EXPECT_EQ(std::vector(frame.private_data.begin(), frame.private_data.end()), Hex("f6ab0e1801010303"));
  EXPECT_EQ(MpaFrameSize(kLinuxRequest), kLinuxRequest.size());
  std::vector<std::byte> again;
  EncodeMpaFrame(frame, again);
  EXPECT_EQ(again, kLinuxRequest);
}

// RFC 6581 section 9: A and B over the IRD, C and D over the ORD.
TEST(Mpa, PeerToPeerFlags) {
  const auto bytes = Hex("4d504120494420526570204672616d65 50 02 0004 8080 c001");
  MpaFrame frame;
  ASSERT_EQ(DecodeMpaFrame(bytes, bytes.size(), frame), ParseStatus::kOk);
  EXPECT_EQ(frame.kind, MpaFrame::Kind::kReply);
  EXPECT_TRUE(frame.crc);
  EXPECT_EQ(*frame.enhanced,
            (EnhancedSetup{.ird = 128, .ord = 1, .peer_to_peer = true, .rtr_write = true, .rtr_read = true}));
  const auto b = Hex("4d504120494420526570204672616d65 50 02 0004 c080 0001");
  ASSERT_EQ(DecodeMpaFrame(b, b.size(), frame), ParseStatus::kOk);
  EXPECT_EQ(*frame.enhanced, (EnhancedSetup{.ird = 128, .ord = 1, .peer_to_peer = true, .rtr_empty_fpdu = true}));
}

TEST(Mpa, RevisionOneHasNoPrefix) {
  const auto bytes = Hex("4d504120494420526570204672616d65 f5 01 0003 aabbcc");
  MpaFrame frame;
  ASSERT_EQ(DecodeMpaFrame(bytes, bytes.size(), frame), ParseStatus::kOk);
  EXPECT_TRUE(frame.markers && frame.crc && frame.reject);
  EXPECT_FALSE(frame.enhanced);
  EXPECT_EQ(frame.reserved, 0x15);
  EXPECT_EQ(frame.private_data.size(), 3u);
  std::vector<std::byte> again;
  EncodeMpaFrame(frame, again);
  EXPECT_EQ(again, bytes);
}

TEST(Mpa, EveryFlagAndSizeComesBack) {
  std::vector<std::byte> data(kMaxPrivateData);
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i * 7);
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (size_t size : {size_t{0}, size_t{1}, size_t{5}, size_t{508}}) {
      MpaFrame frame;
      frame.kind = bits & 1 ? MpaFrame::Kind::kReply : MpaFrame::Kind::kRequest;
      frame.markers = bits & 2;
      frame.crc = bits & 4;
      frame.reject = bits & 8;
      frame.revision = bits & 16 ? 2 : 1;
      if (frame.revision == 2 && (bits & 32))
        frame.enhanced = EnhancedSetup{.ird = 0x3fff, .ord = 0x2aaa, .rtr_empty_fpdu = true, .rtr_read = true};
      frame.reserved = 9;
      frame.private_data = Bytes(data).first(size);
      std::vector<std::byte> bytes;
      EncodeMpaFrame(frame, bytes);
      MpaFrame back;
      ASSERT_EQ(DecodeMpaFrame(bytes, bytes.size(), back), ParseStatus::kOk);
      EXPECT_EQ(MpaFrameSize(bytes), bytes.size());
      EXPECT_EQ(back.kind, frame.kind);
      EXPECT_EQ(back.markers, frame.markers);
      EXPECT_EQ(back.crc, frame.crc);
      EXPECT_EQ(back.reject, frame.reject);
      EXPECT_EQ(back.revision, frame.revision);
      EXPECT_EQ(back.reserved, frame.reserved);
      EXPECT_EQ(back.enhanced, frame.enhanced);
      EXPECT_TRUE(std::ranges::equal(back.private_data, frame.private_data));
    }
  }
}

TEST(Mpa, TruncationAtEveryByte) {
  for (size_t n = 0; n < kLinuxRequest.size(); ++n) {
    const Bytes cut = Bytes(kLinuxRequest).first(n);
    MpaFrame frame;
    EXPECT_EQ(DecodeMpaFrame(cut, kLinuxRequest.size(), frame), ParseStatus::kTruncatedByCapture) << n;
    EXPECT_EQ(DecodeMpaFrame(cut, n, frame), ParseStatus::kMalformed) << n;
    EXPECT_EQ(frame.private_data.size(), n > 24 ? n - 24 : 0) << n;
    EXPECT_EQ(MpaFrameSize(cut), n >= 20 ? kLinuxRequest.size() : 0) << n;
    EXPECT_EQ(RecogniseMpaKey(cut), n < 16 ? MpaKey::kPartial : MpaKey::kRequest) << n;
  }
}

TEST(Mpa, NoFrame) {
  MpaFrame frame;
  const auto decode = [&](const std::vector<std::byte>& b) { return DecodeMpaFrame(b, b.size(), frame); };
  EXPECT_EQ(decode(Hex("4d504120494420526571204672616d66 00 01 0000")), ParseStatus::kMalformed);         // another key
  EXPECT_EQ(decode(Hex("4d504120494420526571204672616d65 00 00 0000")), ParseStatus::kMalformed);         // revision 0
  EXPECT_EQ(decode(Hex("4d504120494420526571204672616d65 10 02 0003 000000")), ParseStatus::kMalformed);  // no room
  std::vector<std::byte> large = Hex("4d504120494420526571204672616d65 00 01 0201");
  large.resize(large.size() + 0x201);
  EXPECT_EQ(decode(large), ParseStatus::kMalformed);
  EXPECT_EQ(MpaFrameSize(large), 0u);
  EXPECT_EQ(RecogniseMpaKey(Hex("474554202f")), MpaKey::kNone);
}

}  // namespace
}  // namespace stag::iwarp
