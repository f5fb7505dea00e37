// SPDX-License-Identifier: GPL-2.0-or-later
//
// Messages of a Linux client and server (messages.txt): each must be walked to exactly its end, with the operations and
// the status that an independent decoder found.
#include <fstream>
#include <sstream>

#include "tests/protocol/nfs/walk_helper.h"
#include "tests/protocol/rpcrdma/words.h"

namespace stag::nfs {
namespace {

using test::Header;
using test::Recorder;

struct Exchange {
  std::string name, status;
  std::set<uint64_t> positions;
  std::vector<uint64_t> returned;
  std::vector<std::byte> call, reply;
  bool compound() const { return name.find(',') != std::string::npos || Header(call).version == 4; }
};

std::vector<uint64_t> Numbers(const std::string& text) {
  std::vector<uint64_t> out;
  std::stringstream in(text);
  for (std::string field; std::getline(in, field, ',');) out.push_back(std::stoull(field));
  return out;
}

const std::vector<Exchange>& Exchanges() {
  static const std::vector<Exchange> all = [] {
    std::vector<Exchange> out;
    std::ifstream in(std::string(STAG_SOURCE_DIR) + "/tests/protocol/nfs/messages.txt");
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::stringstream fields(line);
      std::string field[6];
      for (std::string& f : field) std::getline(fields, f, '|');
      const auto positions = Numbers(field[2]);
      out.push_back({field[0],
                     field[1],
                     {positions.begin(), positions.end()},
                     Numbers(field[3]),
                     stag::test::Hex(field[4]),
                     stag::test::Hex(field[5])});
    }
    return out;
  }();
  return all;
}

// RFC 8166: an argument is reduced when a Read chunk has its Position (in the unreduced stream; these messages have one
// at most), a result when a Write chunk is left.
struct Reducer : Recorder {
  explicit Reducer(const Exchange& e) : exchange(e) {}
  bool IsReduced(const Item& item) override {
    Recorder::IsReduced(item);
    if (item.kind == ItemKind::kWriteData) return exchange.positions.count(item.offset) != 0;
    if (next >= exchange.returned.size()) return false;
    EXPECT_EQ(exchange.returned[next], item.length);
    return ++next, true;
  }
  const Exchange& exchange;
  size_t next = 0;
};

std::string OperationsText(const rpc::CallHeader& call, const std::vector<uint32_t>& ops) {
  std::string text;
  for (uint32_t op : ops) {
    const char* name = IsCallbackProgram(call.program) ? CallbackOperationName(op) : OperationName(op);
    text += (text.empty() ? "" : ",") + std::string(name ? name : "?");
  }
  return text;
}

TEST(Messages, ThereAreSome) { EXPECT_GE(Exchanges().size(), 80u); }

TEST(Messages, CallsEndWhereTheyEnd) {
  for (const Exchange& e : Exchanges()) {
    const rpc::CallHeader call = Header(e.call);
    Reducer reducer(e);
    const Walk walk = WalkCall(call, e.call, e.call.size(), reducer);
    EXPECT_EQ(walk.status, ParseStatus::kOk) << e.name;
    EXPECT_EQ(walk.offset, e.call.size()) << e.name;
    if (reducer.ops.empty()) {
      EXPECT_EQ(rpc::ProcedureName(call.program, call.version, call.procedure), e.name);
    } else {
      EXPECT_EQ(OperationsText(call, reducer.ops), e.name);
    }
  }
}

TEST(Messages, RepliesEndWhereTheyEnd) {
  for (const Exchange& e : Exchanges()) {
    Reducer reducer(e);
    const Walk walk =
        WalkReply(Header(e.call), rpc::DecodeReply(e.reply, e.reply.size()), e.reply, e.reply.size(), reducer);
    EXPECT_EQ(walk.status, ParseStatus::kOk) << e.name;
    EXPECT_EQ(walk.offset, e.reply.size()) << e.name;
    EXPECT_EQ(walk.has_status ? std::to_string(walk.nfs_status) : "null", e.status) << e.name;
    EXPECT_EQ(reducer.next, e.returned.size()) << e.name;
    if (!reducer.results.empty()) {
      EXPECT_EQ(reducer.results.back().status, walk.nfs_status) << e.name;
    }
  }
}

TEST(Messages, EveryCut) {
  for (const Exchange& e : Exchanges()) {
    std::set<size_t> in_call, in_reply;
    if (!e.positions.empty()) in_call = {0};
    if (!e.returned.empty()) in_reply = {0};
    Recorder recorder;
    test::WalkEverywhere(Header(e.call), e.call, false, recorder, in_call);
    test::WalkEverywhere(Header(e.call), e.reply, true, recorder, in_reply);
    ASSERT_FALSE(HasFailure()) << e.name;
  }
}

TEST(Messages, EligibleItems) {
  const std::set<std::string> readers = {"READ", "READLINK", "PUTFH,READ", "SEQUENCE,PUTFH,READ"};
  for (const Exchange& e : Exchanges()) {
    Reducer reducer(e);
    const Eligibility eligible = EligibleItems(Header(e.call), e.call, e.call.size(), &reducer);
    ASSERT_TRUE(eligible.known) << e.name;
    EXPECT_EQ(eligible.result_items, readers.count(e.name)) << e.name;
    const bool writer = e.name.find("WRITE") != std::string::npos || e.name == "SYMLINK";
    if (e.name.find("CREATE") == std::string::npos) {
      EXPECT_EQ(eligible.argument_items, writer) << e.name;
    }
  }
}

}  // namespace
}  // namespace stag::nfs
