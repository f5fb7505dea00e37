// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which Calls a rule means, and which of those it hits.
#include "replay/relay/faults.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/nfs_messages.h"

namespace stag::relay {
namespace {

using namespace stag::test;

class Chooser {
 public:
  explicit Chooser(std::vector<FaultRule> rules, uint64_t seed = 1, uint64_t stream = 2)
      : options_{std::move(rules), seed}, counts(options_.rules.size()), faults_(options_, stream, counts) {}
  std::vector<uint32_t> operator()(const Buffer& payload, const rpcrdma::Header& header = Msg(1)) {
    std::vector<uint32_t> hit;
    faults_.Choose(header, payload, hit);
    return hit;
  }

 private:
  const FaultOptions options_;

 public:
  std::vector<FaultCount> counts;

 private:
  Faults faults_;
};

using Hit = std::vector<uint32_t>;

TEST(Faults, ByNumberByNameAndAny) {
  Chooser hit({{.program = 100003, .procedure = 6}, {.name = "READ"}, {}, {.name = "WRITE"}});
  EXPECT_EQ(hit(ReadCall(1, 100)), (Hit{0, 1, 2}));
  EXPECT_EQ(hit(GetattrCall(1)), (Hit{2}));
  EXPECT_EQ(hit(WriteCall(1, 0)), (Hit{2, 3}));
  EXPECT_EQ(hit(MakeCall(1, 4711, 1, 6)), (Hit{2}));
  EXPECT_EQ(hit(Words({1, 0, 2, 100003, 3})), (Hit{2}));  // it ends in front of its procedure
  EXPECT_EQ(hit({}), (Hit{2}));
  EXPECT_EQ(hit.counts[0].meant, 1u);
  EXPECT_EQ(hit.counts[2].meant, 6u);
}

// Behind data that went by a Read chunk, whose Position says so (RFC 8166 section 3.4.4), as well as behind inline
// data.
TEST(Faults, OperationsOfACompound) {
  Chooser hit({{.name = "READ"}, {.name = "COMPOUND"}, {.name = "CB_RECALL"}, {.name = "WRITE"}});
  EXPECT_EQ(hit(CompoundCall(1, {PutRootFh(), Read4(100)})), (Hit{0, 1}));
  EXPECT_EQ(hit(CompoundCall(1, {PutRootFh()})), (Hit{1}));
  EXPECT_EQ(hit(CompoundCall(1, {Write4(8), Words({1, 2}), Read4(100)})), (Hit{0, 1, 3}));
  rpcrdma::Header reduced = Msg(1);
  const Buffer first = CompoundCall(1, {Write4(8)}), second = CompoundCall(1, {Write4(8), Write4(5)});
  AddRead(reduced, static_cast<uint32_t>(first.size()), {1, 8, 0});
  AddRead(reduced, static_cast<uint32_t>(second.size()) + 8, {1, 5, 0});
  EXPECT_EQ(hit(CompoundCall(1, {Write4(8), Write4(5), Read4(100)}), reduced), (Hit{0, 1, 3}));
}

TEST(Faults, HitsAsOftenAsItSays) {
  for (const double percent : {0.5, 25.0, 100.0}) {
    Chooser hit({{.percent = percent}, {.percent = percent}});
    size_t hits = 0, both = 0;
    for (int i = 0; i < 100'000; ++i) {
      const Hit h = hit(GetattrCall(1));
      hits += h.size();
      both += h.size() == 2;
    }
    const double expected = 2000 * percent;
    EXPECT_NEAR(static_cast<double>(hits), expected, 5 * std::sqrt(expected));
    // Rules do not know of each other.
    const double together = 10 * percent * percent;
    EXPECT_NEAR(static_cast<double>(both), together, 5 * std::sqrt(together) + 1);
  }
}

TEST(Faults, TheSameAgainWithTheSameSeed) {
  const auto run = [](uint64_t seed, uint64_t stream, bool others) {
    Chooser hit({{.percent = 30, .name = "READ"}}, seed, stream);
    std::vector<bool> out;
    for (int i = 0; i < 200; ++i) {
      if (others) hit(GetattrCall(1));
      out.push_back(!hit(ReadCall(1, 100)).empty());
    }
    return out;
  };
  EXPECT_EQ(run(7, 2, false), run(7, 2, false));
  EXPECT_EQ(run(7, 2, false), run(7, 2, true));  // Calls that are not meant change nothing
  EXPECT_NE(run(7, 2, false), run(8, 2, false));
  EXPECT_NE(run(7, 2, false), run(7, 4, false));
}

}  // namespace
}  // namespace stag::relay
