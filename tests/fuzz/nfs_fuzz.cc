// SPDX-License-Identifier: GPL-2.0-or-later
//
// Walks of arbitrary arguments and results. The input: one byte that chooses program and version, one for the
// procedure, one whose bits say which items are reduced, one for how many bytes beyond the input the wire had; then the
// arguments or results, which are walked as both.
#include <cstdint>
#include <iterator>

#include "protocol/nfs/walk.h"

namespace {

using namespace stag;

// Every view that it is given must lie in the stream.
class Checker final : public nfs::Visitor {
 public:
  Checker(Bytes stream, uint64_t length, uint8_t reduced) : stream_(stream), length_(length), reduced_(reduced) {}
  bool IsReduced(const nfs::Item& item) override {
    if (item.offset > stream_.size() || item.offset < last_) __builtin_trap();
    last_ = item.offset;
    return (reduced_ >> (items_++ % 8) & 1) != 0;
  }
  void OnRead(uint32_t, Bytes handle, uint64_t, uint32_t) override { Check(handle); }
  void OnWrite(uint32_t, Bytes handle, uint64_t, uint32_t) override { Check(handle); }
  void OnName(uint32_t, Bytes directory, Bytes name) override { Check(directory), Check(name); }
  void OnCurrentHandle(uint32_t, Bytes handle) override { Check(handle); }
  void OnHandle(uint32_t, Bytes handle) override { Check(handle); }
  void OnEntry(Bytes name, Bytes handle) override { Check(name), Check(handle); }
  void Check(Bytes view) const {
    if (view.empty()) return;
    if (view.data() < stream_.data() || view.data() + view.size() > stream_.data() + stream_.size()) __builtin_trap();
  }
  void Check(const nfs::Walk& walk) const {
    if (walk.offset > stream_.size() || walk.offset > length_) __builtin_trap();
  }

 private:
  Bytes stream_;
  uint64_t length_;
  uint8_t reduced_;
  uint32_t items_ = 0;
  uint64_t last_ = 0;
};

constexpr struct {
  uint32_t program, version;
} kProtocols[] = {{100003, 4}, {100003, 3}, {100003, 2}, {0x40000000, 1}, {100227, 3}, {100227, 2}, {100005, 3},
                  {100005, 1}, {100021, 4}, {100021, 3}, {100024, 1},     {100003, 5}, {99, 1}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  rpc::CallHeader call;
  call.status = ParseStatus::kOk;
  call.program = kProtocols[data[0] % std::size(kProtocols)].program;
  call.version = kProtocols[data[0] % std::size(kProtocols)].version;
  call.procedure = data[1];
  const uint8_t reduced = data[2];
  // The header is not part of the stream here: its length is 0.
  const Bytes stream(reinterpret_cast<const std::byte*>(data + 4), size - 4);
  const uint64_t length = stream.size() + data[3];

  Checker in_call(stream, length, reduced);
  in_call.Check(nfs::WalkCall(call, stream, length, in_call));
  Checker again(stream, length, reduced);
  nfs::EligibleItems(call, stream, length, &again);
  nfs::EligibleItems(call, stream, length);

  rpc::ReplyHeader reply;
  reply.status = ParseStatus::kOk;
  Checker in_reply(stream, length, reduced);
  in_reply.Check(nfs::WalkReply(call, reply, stream, length, in_reply));
  return 0;
}
