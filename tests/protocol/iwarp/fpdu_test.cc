// SPDX-License-Identifier: GPL-2.0-or-later
//
// FPDU framing: known bytes, markers at every position, CRCs, every truncation.
#include "protocol/iwarp/fpdu.h"

#include <gtest/gtest.h>

#include "tests/protocol/iwarp/hex.h"

namespace stag::iwarp {
namespace {

using test::Hex;

std::vector<std::byte> Pattern(size_t n) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = std::byte(i * 37 + i / 256 + 1);
  return out;
}

// Sent by Linux's siw with CRCs on (from a capture; tshark agrees with the CRC): a zero-length RDMA Write.
const std::vector<std::byte> kSiwWrite = Hex("000e c140 00000001 0000000000000000 ebd34c5f");
// Without CRCs: an RPC-over-RDMA NULL call's FPDU starts so; the field at its end is zero.
const std::vector<std::byte> kEmptySend = Hex("0012 4143 00000000 00000000 00000001 00000000 00000000");

TEST(Fpdu, KnownBytes) {
  std::vector<std::byte> scratch;
  Fpdu fpdu;
  ASSERT_EQ(DecodeFpdu(kSiwWrite, kSiwWrite.size(), 0, false, scratch, fpdu), ParseStatus::kOk);
  EXPECT_EQ(fpdu.size, 20u);
  EXPECT_EQ(fpdu.ulpdu_length, 14);
  EXPECT_EQ(fpdu.ulpdu.size(), 14u);
  EXPECT_TRUE(fpdu.crc_captured && fpdu.padding_zero);
  EXPECT_EQ(fpdu.crc_field, ComputeFpduCrc(kSiwWrite));
  std::vector<std::byte> again;
  EXPECT_EQ(EncodeFpdu(fpdu.ulpdu, 0, false, true, again), 20u);
  EXPECT_EQ(again, kSiwWrite);

  ASSERT_EQ(DecodeFpdu(kEmptySend, kEmptySend.size(), 0, false, scratch, fpdu), ParseStatus::kOk);
  EXPECT_EQ(fpdu.crc_field, 0u);
  again.clear();
  EncodeFpdu(fpdu.ulpdu, 0, false, false, again);
  EXPECT_EQ(again, kEmptySend);
}

// RFC 5044 section 4.3: markers at multiples of 512 of the stream, FPDUPTR counts back to the length field.
TEST(Fpdu, MarkersStandWhereTheyMust) {
  std::vector<std::byte> stream;
  EncodeFpdu(Pattern(1100), 0, true, false, stream);
  ASSERT_EQ(stream.size(), 2 + 1100 + 2 + 4 + 3 * 4u);
  EXPECT_EQ(LoadBe32(stream.data()), 0u);  // before the length field: points at it
  EXPECT_EQ(LoadBe16(stream.data() + 4), 1100);
  EXPECT_EQ(LoadBe32(stream.data() + 512), 508u);  // the length field is at 4
  EXPECT_EQ(LoadBe32(stream.data() + 1024), 1020u);

  const size_t second = stream.size();  // 1120: no marker in front of this one
  EncodeFpdu(Pattern(700), second, true, false, stream);
  EXPECT_EQ(LoadBe16(stream.data() + second), 700);
  EXPECT_EQ(LoadBe32(stream.data() + 1536), 1536 - second);
}

TEST(Fpdu, MarkerBetweenPaddingAndCrc) {
  // Length field at 4, ULPDU of 506: the CRC is due at 512, a marker comes before it and is covered by it.
  std::vector<std::byte> stream;
  EXPECT_EQ(EncodeFpdu(Pattern(506), 0, true, true, stream), 520u);
  EXPECT_EQ(LoadBe32(stream.data() + 512), 508u);
  std::vector<std::byte> scratch;
  Fpdu fpdu;
  ASSERT_EQ(DecodeFpdu(stream, stream.size(), 0, true, scratch, fpdu), ParseStatus::kOk);
  EXPECT_EQ(fpdu.crc_field, ComputeFpduCrc(stream));
  stream[515] ^= std::byte{1};
  EXPECT_NE(fpdu.crc_field, ComputeFpduCrc(stream));
}

TEST(Fpdu, ComesBackAtEveryPositionAndSize) {
  const std::vector<std::byte> data = Pattern(65535);
  std::vector<std::byte> scratch, stream;
  for (const bool markers : {false, true}) {
    for (const bool crc : {false, true}) {
      for (uint64_t position = 0; position < 1024; position += 4) {
        for (const size_t size :
             {size_t{0}, size_t{1}, size_t{14}, size_t{31}, size_t{502}, size_t{506}, size_t{1500}}) {
          stream.clear();
          const Bytes ulpdu = Bytes(data).first(size);
          const uint32_t written = EncodeFpdu(ulpdu, position, markers, crc, stream);
          ASSERT_EQ(written, stream.size());
          ASSERT_EQ(written, FpduSize(static_cast<uint16_t>(size), position, markers));
          ASSERT_EQ(written % 4, 0u);
          Fpdu fpdu;
          ASSERT_EQ(DecodeFpdu(stream, stream.size() + 100, position, markers, scratch, fpdu), ParseStatus::kOk);
          ASSERT_EQ(fpdu.size, written);
          ASSERT_TRUE(std::ranges::equal(fpdu.ulpdu, ulpdu));
          ASSERT_EQ(fpdu.crc_field, crc ? ComputeFpduCrc(stream) : 0u);
        }
      }
      stream.clear();
      EXPECT_LE(EncodeFpdu(data, 512, markers, crc, stream), kMaxFpduSize);
      Fpdu fpdu;
      ASSERT_EQ(DecodeFpdu(stream, stream.size(), 512, markers, scratch, fpdu), ParseStatus::kOk);
      EXPECT_TRUE(std::ranges::equal(fpdu.ulpdu, data));
    }
  }
}

TEST(Fpdu, TruncationAtEveryByte) {
  const std::vector<std::byte> data = Pattern(1203);
  std::vector<std::byte> scratch, stream;
  for (const bool markers : {false, true}) {
    stream.clear();
    const uint32_t size = EncodeFpdu(data, 512, markers, true, stream);
    for (size_t n = 0; n < size; ++n) {
      Fpdu fpdu;
      EXPECT_EQ(DecodeFpdu(Bytes(stream).first(n), size, 512, markers, scratch, fpdu),
                ParseStatus::kTruncatedByCapture);
      EXPECT_FALSE(fpdu.crc_captured);
      EXPECT_TRUE(std::ranges::equal(fpdu.ulpdu, Bytes(data).first(fpdu.ulpdu.size()))) << n;
      EXPECT_EQ(DecodeFpdu(Bytes(stream).first(n), n, 512, markers, scratch, fpdu), ParseStatus::kMalformed);
      const size_t head = markers ? 6 : 2;
      EXPECT_EQ(fpdu.size, n >= head ? size : 0) << n;
    }
  }
}

TEST(Fpdu, PaddingThatIsNotZero) {
  std::vector<std::byte> stream, scratch;
  EncodeFpdu(Pattern(15), 0, false, false, stream);
  stream[18] = std::byte{1};
  Fpdu fpdu;
  ASSERT_EQ(DecodeFpdu(stream, stream.size(), 0, false, scratch, fpdu), ParseStatus::kOk);
  EXPECT_FALSE(fpdu.padding_zero);
}

TEST(Fpdu, NoFpduBeginsInsideAMarker) {
  Fpdu fpdu;
  std::vector<std::byte> scratch;
  EXPECT_EQ(DecodeFpdu(kSiwWrite, 20, 513, true, scratch, fpdu), ParseStatus::kMalformed);
  EXPECT_EQ(fpdu.size, 0u);
}

}  // namespace
}  // namespace stag::iwarp
