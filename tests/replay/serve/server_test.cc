// SPDX-License-Identifier: GPL-2.0-or-later
//
// A Server and a Requester over loopback: files come back byte for byte whichever way they went; the conformance
// engine, on the server's side, finds nothing; and what is recorded there, read again, gives the same transactions.
#include "replay/serve/server.h"

#include "replay/rpcrdma/echo_program.h"
#include "tests/replay/serve/nfs_client.h"
#include "tests/replay/serve/running.h"

namespace stag::serve {
namespace {

using namespace test;

TEST(Server, FilesAndDirectories) {
  MemoryFs fs(64 << 20);
  const auto service = MakeNfsMemoryService(fs);
  NfsClient direct(*service);
  const Buffer root = direct.root;
  std::vector<std::pair<uint32_t, Buffer>> files;
  for (const uint32_t size : {0u, 1u, 3u, 4u, 4095u, 4096u, 4097u, 1u << 20})
    files.emplace_back(size, direct.Make(kCreate, root, std::to_string(size)));
  Running running(*service);
  {
    Client client(running);
    for (const auto& [size, file] : files) {
      const Buffer data = Pattern(size, size);
      const Buffer write = MakeCall(0, kNfs3, 3, kWrite, WriteArguments(file, 0, data));
      Buffer result = client.Ask(
          {.message = write, .item_offset = size > 0 ? write.size() - RoundUp4(size) : 0, .item_length = size});
      EXPECT_EQ(LoadBe32(result.data()), 0u) << size;
      const Buffer read = MakeCall(0, kNfs3, 3, kRead, ReadArguments(file, 0, 1 << 20));
      const uint32_t offered[] = {1 << 20};
      result = client.Ask({.message = read, .write_chunks = offered});
      EXPECT_EQ(LoadBe32(result.data()), 0u) << size;
      ASSERT_EQ(client.chunks.size(), 1u);
      EXPECT_EQ(client.chunks[0], data) << size;
    }
    const Buffer list = MakeCall(0, kNfs3, 3, kReaddirplus, Join({root, Words({0, 0, 0, 0, 32768, 32768})}));
    Buffer result = client.Ask({.message = list, .reply_chunk = 33'000});
    Cursor in(result);
    EXPECT_EQ(in.U32(), 0u);
    GetPostAttributes(in);
    in.U64();
    size_t entries = 0;
    for (; in.U32() == 1; ++entries) {
      in.U64();
      const std::string name = GetName(in);
      in.U64();
      const auto attributes = GetPostAttributes(in);
      in.U32();
      GetBytes(in);
      ASSERT_TRUE(attributes);
      if (name[0] != '.') {
        EXPECT_EQ(attributes->size, std::stoull(name));
      }
    }
    EXPECT_EQ(entries, files.size() + 2);
    EXPECT_EQ(in.U32(), 1u);
    EXPECT_TRUE(in.ok() && in.remaining() == 0);
    client.requester->endpoint().Disconnect();
    while (client.requester->open()) client.requester->Poll(std::chrono::milliseconds(10));
  }
  running.Stop();
  const ServerReport& report = running.report();
  EXPECT_EQ(report.connections, 1u);
  EXPECT_EQ(report.stats.calls, 17u);
  EXPECT_EQ(report.stats.replies, 17u);
  EXPECT_EQ(service->counts().at({kNfs3, 3, kRead}).calls, 8u);
}

TEST(Server, EchoInlineAndByReplyChunk) {
  const auto service = MakeEchoService();
  Running running(*service, {.responder = {.delay = std::chrono::milliseconds(3)}});
  Client client(running);
  for (const uint32_t size : {0u, 5u, 3000u, 100'001u}) {
    const Buffer whole = Opaque(Pattern(size));
    const Buffer call = MakeCall(0, rpcrdma::kEchoProgram, 1, 1, whole);
    EXPECT_EQ(client.Ask({.message = call, .reply_chunk = size < 3500 ? 0 : 200'000u}), whole);
  }
}

TEST(Server, ManyConnectionsAndTheirLimit) {
  const auto service = MakeNullService();
  Running running(*service, {.responder = {}, .max_connections = 8});
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(running));
    EXPECT_FALSE(running.Connect({}));
    const Buffer call = MakeCall(0, kNfs3, 3, 0);
    for (int round = 0; round < 20; ++round)
      for (const auto& client : clients) EXPECT_TRUE(client->Ask({.message = call}).empty());
  }
  running.Stop();
  EXPECT_EQ(running.report().connections, 8u);
  EXPECT_EQ(running.report().rejected, 1u);
  EXPECT_EQ(running.report().stats.replies, 160u);
}

TEST(Server, Once) {
  const auto service = MakeNullService();
  Running running(*service, {.responder = {}, .once = true});
  {
    Client client(running);
    const Buffer call = MakeCall(0, kNfs3, 3, 0);
    EXPECT_TRUE(client.Ask({.message = call}).empty());
    client.requester->endpoint().Disconnect();
    while (client.requester->open()) client.requester->Poll(std::chrono::milliseconds(10));
  }
  running.Join();
  EXPECT_EQ(running.report().ended, 1u);
}

}  // namespace
}  // namespace stag::serve
