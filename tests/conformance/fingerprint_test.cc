// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/fingerprint.h"

#include <gtest/gtest.h>

namespace stag::conformance {
namespace {

Finding MakeFinding() {
  Finding finding;
  finding.rule = FindRule("WRLIST-002");
  finding.severity = Severity::kError;
  finding.frame = finding.proven = {12, 1709210096123456789};
  finding.connection = 3;
  finding.client_to_server = false;
  finding.xid = 0x1a2b3c4d;
  finding.procedure = Procedure{100003, 3, 6};
  finding.message = "Write chunk 1 comes back with 1 segment, offered with 2";
  finding.expected = "2 segments";
  finding.related_frames = {4, 9};
  return finding;
}

TEST(Fingerprint, IsWhatItAlwaysWas) {
  // FNV-1a, 64 bits, of "WRLIST-002\ns2c\n100003 3 6\nWrite chunk # come back with # segment, offered with #" and of
  // "PVT-003\nc2s\n\nReserved bits of the private data are set", computed with another program.
  EXPECT_EQ(Fingerprint(MakeFinding()), "29af9d6a03f2011e");
  Finding setup;
  setup.rule = FindRule("PVT-003");
  setup.message = "Reserved bits of the private data are set";
  EXPECT_EQ(Fingerprint(setup), "11895a273f0c9d82");
}

TEST(Fingerprint, SurvivesAnotherCapture) {
  const std::string before = Fingerprint(MakeFinding());
  Finding again = MakeFinding();
  again.frame = {7000, 1};
  again.proven = {7001, 2};
  again.certainty = Certainty::kPresumed;
  again.unseen = "the capture ends";
  again.connection = 40;
  again.xid = 5;
  again.severity = Severity::kNote;
  again.profile = Profile::kRfc5666bis;
  again.message = "Write chunk 12 comes back with 40 segments, offered with 0x1f";
  again.expected = again.actual = "something else";
  again.related_frames = {1};
  again.see_also = {"WRLIST-012"};
  EXPECT_EQ(Fingerprint(again), before);
}

TEST(Fingerprint, TellsFindingsApart) {
  const std::string before = Fingerprint(MakeFinding());
  Finding other = MakeFinding();
  other.rule = FindRule("WRLIST-006");
  EXPECT_NE(Fingerprint(other), before);
  other = MakeFinding();
  other.client_to_server = true;
  EXPECT_NE(Fingerprint(other), before);
  other = MakeFinding();
  other.procedure->procedure = 7;
  EXPECT_NE(Fingerprint(other), before);
  other.procedure.reset();
  EXPECT_NE(Fingerprint(other), before);
  other = MakeFinding();
  other.message = "Write chunk 1 does not come back";
  EXPECT_NE(Fingerprint(other), before);
}

TEST(WithoutNumbers, TakesNumbersAndPlurals) {
  EXPECT_EQ(WithoutNumbers(""), "");
  EXPECT_EQ(WithoutNumbers("no number"), "no number");
  EXPECT_EQ(WithoutNumbers("xid 0x0000beef and 17"), "xid # and #");
  EXPECT_EQ(WithoutNumbers("1 segment"), "# segment");
  EXPECT_EQ(WithoutNumbers("20 segments, 3 segments"), "# segment, # segment");
  EXPECT_EQ(WithoutNumbers("0xg 0x"), "#g #");
  EXPECT_EQ(WithoutNumbers("flags 0x0"), "flags #");
  EXPECT_EQ(WithoutNumbers("7"), "#");
  EXPECT_EQ(WithoutNumbers("7 "), "# ");
  EXPECT_EQ(WithoutNumbers("7 s"), "# s");
}

}  // namespace
}  // namespace stag::conformance
