// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/selection.h"

#include <gtest/gtest.h>

#include <array>

namespace stag::replay {
namespace {

recording::RecordedRpc Rpc(uint64_t frame, uint32_t program, uint32_t version, uint32_t procedure) {
  recording::RecordedRpc rpc;
  rpc.call_frame.number = frame;
  rpc.known = true;
  rpc.program = program;
  rpc.version = version;
  rpc.procedure = procedure;
  return rpc;
}

bool Matches(std::initializer_list<const char*> terms, const recording::RecordedRpc& rpc,
             fabric::ConnectionId connection = 1, std::span<const uint32_t> operations = {}) {
  Selection selection;
  for (const char* term : terms) EXPECT_TRUE(selection.Add(term)) << term;
  return selection.Matches(rpc, connection, operations);
}

TEST(Selection, NumbersRangesAndNames) {
  const recording::RecordedRpc read = Rpc(50, 100003, 3, 6);
  EXPECT_TRUE(Matches({"frame=50"}, read));
  EXPECT_TRUE(Matches({"frame=1-3,40-50"}, read));
  EXPECT_FALSE(Matches({"frame=51-"
                        "60"},
                       read));
  EXPECT_TRUE(Matches({"program=NFS"}, read));
  EXPECT_TRUE(Matches({"program=100003"}, read));
  EXPECT_FALSE(Matches({"program=MOUNT"}, read));
  EXPECT_TRUE(Matches({"procedure=read"}, read));
  EXPECT_TRUE(Matches({"procedure=WRITE,READ"}, read));
  EXPECT_TRUE(Matches({"procedure=6"}, read));
  EXPECT_FALSE(Matches({"procedure=WRITE"}, read));
  EXPECT_TRUE(Matches({"connection=3"}, read, 3));
  EXPECT_FALSE(Matches({"connection=3"}, read, 2));
}

TEST(Selection, KindsMustAllHoldAndTermsOfOneAreAlternatives) {
  const recording::RecordedRpc read = Rpc(50, 100003, 3, 6);
  EXPECT_TRUE(Matches({"frame=1-60", "procedure=READ"}, read));
  EXPECT_FALSE(Matches({"frame=1-40", "procedure=READ"}, read));
  EXPECT_TRUE(Matches({"frame=1-40", "frame=50"}, read));
}

TEST(Selection, OperationsOfACompoundByName) {
  const recording::RecordedRpc compound = Rpc(5, 100003, 4, 1);
  const std::array<uint32_t, 3> operations = {53, 22, 25};  // SEQUENCE, PUTFH, READ
  EXPECT_TRUE(Matches({"procedure=READ"}, compound, 1, operations));
  EXPECT_TRUE(Matches({"procedure=COMPOUND"}, compound, 1, operations));
  EXPECT_FALSE(Matches({"procedure=WRITE"}, compound, 1, operations));
}

TEST(Selection, WhatItIsNot) {
  Selection selection;
  for (const char* text : {"", "frame", "frame=", "frame=x", "frame=5-3", "frame=1,,2", "frame=1-", "connection=a",
                           "xid=1", "=", "procedure=", "frame=-1", "frame=99999999999999999999"})
    EXPECT_FALSE(selection.Add(text)) << text;
  EXPECT_TRUE(selection.empty());
}

}  // namespace
}  // namespace stag::replay
