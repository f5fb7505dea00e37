// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls laid out from inline bytes and Read chunks; the expected places follow from RFC 8166 section 3.4.5 by hand.
#include "replay/rpcrdma/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/messages.h"

namespace stag::rpcrdma {
namespace {

using rpcrdma::Header;
using stag::test::AddRead;
using stag::test::MakeHeader;

// "inline 0 -> 0+100, segment 1 at 0 -> 100+7, zero -> 107+1"
std::string Laid(const Header& header, uint64_t payload, uint64_t limit = 1 << 20) {
  CallLayout layout;
  if (!LayOut(header, payload, limit, layout)) return std::string(layout.defect);
  std::string out;
  uint64_t end = 0;
  for (const Extent& e : layout.extents) {
    EXPECT_EQ(e.to, end);
    end = e.to + e.length;
    if (!out.empty()) out += ", ";
    if (e.from == Extent::From::kInline) out += "inline " + std::to_string(e.offset);
    if (e.from == Extent::From::kSegment)
      out += "segment " + std::to_string(e.segment) + " at " + std::to_string(e.offset);
    if (e.from == Extent::From::kZero) out += "zero";
    out += " -> " + std::to_string(e.to) + "+" + std::to_string(e.length);
  }
  EXPECT_EQ(layout.length, end);
  return out;
}

Header Reads(uint32_t proc, std::initializer_list<std::pair<uint32_t, uint32_t>> position_and_length) {
  Header header = MakeHeader(proc, 1);
  for (const auto& [position, length] : position_and_length) AddRead(header, position, {7, length, 0x1000});
  return header;
}

TEST(Layout, Short) { EXPECT_EQ(Laid(Reads(kMsg, {}), 100), "inline 0 -> 0+100"); }

TEST(Layout, OneChunk) {
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{100, 7}}), 100), "inline 0 -> 0+100, segment 0 at 0 -> 100+7, zero -> 107+1");
  // In the middle, in two segments, with its padding in the chunk.
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{40, 6}, {40, 2}}), 100),
            "inline 0 -> 0+40, segment 0 at 0 -> 40+6, segment 1 at 0 -> 46+2, inline 40 -> 48+60");
}

TEST(Layout, ChunksInAnyOrder) {
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{60, 4}, {40, 5}}), 60),
            "inline 0 -> 0+40, segment 1 at 0 -> 40+5, zero -> 45+3, inline 40 -> 48+12, segment 0 at 0 -> 60+4, "
            "inline 52 -> 64+8");
}

TEST(Layout, PositionZero) {
  EXPECT_EQ(Laid(Reads(rpcrdma::kNomsg, {{0, 30}, {0, 70}}), 0), "segment 0 at 0 -> 0+30, segment 1 at 0 -> 30+70");
  // A reduced item in a Long Call: the Position-zero content goes around it.
  EXPECT_EQ(Laid(Reads(rpcrdma::kNomsg, {{0, 30}, {0, 70}, {40, 8}}), 0),
            "segment 0 at 0 -> 0+30, segment 1 at 0 -> 30+10, segment 2 at 0 -> 40+8, segment 1 at 10 -> 48+60");
}

TEST(Layout, Defects) {
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{0, 8}}), 100), "a Position-zero chunk in an RDMA_MSG");
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{42, 8}}), 100), "a Position that is no multiple of four");
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{104, 8}}), 100), "a Position behind the end of the payload");
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{40, 8}, {44, 8}}), 100), "Read chunks that overlap");
  EXPECT_EQ(Laid(Reads(rpcrdma::kNomsg, {}), 0), "an RDMA_NOMSG without a Position-zero chunk");
  EXPECT_EQ(Laid(Reads(rpcrdma::kNomsg, {{40, 8}}), 0), "an RDMA_NOMSG without a Position-zero chunk");
  EXPECT_EQ(Laid(Reads(rpcrdma::kMsg, {{40, 0xffffffff}, {44, 0xffffffff}}), 100), "a Call that is too large");
}

}  // namespace
}  // namespace stag::rpcrdma
