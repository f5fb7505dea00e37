// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the processor does with the payload of READ and WRITE: `stag generate` and `stag serve --mode nfs-memory` as
// they are, with 1 MiB each. Over verbs, on a device that moves no bytes itself: which pages of payload are touched at
// all, by their protection. Over software iWARP: which bytes the kernel takes from and brings to the payload's own
// memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "replay/generate/generator.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/replay/endpoint/fabric.h"
#include "tests/replay/serve/server_thread.h"

#ifndef STAG_SANITIZED

namespace {

constexpr uintptr_t kPage = 4096;

// mprotect(2) of the pages from `begin` on.
int Protect(uintptr_t begin, size_t size, int how) { return ::mprotect(reinterpret_cast<void*>(begin), size, how); }

// Memory that payload lies in: all that both ends register in large pieces.
struct Watch {
  struct Range {
    uintptr_t begin = 0, end = 0;
  };
  std::array<Range, 256> ranges;
  std::atomic<size_t> count{0};
  std::atomic<uint64_t> touched{0};                 // pages
  std::atomic<uint64_t> sent{0}, received{0};       // bytes that the kernel took and brought, in this memory
  std::atomic<uint64_t> rdma{0}, protect_after{0};  // large RDMA operations that were posted

  bool Has(uintptr_t at) const {
    for (size_t i = 0; i < count; ++i)
      if (at >= ranges[i].begin && at < ranges[i].end) return true;
    return false;
  }
  void Add(stag::MutableBytes bytes) {
    if (bytes.size() < (1u << 20)) return;
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    if (Has(begin)) return;
    ranges.at(count) = {begin, begin + bytes.size()};
    ++count;
  }
  void Posted(size_t size) {
    if (size < (1u << 20) || ++rdma != protect_after) return;
    touched = 0;
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(Protect(ranges[i].begin, ranges[i].end - ranges[i].begin, PROT_NONE), 0);
  }
  void Stop() {
    for (size_t i = 0; i < count; ++i)
      (void)Protect(ranges[i].begin, ranges[i].end - ranges[i].begin, PROT_READ | PROT_WRITE);
    count = 0;
  }
};
Watch watch;

void OnFault(int, siginfo_t* info, void*) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr) & ~(kPage - 1);
  if (!watch.Has(at)) ::abort();
  ++watch.touched;
  Protect(at, kPage, PROT_READ | PROT_WRITE);
}

uint64_t Watched(const msghdr& message, ssize_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < message.msg_iovlen && n > 0; ++i) {
    const size_t part = std::min(message.msg_iov[i].iov_len, static_cast<size_t>(n));
    if (watch.Has(reinterpret_cast<uintptr_t>(message.msg_iov[i].iov_base))) sum += part;
    n -= static_cast<ssize_t>(part);
  }
  return sum;
}

}  // namespace

// These stand for the C library's.
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t n = ::syscall(SYS_recvmsg, fd, message, flags);
  watch.received += Watched(*message, n);
  return n;
}
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t n = ::syscall(SYS_sendmsg, fd, message, flags);
  watch.sent += Watched(*message, n);
  return n;
}

namespace stag::generate {
namespace {

constexpr uint32_t kSize = 1 << 20, kDepth = 4, kFile = 8 * kSize;
constexpr uint64_t kCalls = 64;

// An endpoint as it is, and what is registered and posted with it.
class WatchedEndpoint final : public endpoint::Endpoint {
 public:
  explicit WatchedEndpoint(std::unique_ptr<endpoint::Endpoint> inner) : inner_(std::move(inner)) {
    info_ = inner_->info();
    const Bytes theirs = inner_->peer_private_data();
    peer_private_data_.assign(theirs.begin(), theirs.end());
    inbound_reads_ = inner_->inbound_reads();
    outbound_reads_ = inner_->outbound_reads();
  }
  endpoint::State state() const override { return inner_->state(); }
  bool takes_work() const override { return inner_->takes_work(); }
  const endpoint::Trouble& trouble() const override { return inner_->trouble(); }
  bool can_invalidate() const override { return inner_->can_invalidate(); }
  bool reads_are_private() const override { return inner_->reads_are_private(); }
  Result<endpoint::Region> Register(size_t size, endpoint::Access access) override {
    return Watched(inner_->Register(size, access));
  }
  Result<endpoint::Region> Register(MutableBytes memory, endpoint::Access access) override {
    return Watched(inner_->Register(memory, access));
  }
  void Deregister(endpoint::Region& region) override { inner_->Deregister(region); }
  Result<void> Renew(endpoint::Region& region) override { return inner_->Renew(region); }
  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override {
    return inner_->Send(pieces, id, invalidate);
  }
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override {
    watch.Posted(into.size());
    return inner_->Read(into, handle, offset, id);
  }
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override {
    watch.Posted(from.size());
    return inner_->Write(from, handle, offset, id);
  }
  size_t max_inline() const override { return inner_->max_inline(); }
  size_t max_pieces() const override { return inner_->max_pieces(); }
  Result<void> Receive(uint32_t count) override { return inner_->Receive(count); }
  void Release(const endpoint::Completion& completion) override { inner_->Release(completion); }
  void Flush() override { inner_->Flush(); }
  size_t Poll(std::span<endpoint::Completion> out, std::chrono::microseconds wait) override {
    return inner_->Poll(out, wait);
  }
  int descriptor() override { return inner_->descriptor(); }
  void Disconnect() override { inner_->Disconnect(); }

 private:
  static Result<endpoint::Region> Watched(Result<endpoint::Region> region) {
    if (region) watch.Add(region->bytes);
    return region;
  }
  std::unique_ptr<endpoint::Endpoint> inner_;
};

Result<std::unique_ptr<endpoint::Endpoint>> Watched(Result<std::unique_ptr<endpoint::Endpoint>> made) {
  if (!made) return made;
  return std::make_unique<WatchedEndpoint>(std::move(*made));
}

class WatchedTransport final : public endpoint::Transport {
 public:
  explicit WatchedTransport(endpoint::Transport& inner) : inner_(inner) {}
  std::string name() const override { return inner_.name(); }
  size_t max_private_data() const override { return inner_.max_private_data(); }
  bool remote_invalidation() const override { return inner_.remote_invalidation(); }
  std::unique_ptr<endpoint::Outgoing> Dial(const endpoint::HostPort& to,
                                           const endpoint::EndpointOptions& options) override {
    struct Dialled final : endpoint::Outgoing {
      explicit Dialled(std::unique_ptr<endpoint::Outgoing> o) : inner(std::move(o)) {}
      Result<std::unique_ptr<endpoint::Endpoint>> Finish() override { return Watched(inner->Finish()); }
      std::unique_ptr<endpoint::Outgoing> inner;
    };
    return std::make_unique<Dialled>(inner_.Dial(to, options));
  }
  Result<std::unique_ptr<endpoint::Listener>> Listen(const endpoint::HostPort& at) override {
    struct Came final : endpoint::Incoming {
      explicit Came(std::unique_ptr<endpoint::Incoming> i) : inner(std::move(i)) {}
      Bytes private_data() const override { return inner->private_data(); }
      std::string peer() const override { return inner->peer(); }
      Result<std::unique_ptr<endpoint::Endpoint>> Accept(const endpoint::EndpointOptions& options) override {
        return Watched(inner->Accept(options));
      }
      void Reject(Bytes data) override { inner->Reject(data); }
      std::unique_ptr<endpoint::Incoming> inner;
    };
    struct Listens final : endpoint::Listener {
      explicit Listens(std::unique_ptr<endpoint::Listener> l) : inner(std::move(l)) {}
      uint16_t port() const override { return inner->port(); }
      Result<std::unique_ptr<endpoint::Incoming>> Wait(std::chrono::milliseconds wait) override {
        auto came = inner->Wait(wait);
        if (!came || !*came) return came;
        return std::make_unique<Came>(std::move(*came));
      }
      int descriptor() const override { return inner->descriptor(); }
      std::unique_ptr<endpoint::Listener> inner;
    };
    auto listener = inner_.Listen(at);
    if (!listener) return tl::unexpected(listener.error());
    return std::make_unique<Listens>(std::move(*listener));
  }

 private:
  endpoint::Transport& inner_;
};

// A load of one operation; what it makes of its file first is WRITEs of the same size.
void Play(Operation operation, bool verify) {
  endpoint::test::FabricUnderTest fabric;
  WatchedTransport client(fabric.client()), server(fabric.server());
  serve::MemoryFs fs(uint64_t{64} << 20);
  const auto service = serve::MakeNfsMemoryService(fs);
  serve::ServerOptions options;
  options.crc = false;  // with it, software iWARP looks at a whole FPDU before it places a byte of it
  serve::test::ServerThread thread(server, *service, options);
  LoadOptions load;
  load.mode = LoadMode::kNfs3;
  load.to = {"127.0.0.1", thread.port()};
  load.calls = kCalls;
  load.depth = load.requester.credits = kDepth;
  load.file_size = kFile;
  load.jobs.sizes = {{kSize, kSize, 1}};
  load.jobs.sequential = true;
  load.verify = verify;
  load.crc = false;
  Weight(load.jobs.mix, operation) = 1;
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  load.directory.assign(handle.begin() + 4, handle.end());  // without its count
  Generator generator(client, load, nullptr);
  const auto ran = generator.Run();
  watch.Stop();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(generator.report().fine());
  LoadReport report = generator.report();
  EXPECT_EQ(report.of(operation).ok, kCalls);
  thread.Stop();
  EXPECT_EQ(thread.report().stats.copied_bytes, 0u);
}

class ZeroCopy : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(::sigaction(SIGSEGV, &action, &before_), 0);
    watch.touched = watch.sent = watch.received = watch.rdma = watch.protect_after = 0;
  }
  void TearDown() override { ::sigaction(SIGSEGV, &before_, nullptr); }
  // Pages of payload that the processor touches in the last three quarters of the load.
  static uint64_t Touched(Operation operation, bool verify = false) {
    watch.protect_after = kFile / kSize + kCalls / 4;
    Play(operation, verify);
    EXPECT_EQ(watch.rdma, kFile / kSize + kCalls);
    return watch.touched;
  }
  struct sigaction before_ {};
};
using ZeroCopyVerbs = ZeroCopy;
using ZeroCopyIwarp = ZeroCopy;

constexpr uint64_t kMeasured = kCalls * 3 / 4, kPages = kMeasured * kSize / kPage;

TEST_F(ZeroCopyVerbs, Read) { EXPECT_EQ(Touched(Operation::kRead), 0u); }
// A Call's header lies in front of its data.
TEST_F(ZeroCopyVerbs, Write) { EXPECT_LE(Touched(Operation::kWrite), kMeasured + kDepth); }
// The method sees what is touched: data that are verified where they landed, and made. (The file holds 8 MiB, the
// memory of Calls 4: a page counts once.)
TEST_F(ZeroCopyVerbs, Verify) {
  EXPECT_GE(Touched(Operation::kWrite, true), kDepth * kSize / kPage);
  EXPECT_LT(kDepth * kSize / kPage, kPages);
}

// Every byte of payload is taken by the kernel from where the sender has it, and brought to where the receiver wants
// it, but for what comes behind the header of a segment when nothing long was expected.
void Copies(Operation operation) {
  Play(operation, false);
  constexpr uint64_t kPayload = kFile + kCalls * kSize;
  EXPECT_EQ(watch.sent, kPayload);
  EXPECT_LE(watch.received, kPayload);
  EXPECT_GE(watch.received, kPayload - kPayload / 100);
}
TEST_F(ZeroCopyIwarp, Read) { Copies(Operation::kRead); }
TEST_F(ZeroCopyIwarp, Write) { Copies(Operation::kWrite); }

}  // namespace
}  // namespace stag::generate

#endif
