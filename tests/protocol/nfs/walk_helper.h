// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the NFS tests share: an XDR writer in the words of the specifications, a visitor that writes down what it is
// told, and checks that hold for every message.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/writer.h"
#include "protocol/nfs/walk.h"

namespace stag::nfs::test {

class Xdr {
 public:
  Xdr& W(std::initializer_list<uint32_t> words) {
    for (uint32_t v : words) Writer(bytes).U32(v);
    return *this;
  }
  Xdr& H(std::initializer_list<uint64_t> hypers) {
    for (uint64_t v : hypers) Writer(bytes).U64(v);
    return *this;
  }
  Xdr& O(std::string_view text) {
    Writer(bytes).Opaque({reinterpret_cast<const std::byte*>(text.data()), text.size()});
    return *this;
  }
  // `n` bytes that look like nothing else
  Xdr& Fixed(size_t n) {
    for (size_t i = 0; i < n; ++i) bytes.push_back(static_cast<std::byte>(0xa0 + i % 16));
    return *this;
  }
  Xdr& S() { return Fixed(16); }  // stateid4, sessionid4, deviceid4
  Xdr& Bitmap() { return W({2, 0x18, 0x30}); }
  Xdr& Fattr() { return W({1, 2}).O("abcd"); }
  Xdr& ChangeInfo() { return W({1}).H({5, 6}); }
  Xdr& Time() { return H({1'600'000'000}).W({5}); }
  Xdr& operator+=(const Xdr& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }
  std::vector<std::byte> bytes;
};

inline Xdr operator+(Xdr a, const Xdr& b) { return a += b; }
inline Xdr W(std::initializer_list<uint32_t> words) { return Xdr().W(words); }
inline Xdr H(std::initializer_list<uint64_t> hypers) { return Xdr().H(hypers); }
inline Xdr O(std::string_view text) { return Xdr().O(text); }
inline Xdr S() { return Xdr().S(); }
inline Xdr Bitmap() { return Xdr().Bitmap(); }
inline Xdr Fattr() { return Xdr().Fattr(); }
inline Xdr ChangeInfo() { return Xdr().ChangeInfo(); }
inline Xdr Time() { return Xdr().Time(); }
inline Xdr Fixed(size_t n) { return Xdr().Fixed(n); }

inline std::vector<std::byte> CallMessage(uint32_t program, uint32_t version, uint32_t procedure,
                                          const Xdr& arguments) {
  return (W({7, 0, 2, program, version, procedure, 0, 0, 0, 0}) + arguments).bytes;
}
inline std::vector<std::byte> ReplyMessage(const Xdr& results) { return (W({7, 1, 0, 0, 0, 0}) + results).bytes; }

inline std::string Text(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

// One line for each thing it is told. Items whose index is in `reduced` are not in the stream.
class Recorder : public Visitor {
 public:
  explicit Recorder(std::set<size_t> reduced = {}) : reduced_(std::move(reduced)) {}
  bool IsReduced(const Item& item) override {
    items.push_back(item);
    return reduced_.count(items.size() - 1) != 0;
  }
  void OnOperation(uint32_t index, uint32_t op) override {
    EXPECT_EQ(index, ops.size());
    ops.push_back(op);
  }
  void OnOperationResult(uint32_t index, uint32_t op, uint32_t status) override {
    EXPECT_EQ(index, results.size());
    results.push_back({op, status});
  }
  void OnRead(uint32_t i, Bytes handle, uint64_t offset, uint32_t count) override {
    Log("read", i, Text(handle), std::to_string(offset) + "+" + std::to_string(count));
  }
  void OnWrite(uint32_t i, Bytes handle, uint64_t offset, uint32_t count) override {
    Log("write", i, Text(handle), std::to_string(offset) + "+" + std::to_string(count));
  }
  void OnReplyLimit(uint32_t i, uint32_t op, uint32_t bytes) override {
    Log("limit", i, std::to_string(op), std::to_string(bytes));
  }
  void OnName(uint32_t i, Bytes directory, Bytes name) override { Log("name", i, Text(directory), Text(name)); }
  void OnBackchannel(uint32_t i) override { Log("backchannel", i, "set"); }
  void OnCurrentHandle(uint32_t i, Bytes handle) override { Log("current", i, Text(handle)); }
  void OnHandle(uint32_t i, Bytes handle) override { Log("handle", i, Text(handle)); }
  void OnEntry(Bytes name, Bytes handle) override { log.push_back("entry " + Text(name) + " " + Text(handle)); }
  void OnReadResult(uint32_t i, uint32_t count, bool eof) override {
    Log("result", i, std::to_string(count), eof ? "eof" : "more");
  }

  std::vector<Item> items;
  std::vector<uint32_t> ops;
  struct Result {
    uint32_t op, status;
    friend bool operator==(const Result&, const Result&) = default;
  };
  std::vector<Result> results;
  std::vector<std::string> log;

 private:
  void Log(const char* what, uint32_t index, const std::string& a, const std::string& b = {}) {
    log.push_back(std::string(what) + " " + std::to_string(index) + " " + a + (b.empty() ? "" : " " + b));
  }
  std::set<size_t> reduced_;
};

// Which bytes of a message a walk gave a kind, or named as an item.
class Covering final : public Visitor {
 public:
  Covering(size_t size, std::set<size_t> reduced) : kinds(size), reduced_(std::move(reduced)) {}
  bool WantsFields() const override { return true; }
  void OnField(FieldKind kind, uint64_t offset, uint64_t length) override {
    ASSERT_LE(offset + length, kinds.size());
    for (uint64_t i = 0; i < length; ++i) kinds[offset + i] = kind;
  }
  bool IsReduced(const Item& item) override {
    const bool reduced = reduced_.count(items_++) != 0;
    if (!reduced) OnField(FieldKind::kOpaque, item.offset, item.length);
    return reduced;
  }
  // Of the bytes from `begin` to `end`, the first that has none; `end`: there is none.
  uint64_t FirstUnknown(uint64_t begin, uint64_t end) const {
    while (begin < end && kinds[begin]) ++begin;
    return begin;
  }
  // The kinds of the bytes at `offset`: all the same.
  FieldKind Kind(uint64_t offset, uint64_t length) const {
    for (uint64_t i = 0; i < length; ++i) EXPECT_EQ(kinds[offset + i], kinds[offset]);
    return kinds[offset].value_or(FieldKind::kPadding);
  }

  std::vector<std::optional<FieldKind>> kinds;

 private:
  std::set<size_t> reduced_;
  size_t items_ = 0;
};

inline rpc::CallHeader Header(Bytes call) { return rpc::DecodeCall(call, call.size()); }

// Walks `message` whole, then cut at every byte: by the capture and on the wire. What is reported of a cut message must
// be a beginning of what is reported of the whole one. Returns the walk of the whole.
inline Walk WalkEverywhere(const rpc::CallHeader& call, const std::vector<std::byte>& message, bool reply,
                           Recorder& recorder, const std::set<size_t>& reduced = {}) {
  auto walk = [&](Bytes bytes, uint64_t length, Visitor& visitor) {
    return reply ? WalkReply(call, rpc::DecodeReply(message, message.size()), bytes, length, visitor)
                 : WalkCall(call, bytes, length, visitor);
  };
  recorder = Recorder(reduced);
  const Walk whole = walk(message, message.size(), recorder);
  Covering covering(message.size(), reduced);
  const Walk covered = walk(message, message.size(), covering);
  EXPECT_EQ(covered.status, whole.status);
  EXPECT_EQ(covered.offset, whole.offset);
  const uint32_t begin = reply ? rpc::DecodeReply(message, message.size()).length : call.length;
  EXPECT_EQ(covering.FirstUnknown(begin, whole.offset), std::max<uint64_t>(begin, whole.offset));
  for (size_t n = 0; n < whole.offset; ++n) {
    Recorder cut(reduced);
    const Walk truncated = walk(Bytes(message).first(n), message.size(), cut);
    EXPECT_EQ(truncated.status, ParseStatus::kTruncatedByCapture) << "captured " << n << " of " << message.size();
    EXPECT_LE(truncated.offset, n);
    EXPECT_LE(cut.log.size(), recorder.log.size());
    if (cut.log.size() <= recorder.log.size()) {
      EXPECT_TRUE(std::equal(cut.log.begin(), cut.log.end(), recorder.log.begin()));
    }
    EXPECT_LE(cut.items.size(), recorder.items.size());
    EXPECT_LE(cut.ops.size(), recorder.ops.size());
    EXPECT_LE(cut.results.size(), recorder.results.size());
    EXPECT_TRUE(!truncated.has_status || truncated.nfs_status == whole.nfs_status);
    Recorder shorter(reduced);
    EXPECT_EQ(walk(Bytes(message).first(n), n, shorter).status, ParseStatus::kMalformed) << "length " << n;
    if (::testing::Test::HasFailure()) break;
  }
  return whole;
}

// A message that must be walked to exactly its end.
inline Recorder WalkCallToEnd(const std::vector<std::byte>& call, const std::set<size_t>& reduced = {}) {
  Recorder recorder;
  const Walk walk = WalkEverywhere(Header(call), call, false, recorder, reduced);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, call.size());
  EXPECT_FALSE(walk.has_status);
  return recorder;
}
inline Recorder WalkReplyToEnd(const std::vector<std::byte>& call, const std::vector<std::byte>& reply,
                               const std::set<size_t>& reduced = {}, Walk* result = nullptr) {
  Recorder recorder;
  const Walk walk = WalkEverywhere(Header(call), reply, true, recorder, reduced);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, reply.size());
  if (result) *result = walk;
  return recorder;
}

}  // namespace stag::nfs::test
