// SPDX-License-Identifier: GPL-2.0-or-later
//
// What our code costs where the device costs next to nothing: Requester, Responder and verbs endpoint on the device of
// tests/null_verbs, which is to be preloaded. One thread plays both sides in turns, so that nobody waits for anybody;
// the times are CPU times of each side, the device's included, so that other work of the machine does not count.
// null_bench [NAME [N]]: only the lines with that name (calls ...), and an N-th of the work, for a profile. See
// docs/line-rate.md.
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <string_view>

#include "replay/endpoint/transports.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/rpc_calls.h"
#include "replay/rpcrdma/requester.h"
#include "replay/rpcrdma/responder.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/bench/one_way.h"

namespace stag::bench {
namespace {

constexpr uint32_t kNfsProgram = 100003, kSmall = 128, kLarge = 1u << 20, kFile = 8 * kLarge;

// CPU time of the turns of one side.
class Turns {
 public:
  template <typename Work>
  auto Take(Work work) {
    const uint64_t begin = Now();
    const auto result = work();
    ns_ += Now() - begin;
    ++turns_;
    return result;
  }
  void Reset() { ns_ = turns_ = 0; }
  // Less what the clock costs.
  double Each(uint64_t count) const {
    static const double clock = [] {
      Turns none;
      for (int i = 0; i < 200'000; ++i) (void)none.Take([] { return 0; });
      return static_cast<double>(none.ns_) / static_cast<double>(none.turns_);
    }();
    return (static_cast<double>(ns_) - clock * static_cast<double>(turns_)) / static_cast<double>(count);
  }

 private:
  static uint64_t Now() {
    timespec now{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  }
  uint64_t ns_ = 0, turns_ = 0;
};

// Replies of kSmall bytes, whatever the Call.
class Small : public rpcrdma::Service {
 public:
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    reply.message.resize(kSmall);
    StoreBe32(reply.message.data(), LoadBe32(call.data()));
    StoreBe32(reply.message.data() + 4, 1);
  }
};

struct Answers : rpcrdma::AnswerSink {
  void OnAnswer(const rpcrdma::Answer& answer) override {
    Require(answer.kind == rpcrdma::AnswerKind::kReply, "a call failed");
    ++count;
  }
  uint64_t count = 0;
};

enum class Kind : uint8_t { kNull, kRead, kWrite };

void Calls(const char* name, Kind kind, uint32_t depth, uint64_t count) {
  auto transport = endpoint::OpenTransport("null0");
  Require(transport.has_value(), "null0: preload stag_null_verbs.so, and set SYSFS_PATH (tests/null_verbs/README.md)");
  rpcrdma::RequesterOptions asks;
  asks.credits = depth;
  rpcrdma::ResponderOptions answers;
  answers.credits = depth;
  endpoint::EndpointOptions ours, theirs;
  rpcrdma::Requester::Prepare(**transport, asks, ours);
  rpcrdma::Responder::Prepare(answers, theirs);
  EndpointPair pair(**transport, **transport, "127.0.0.1", ours, theirs);
  Answers sink;
  // READ and WRITE: of a file of `stag serve --mode nfs-memory`, from its begin to its end and again.
  Small small;
  serve::MemoryFs fs(uint64_t{64} << 20);
  const auto files = serve::MakeNfsMemoryService(fs);
  rpcrdma::Service& service = kind == Kind::kNull ? static_cast<rpcrdma::Service&>(small) : *files;
  rpcrdma::Requester requester(std::move(pair.client), asks, sink);
  rpcrdma::Responder responder(std::move(pair.server), answers, service);
  serve::MemoryFs::Node* file = nullptr;
  Require(fs.Make(fs.root(), "file", serve::FileType::kRegular, file) == serve::NfsStatus::kOk, "file");
  Require(fs.Write(*file, 0, std::vector<std::byte>(kFile)) == serve::NfsStatus::kOk, "contents");
  std::vector<std::byte> handle;
  Writer to(handle);
  serve::PutHandle(to, fs, *file);
  const Bytes named = Bytes(handle).subspan(4);  // without its count
  const nfs_client::RpcCalls rpc(kNfsProgram, 3, {});
  std::vector<std::byte> message;
  Writer arguments(message);
  constexpr uint32_t kOffered[] = {kLarge};
  uint64_t offset = 0;
  const auto send = [&] {
    rpcrdma::CallSpec call;
    message.clear();
    if (kind == Kind::kNull) {
      rpc.Begin(0, message);
      message.resize(kSmall);
    } else if (kind == Kind::kRead) {
      rpc.Begin(nfs_client::nfs3::kRead, message);
      nfs_client::nfs3::PutRead(arguments, named, offset, kLarge);
      call.write_chunks = kOffered;
    } else {
      rpc.Begin(nfs_client::nfs3::kWrite, message);
      nfs_client::nfs3::PutWrite(arguments, named, offset, kLarge, nfs_client::nfs3::kFileSync);
      call.item_offset = message.size();
      call.item_length = kLarge;
      call.item = requester.ItemRoom(kLarge).bytes;
    }
    call.message = message;
    offset = (offset + kLarge) % kFile;
    Require(requester.Send(call).has_value(), "send");
  };

  Turns client, server;
  const auto run = [&](uint64_t until) {
    while (sink.count < until) {
      (void)client.Take([&] {
        while (requester.CanSend() && requester.outstanding() < depth) send();
        requester.endpoint().Flush();
        return 0;
      });
      (void)server.Take([&] { return responder.Poll({}); });
      (void)client.Take([&] { return requester.Poll({}); });
    }
  };
  run(count / 20);  // memory is registered
  const uint64_t before = sink.count;
  client.Reset();
  server.Reset();
  run(before + count);
  const uint64_t done = sink.count - before;
  const double ours_ns = client.Each(done), theirs_ns = server.Each(done);
  fmt::print("  {:28} {:9.0f} ns client {:9.0f} ns server", name, ours_ns, theirs_ns);
  if (kind == Kind::kNull)
    fmt::print("  {:6.2f} and {:6.2f} million/s a thread\n", 1e3 / ours_ns, 1e3 / theirs_ns);
  else
    fmt::print("  {:6.1f} and {:6.1f} GB/s a thread\n", kLarge / ours_ns, kLarge / theirs_ns);
}

// The endpoint alone: works of the client's, lists of 32.
void Works(const char* name, endpoint::Work work, uint32_t size, uint64_t count) {
  constexpr uint32_t kList = 32;
  auto transport = endpoint::OpenTransport("null0");
  Require(transport.has_value(), "null0");
  endpoint::EndpointOptions options;
  options.receives = 2 * kList;
  EndpointPair pair(**transport, **transport, "127.0.0.1", options, options);
  auto local = pair.client->Register(size, endpoint::Access::kLocal);
  auto remote = pair.server->Register(
      size, work == endpoint::Work::kRead ? endpoint::Access::kRemoteRead : endpoint::Access::kRemoteWrite);
  Require(local && remote, "register");
  const Bytes bytes(local->bytes);
  std::array<endpoint::Completion, 64> out;
  Turns client, server;
  for (uint64_t done = 0; done < count;) {
    done += client.Take([&] {
      for (uint32_t i = 0; i < kList; ++i) {
        const bool ok = work == endpoint::Work::kSend ? pair.client->Send(std::span(&bytes, 1), i).has_value()
                        : work == endpoint::Work::kRead
                            ? pair.client->Read(local->bytes, remote->handle, remote->offset, i).has_value()
                            : pair.client->Write(bytes, remote->handle, remote->offset, i).has_value();
        Require(ok, "post");
      }
      size_t n = 0;
      while (n < kList) n += pair.client->Poll(out, {});
      return n;
    });
    if (work != endpoint::Work::kSend) continue;
    (void)server.Take([&] {
      const size_t n = pair.server->Poll(out, {});
      for (size_t i = 0; i < n; ++i) pair.server->Release(out[i]);
      pair.server->Flush();
      return n;
    });
  }
  fmt::print("  {:28} {:9.0f} ns client", name, client.Each(count));
  if (work == endpoint::Work::kSend)
    fmt::print(" {:9.0f} ns server\n", server.Each(count));
  else
    fmt::print("                      {:6.0f} GB/s a thread\n", size / client.Each(count));
}

void Run(std::string_view only, uint64_t part) {
  const char* const copies = std::getenv("STAG_NULL_COPIES");
  fmt::print("CPU time of each side for each; RDMA {} bytes\n",
             copies && std::string_view(copies) == "free" ? "moves no" : "copies");
  const auto wanted = [&](std::string_view name) { return only.empty() || only == name; };
  if (wanted("calls")) Calls("calls of 128 bytes, 32", Kind::kNull, 32, 2'000'000 / part);
  if (wanted("one")) Calls("calls of 128 bytes, 1", Kind::kNull, 1, 300'000 / part);
  if (wanted("sends")) Works("Sends of 128 bytes, 32", endpoint::Work::kSend, kSmall, 3'000'000 / part);
  if (wanted("writes")) Works("RDMA Writes of 1 MiB, 32", endpoint::Work::kWrite, kLarge, 300'000 / part);
  if (wanted("reads")) Works("RDMA Reads of 1 MiB, 32", endpoint::Work::kRead, kLarge, 300'000 / part);
  if (wanted("READ")) Calls("NFS READ of 1 MiB, 8", Kind::kRead, 8, 20'000 / part);
  if (wanted("WRITE")) Calls("NFS WRITE of 1 MiB, 8", Kind::kWrite, 8, 20'000 / part);
}

}  // namespace
}  // namespace stag::bench

int main(int argc, char** argv) {
  stag::bench::Run(argc > 1 ? argv[1] : "", argc > 2 ? std::max(std::strtoull(argv[2], nullptr, 10), 1ull) : 1);
  return 0;
}
