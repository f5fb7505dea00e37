// SPDX-License-Identifier: GPL-2.0-or-later
//
// MOUNT and the portmapper over TCP, answered by programs of ours and by peers that make no sense.
#include "replay/nfs_client/tcp_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "replay/rpcrdma/tcp_rpc.h"
#include "replay/rpcrdma/xdr.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/support/messages.h"

namespace stag::nfs_client {
namespace {

using namespace stag::test;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{120'000};

// A service on a TCP port, in a thread of its own.
class OnTcp {
 public:
  explicit OnTcp(rpcrdma::Service& service) : tcp_(std::move(*rpcrdma::TcpRpc::Listen({"127.0.0.1", 0}, service))) {
    thread_ = std::thread([this] {
      while (!stop_) {
        tcp_->Poll();
        std::vector<pollfd> all;
        tcp_->AddTo(all);
        ::poll(all.data(), all.size(), 10);
      }
    });
  }
  ~OnTcp() {
    stop_ = true;
    thread_.join();
  }
  uint16_t port() const { return tcp_->port(); }

 private:
  std::unique_ptr<rpcrdma::TcpRpc> tcp_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Answers every Call with these results.
class Fixed : public rpcrdma::Service {
 public:
  explicit Fixed(Buffer results, uint32_t accept_stat = 0) : results_(std::move(results)), accept_stat_(accept_stat) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    last.assign(call.begin(), call.end());
    reply.message = MakeReply(LoadBe32(call.data()), results_, accept_stat_);
  }
  Buffer last;

 private:
  const Buffer results_;
  const uint32_t accept_stat_;
};

std::string MountError(rpcrdma::Service& service, const std::string& path = "/x") {
  OnTcp server(service);
  const auto mounted = Mount("127.0.0.1", server.port(), path, {}, kPatience);
  return mounted ? "mounted" : mounted.error().message;
}

TEST(Mount, TheRootAndNoSuchDirectory) {
  serve::MemoryFs fs(1 << 20);
  const auto service = serve::MakeMountService(fs);
  OnTcp server(*service);
  const auto mounted = Mount("127.0.0.1", server.port(), "/", {}, kPatience);
  ASSERT_TRUE(mounted) << mounted.error().message;
  serve::MemoryFs::Node* node = nullptr;
  EXPECT_EQ(serve::Resolve(fs, *mounted, node), serve::NfsStatus::kOk);
  EXPECT_EQ(node, &fs.root());
  EXPECT_EQ(MountError(*service, "/none"), "127.0.0.1 has no directory /none (MNT3ERR_NOENT)");
}

TEST(Mount, Refusals) {
  Fixed access(Words({13}));
  EXPECT_NE(MountError(access).find("127.0.0.1 does not export /x to this host (MNT3ERR_ACCES)"), std::string::npos);
  Fixed other(Words({10004}));
  EXPECT_EQ(MountError(other), "127.0.0.1 refuses to mount /x: status 10004");
  Fixed unavailable({}, 1);
  EXPECT_EQ(MountError(unavailable), "MOUNT: PROG_UNAVAIL");
  for (const Buffer& nonsense : {Buffer{}, Words({0}), Words({0, 65}), Words({0, 0}), Words({0, 8, 1})}) {
    Fixed service(nonsense);
    EXPECT_EQ(MountError(service), "the answer of MOUNT cannot be read");
  }
}

TEST(Mount, ThePortmapperIsAsked) {
  serve::MemoryFs fs(1 << 20);
  const auto service = serve::MakeMountService(fs);
  OnTcp server(*service);
  Fixed portmap(Words({server.port()}));
  {
    OnTcp mapper(portmap);
    EXPECT_TRUE(Mount("127.0.0.1", {}, "/", {}, kPatience, mapper.port()));
  }
  // PMAPPROC_GETPORT of MOUNT, version 3, TCP (RFC 1833 section 3.2).
  const rpc::CallHeader header = rpc::DecodeCall(portmap.last, portmap.last.size());
  EXPECT_EQ(header.program, 100000u);
  EXPECT_EQ(header.version, 2u);
  EXPECT_EQ(header.procedure, 3u);
  const Buffer arguments(portmap.last.begin() + static_cast<std::ptrdiff_t>(header.length), portmap.last.end());
  EXPECT_EQ(arguments, Words({100005, 3, 6, 0}));

  Fixed none(Words({0}));
  OnTcp mapper(none);
  const auto mounted = Mount("127.0.0.1", {}, "/", {}, kPatience, mapper.port());
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().message, "127.0.0.1 has no MOUNT version 3 on TCP; give --mount-port or --handle");
}

TEST(Mount, NobodyThere) {
  const auto refused = Mount("127.0.0.1", 1, "/", {}, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "MOUNT: TCP port 1 of 127.0.0.1: Connection refused");
}

class Mute : public rpcrdma::Service {
 public:
  void OnCall(Bytes, rpcrdma::ServiceReply&) override {}
};

TEST(Mount, NoAnswer) {
  Mute service;
  OnTcp server(service);
  const auto mounted = Mount("127.0.0.1", server.port(), "/", {}, milliseconds(200));
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().message,
            "MOUNT: no answer from TCP port " + std::to_string(server.port()) + " of 127.0.0.1");
}

}  // namespace
}  // namespace stag::nfs_client
