// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the processor does with payload, seen from outside: the memory that endpoints register in large pieces is
// watched. Over verbs, on a device that moves no bytes itself, which of its pages are touched at all, by their
// protection. Over software iWARP, which bytes the kernel takes from there and brings there: watched_memory.cc stands
// for the C library's recvmsg and sendmsg.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint::test {

inline constexpr size_t kPage = 4096, kWatchedSize = 1u << 20;  // bytes; smaller pieces are not watched

// What is registered in large pieces.
struct WatchedMemory {
  struct Range {
    uintptr_t begin = 0, end = 0;
  };
  std::array<Range, 256> ranges;
  std::atomic<size_t> count{0};
  std::atomic<uint64_t> touched{0};                 // pages
  std::atomic<uint64_t> sent{0}, received{0};       // bytes that the kernel took and brought, in this memory
  std::atomic<uint64_t> rdma{0}, protect_after{0};  // large RDMA operations that were posted

  bool Has(uintptr_t at) const;
  void Add(Bytes bytes);
  // An RDMA operation of `size` bytes: behind number `protect_after`, every access to a page is counted.
  void Posted(size_t size);
  void Stop();

 private:
  bool Protect(int how) const;  // mprotect(2) of the pages that the ranges have alone
};
WatchedMemory& Watched();

// A transport as it is; `memory`: what its endpoints register is watched. What they post is counted in any case.
class WatchedTransport final : public Transport {
 public:
  explicit WatchedTransport(Transport& inner, bool memory = true) : inner_(inner), memory_(memory) {}
  std::string name() const override { return inner_.name(); }
  size_t max_private_data() const override { return inner_.max_private_data(); }
  bool remote_invalidation() const override { return inner_.remote_invalidation(); }
  std::unique_ptr<Outgoing> Dial(const HostPort& to, const EndpointOptions& options) override;
  Result<std::unique_ptr<Listener>> Listen(const HostPort& at) override;

 private:
  Transport& inner_;
  const bool memory_;
};

class WatchedTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  struct sigaction before_ {};
};

}  // namespace stag::endpoint::test
