// SPDX-License-Identifier: GPL-2.0-or-later
//
// What endpoints report: a live connection's fabric events go into session/rpcrdma as those of a capture do, and come
// out as whole transactions; and nothing is allocated per message.
#include "protocol/nfs/walk.h"
#include "session/rpcrdma/session.h"
#include "tests/replay/endpoint/pair.h"
#include "tests/session/fabric/allocation_count.h"
#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/event_fields.h"
#include "tests/support/script.h"

namespace stag::endpoint::test {
namespace {

using fabric::Event;
using fabric::EventKind;
using stag::test::Join;
using stag::test::MessageBytes;
using stag::test::Opaque;
using stag::test::Words;

// Keeps what is said of every event.
struct Log : fabric::Sink {
  struct Entry {
    EventKind kind;
    fabric::ConnectionId connection;
    fabric::Side from;
    uint64_t frame, length;
    Buffer bytes;
    uint32_t handle;
    uint64_t offset;
    bool first, last;
  };
  void OnEvent(const Event& e) override {
    const stag::test::EventFields f = stag::test::FieldsOf(e);
    entries.push_back({e.kind(), e.connection->id, e.from, e.frame.number, f.length,
                       Buffer(f.bytes.begin(), f.bytes.end()), f.handle, f.offset, f.first, f.last});
    if (e.kind() == EventKind::kSetup) private_data.emplace_back(f.private_data.begin(), f.private_data.end());
    if (e.kind() == EventKind::kNak) nak = {f.nak.terminate_layer, f.nak.terminate_type, f.nak.terminate_code};
    if (e.kind() == EventKind::kClosed) close_reason = f.close_reason;
    if (next) next->OnEvent(e);
  }
  // The events of one connection, a letter each: lower case from side 1.
  std::string Kinds(fabric::ConnectionId connection) const {
    std::string text;
    for (const Entry& e : entries) {
      if (e.connection != connection) continue;
      const char letter = "UOCSWQRNG"[static_cast<size_t>(e.kind)];
      text += e.from == 0 ? letter : static_cast<char>(letter + 32);
    }
    return text;
  }
  std::vector<Entry> entries;
  std::vector<Buffer> private_data;
  std::array<unsigned, 3> nak{};
  fabric::CloseReason close_reason{};
  fabric::Sink* next = nullptr;
};

Ends Reported(EventLog* client, EventLog* server) {
  Ends ends;
  ends.client.events = client;
  ends.server.events = server;
  ends.client.private_data = Pattern(12, 1);
  ends.server.private_data = Pattern(12, 2);
  return ends;
}

TEST(Events, AreThoseOfACapture) {
  Log log;
  EventLog events(log);
  Ends ends = Reported(&events, nullptr);
  ends.client_kind.peer_to_peer = true;  // the indication is no operation
  Pair pair(ends);
  Region source = Registered(pair.client, Pattern(70'000), Access::kRemoteRead);
  Region target = Registered(pair.client, Buffer(100), Access::kRemoteWrite);
  Region local = Registered(pair.server, Buffer(70'000), Access::kLocal);
  ASSERT_TRUE(Send(pair.client, Pattern(40, 1)));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  ASSERT_TRUE(pair.server->Read(local.bytes, source.handle, source.offset, 1));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 1; }));
  ASSERT_TRUE(pair.server->Write(local.bytes.first(100), target.handle, target.offset, 2));
  ASSERT_TRUE(Send(pair.server, Pattern(50, 2), 3, source.handle));
  ASSERT_TRUE(pair.Drive([&] { return pair.client.messages.size() == 1; }));
  pair.client->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());

  // Set-up from both, opened; a Send; a Read in two responses; a Write; a Send; the end.
  ASSERT_EQ(log.Kinds(1), "UuoSqRRwsc");
  EXPECT_EQ(log.private_data, (std::vector<Buffer>{Pattern(12, 1), Pattern(12, 2)}));
  EXPECT_EQ(log.entries[3].bytes, Pattern(40, 1));
  EXPECT_EQ(log.entries[4].handle, source.handle);
  EXPECT_EQ(log.entries[4].offset, source.offset);
  EXPECT_EQ(log.entries[4].length, 70'000u);
  EXPECT_EQ(log.entries[5].handle, source.handle);
  EXPECT_EQ(log.entries[5].offset, source.offset);
  EXPECT_TRUE(log.entries[5].first);
  EXPECT_FALSE(log.entries[5].last);
  EXPECT_EQ(log.entries[6].offset, source.offset + log.entries[5].length);
  EXPECT_TRUE(log.entries[6].last);
  EXPECT_EQ(Join({log.entries[5].bytes, log.entries[6].bytes}), Pattern(70'000));
  EXPECT_EQ(log.entries[7].bytes, Content(target.bytes));
  EXPECT_EQ(log.entries[7].handle, target.handle);
  EXPECT_EQ(log.entries[8].bytes, Pattern(50, 2));
  EXPECT_EQ(log.close_reason, fabric::CloseReason::kDisconnect);
  for (size_t i = 0; i < log.entries.size(); ++i) EXPECT_EQ(log.entries[i].frame, i + 1);
  EXPECT_TRUE(pair.client->info().roles_known);
  EXPECT_EQ(pair.client->info().service_port, pair.client->info().endpoint[1].number);
}

// Both ends of a connection see the same; connections that share a log have one count of frames.
TEST(Events, AreNumberedByTheLog) {
  Log log, other;
  EventLog events(log), server_events(other);
  {
    Pair first(Reported(&events, &server_events));
    ASSERT_TRUE(Send(first.client, Pattern(40)));
    ASSERT_TRUE(first.Drive([&] { return first.server.messages.size() == 1; }));
    EXPECT_EQ(log.Kinds(1), "UuoS");
    EXPECT_EQ(other.Kinds(1), "UuoS");
  }
  EXPECT_EQ(log.Kinds(1), "UuoSC");  // it went without a word
  Pair second(Reported(&events, nullptr));
  EXPECT_EQ(log.Kinds(2), "Uuo");
  for (size_t i = 0; i < log.entries.size(); ++i) EXPECT_EQ(log.entries[i].frame, i + 1);
}

TEST(Events, ShowRefusals) {
  Log log;
  EventLog events(log);
  Pair pair(Reported(&events, nullptr));
  ASSERT_TRUE(pair.client->Write(Pattern(10), 0x1234, 77, 1));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(log.Kinds(1), "UuoWnc");
  EXPECT_EQ(log.nak, (std::array<unsigned, 3>{1, 1, 0}));
  EXPECT_EQ(log.entries[4].handle, 0x1234u);
  EXPECT_EQ(log.entries[4].offset, 77u);
  EXPECT_EQ(log.entries[4].length, 10u);
}

TEST(Events, ShowRejections) {
  Log log;
  EventLog events(log);
  auto listener = MakeSoftIwarp()->Listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  auto connected = std::async(std::launch::async, [&] {
    EndpointOptions options;
    options.events = &events;
    return MakeSoftIwarp()->Connect({"127.0.0.1", (*listener)->port()}, options).has_value();
  });
  auto incoming = (*listener)->Wait(kPatience);
  ASSERT_TRUE(incoming && *incoming);
  (*incoming)->Reject({});
  EXPECT_FALSE(connected.get());
  EXPECT_EQ(log.Kinds(1), "Uuc");
  EXPECT_EQ(log.close_reason, fabric::CloseReason::kRejected);
}

// An NFS READ and an NFS WRITE, as a client and a server do them, from the server's events. RFC 8166 section 3.4.
TEST(Events, GiveWholeTransactions) {
  session::Recorder recorder;
  session::Session session({}, {&recorder});
  Log log;
  log.next = &session;
  EventLog events(log);
  Pair pair(Reported(nullptr, &events));
  constexpr uint32_t kSize = 200'000;
  const Buffer data = Pattern(kSize);
  const auto segment = [](const Region& region) {
    return rpcrdma::Segment{region.handle, static_cast<uint32_t>(region.bytes.size()), region.offset};
  };
  const auto exchange = [&](const Buffer& call, const auto& move, const Buffer& reply) {
    pair.client.messages.clear();
    pair.server.messages.clear();
    Region from = Registered(pair.client, call, Access::kLocal), back = Registered(pair.server, reply, Access::kLocal);
    const Bytes call_piece(from.bytes), reply_piece(back.bytes);
    ASSERT_TRUE(pair.client->Send(std::span(&call_piece, 1), 0));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
    move();
    ASSERT_TRUE(pair.server->Send(std::span(&reply_piece, 1), 0));
    ASSERT_TRUE(pair.Drive([&] { return pair.client.messages.size() == 1; }));
  };

  // READ: fh, offset, count; the reply's data goes by Write.
  const Buffer read_args = Join({Opaque(Pattern(32, 5)), Words({0, 0, kSize})});
  Region target = Registered(pair.client, Buffer(kSize), Access::kRemoteWrite);
  Region local = Registered(pair.server, data, Access::kLocal);
  auto call = stag::test::MakeHeader(rpcrdma::kMsg, 1);
  stag::test::AddWriteChunk(call, {segment(target)});
  auto reply = stag::test::MakeHeader(rpcrdma::kMsg, 1);
  stag::test::AddWriteChunk(reply, {segment(target)});
  const Buffer read_results = Words({0, 0, kSize, 1, kSize});  // status, no attributes, count, eof, length of the data
  exchange(
      MessageBytes(call, stag::test::MakeCall(1, nfs::kNfsProgram, 3, 6, read_args)),
      [&] { ASSERT_TRUE(pair.server->Write(local.bytes, target.handle, target.offset, 1)); },
      MessageBytes(reply, stag::test::MakeReply(1, read_results)));

  // WRITE: fh, offset, count, stable, data, which the server reads.
  const Buffer write_head = Join({Opaque(Pattern(32, 5)), Words({0, 0, kSize, 0, kSize})});
  Region source = Registered(pair.client, data, Access::kRemoteRead);
  Region into = Registered(pair.server, Buffer(kSize), Access::kLocal);
  call = stag::test::MakeHeader(rpcrdma::kMsg, 2);
  const Buffer call_head = stag::test::MakeCall(2, nfs::kNfsProgram, 3, 7, write_head);
  stag::test::AddRead(call, static_cast<uint32_t>(call_head.size()), segment(source));
  const Buffer write_results =
      Words({0, 0, 0, kSize, 0, 7, 7});  // status, no attributes twice, count, committed, verifier
  exchange(
      MessageBytes(call, call_head),
      [&] {
        ASSERT_TRUE(pair.server->Read(into.bytes, source.handle, source.offset, 1));
        ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 1; }));
      },
      MessageBytes(stag::test::MakeHeader(rpcrdma::kMsg, 2), stag::test::MakeReply(2, write_results)));
  pair.client->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());
  session.Finish();

  ASSERT_EQ(recorder.ended.size(), 2u);
  for (const session::Ended& e : recorder.ended) {
    EXPECT_EQ(e.outcome, session::Outcome::kReplied) << e.xid;
    EXPECT_TRUE(e.call_complete && e.reply_complete && e.data_complete) << e.xid;
    EXPECT_EQ(e.data, data) << e.xid;
  }
  EXPECT_EQ(Content(target.bytes), data);
  EXPECT_EQ(Content(into.bytes), data);
  EXPECT_EQ(recorder.unresolved, 0);
}

// Once a connection runs, messages, Reads, Writes and registrations allocate nothing.
TEST(Events, NothingIsAllocatedPerMessage) {
  Ends ends;
  ends.client.crc = ends.server.crc = false;
  Pair pair(ends);
  Region offered = Registered(pair.server, Buffer(100'000), Access::kRemoteWrite);
  Region readable = Registered(pair.server, Buffer(100'000), Access::kRemoteRead);
  Region local = Registered(pair.client, Buffer(100'000), Access::kLocal);
  std::array<std::byte, 64> memory{};
  std::array<Completion, 16> out;
  const auto round = [&] {
    const Bytes piece = Bytes(local.bytes).first(4000);
    auto region = pair.client->Register(memory, Access::kRemoteRead);
    bool fine = region && pair.client->Send(std::span(&piece, 1), 1) &&
                pair.client->Write(local.bytes, offered.handle, offered.offset, 2) &&
                pair.client->Read(local.bytes, readable.handle, readable.offset, 3);
    size_t completed = 0, received = 0;
    while (fine && (completed < 3 || received < 1)) {
      completed += pair.client->Poll(out, {});
      const size_t n = pair.server->Poll(out, {});
      for (size_t i = 0; i < n; ++i) pair.server->Release(out[i]);
      received += n;
      fine = !pair.client.over();
    }
    if (region) pair.client->Deregister(*region);
    return fine;
  };
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(round());
  const size_t before = fabric::test::AllocationCount();
  bool fine = true;
  for (int i = 0; i < 200; ++i) fine = fine && round();
  const size_t after = fabric::test::AllocationCount();
  EXPECT_TRUE(fine);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace stag::endpoint::test
