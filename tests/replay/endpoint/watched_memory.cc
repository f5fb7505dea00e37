// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/replay/endpoint/watched_memory.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#ifndef STAG_SANITIZED

namespace stag::endpoint::test {
namespace {

void OnFault(int, siginfo_t* info, void*) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr) & ~(kPage - 1);
  if (!Watched().Has(at)) ::abort();
  ++Watched().touched;
  ::mprotect(reinterpret_cast<void*>(at), kPage, PROT_READ | PROT_WRITE);
}

uint64_t BytesWatched(const msghdr& message, ssize_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < message.msg_iovlen && n > 0; ++i) {
    const size_t part = std::min(message.msg_iov[i].iov_len, static_cast<size_t>(n));
    if (Watched().Has(reinterpret_cast<uintptr_t>(message.msg_iov[i].iov_base))) sum += part;
    n -= static_cast<ssize_t>(part);
  }
  return sum;
}

// An endpoint as it is, and what is registered and posted with it.
class WatchedEndpoint final : public Endpoint {
 public:
  WatchedEndpoint(std::unique_ptr<Endpoint> inner, bool memory) : inner_(std::move(inner)), memory_(memory) {
    info_ = inner_->info();
    const Bytes theirs = inner_->peer_private_data();
    peer_private_data_.assign(theirs.begin(), theirs.end());
    inbound_reads_ = inner_->inbound_reads();
    outbound_reads_ = inner_->outbound_reads();
  }
  State state() const override { return inner_->state(); }
  bool takes_work() const override { return inner_->takes_work(); }
  const Trouble& trouble() const override { return inner_->trouble(); }
  bool can_invalidate() const override { return inner_->can_invalidate(); }
  bool reads_are_private() const override { return inner_->reads_are_private(); }
  Result<Region> Register(size_t size, Access access) override { return Noted(inner_->Register(size, access)); }
  Result<Region> Register(MutableBytes memory, Access access) override {
    return Noted(inner_->Register(memory, access));
  }
  void Deregister(Region& region) override { inner_->Deregister(region); }
  Result<void> Renew(Region& region) override { return inner_->Renew(region); }
  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override {
    return inner_->Send(pieces, id, invalidate);
  }
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override {
    Watched().Posted(into.size());
    return inner_->Read(into, handle, offset, id);
  }
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override {
    Watched().Posted(from.size());
    return inner_->Write(from, handle, offset, id);
  }
  size_t max_inline() const override { return inner_->max_inline(); }
  size_t max_pieces() const override { return inner_->max_pieces(); }
  Result<void> Receive(uint32_t count) override { return inner_->Receive(count); }
  void Release(const Completion& completion) override { inner_->Release(completion); }
  void Flush() override { inner_->Flush(); }
  size_t Poll(std::span<Completion> out, std::chrono::microseconds wait) override { return inner_->Poll(out, wait); }
  int descriptor() override { return inner_->descriptor(); }
  void Disconnect() override { inner_->Disconnect(); }

 private:
  Result<Region> Noted(Result<Region> region) const {
    if (region && memory_) Watched().Add(region->bytes);
    return region;
  }
  std::unique_ptr<Endpoint> inner_;
  const bool memory_;
};

Result<std::unique_ptr<Endpoint>> Wrapped(Result<std::unique_ptr<Endpoint>> made, bool memory) {
  if (!made) return made;
  return std::make_unique<WatchedEndpoint>(std::move(*made), memory);
}

struct Dialled final : Outgoing {
  Dialled(std::unique_ptr<Outgoing> o, bool m) : inner(std::move(o)), memory(m) {}
  Result<std::unique_ptr<Endpoint>> Finish() override { return Wrapped(inner->Finish(), memory); }
  std::unique_ptr<Outgoing> inner;
  const bool memory;
};

struct Came final : Incoming {
  Came(std::unique_ptr<Incoming> i, bool m) : inner(std::move(i)), memory(m) {}
  Bytes private_data() const override { return inner->private_data(); }
  std::string peer() const override { return inner->peer(); }
  Result<std::unique_ptr<Endpoint>> Accept(const EndpointOptions& options) override {
    return Wrapped(inner->Accept(options), memory);
  }
  void Reject(Bytes data) override { inner->Reject(data); }
  std::unique_ptr<Incoming> inner;
  const bool memory;
};

struct Listens final : Listener {
  Listens(std::unique_ptr<Listener> l, bool m) : inner(std::move(l)), memory(m) {}
  uint16_t port() const override { return inner->port(); }
  Result<std::unique_ptr<Incoming>> Wait(std::chrono::milliseconds wait) override {
    auto came = inner->Wait(wait);
    if (!came || !*came) return came;
    return std::make_unique<Came>(std::move(*came), memory);
  }
  int descriptor() const override { return inner->descriptor(); }
  std::unique_ptr<Listener> inner;
  const bool memory;
};

}  // namespace

WatchedMemory& Watched() {
  static WatchedMemory memory;
  return memory;
}

bool WatchedMemory::Has(uintptr_t at) const {
  for (size_t i = 0; i < count; ++i)
    if (at >= ranges[i].begin && at < ranges[i].end) return true;
  return false;
}

void WatchedMemory::Add(Bytes bytes) {
  if (bytes.size() < kWatchedSize) return;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  if (Has(begin)) return;
  ranges.at(count) = {begin, begin + bytes.size()};
  ++count;
}

void WatchedMemory::Posted(size_t size) {
  if (size < kWatchedSize || ++rdma != protect_after) return;
  touched = 0;
  EXPECT_TRUE(Protect(PROT_NONE));
}

void WatchedMemory::Stop() {
  (void)Protect(PROT_READ | PROT_WRITE);  // some may be gone with its connection
  count = 0;
}

bool WatchedMemory::Protect(int how) const {
  bool done = true;
  for (size_t i = 0; i < count; ++i) {
    const uintptr_t begin = (ranges[i].begin + kPage - 1) & ~(kPage - 1), end = ranges[i].end & ~(kPage - 1);
    done &= ::mprotect(reinterpret_cast<void*>(begin), end - begin, how) == 0;
  }
  return done;
}

std::unique_ptr<Outgoing> WatchedTransport::Dial(const HostPort& to, const EndpointOptions& options) {
  return std::make_unique<Dialled>(inner_.Dial(to, options), memory_);
}

Result<std::unique_ptr<Listener>> WatchedTransport::Listen(const HostPort& at) {
  auto listener = inner_.Listen(at);
  if (!listener) return tl::unexpected(listener.error());
  return std::make_unique<Listens>(std::move(*listener), memory_);
}

void WatchedTest::SetUp() {
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGSEGV, &action, &before_), 0);
  WatchedMemory& watched = Watched();
  watched.touched = watched.sent = watched.received = watched.rdma = watched.protect_after = 0;
}

void WatchedTest::TearDown() { ::sigaction(SIGSEGV, &before_, nullptr); }

}  // namespace stag::endpoint::test

// These stand for the C library's.
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t n = ::syscall(SYS_recvmsg, fd, message, flags);
  stag::endpoint::test::Watched().received += stag::endpoint::test::BytesWatched(*message, n);
  return n;
}
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t n = ::syscall(SYS_sendmsg, fd, message, flags);
  stag::endpoint::test::Watched().sent += stag::endpoint::test::BytesWatched(*message, n);
  return n;
}

#endif
