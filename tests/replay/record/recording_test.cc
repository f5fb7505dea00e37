// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is recorded, read again by the pipeline of stag, gives the events that went in: those of real captures, of a
// live connection, and made ones.
#include "tests/replay/record/recording.h"

#include "tests/replay/endpoint/pair.h"
#include "tests/support/event_script.h"

namespace stag::record::test {
namespace {

using fabric::EventKind;
using fabric::FabricKind;
using stag::test::Buffer;
using stag::test::EventScript;

class RealCapture : public testing::TestWithParam<const char*> {};

TEST_P(RealCapture, ComesBack) {
  EventList original;
  Recording recording;
  Both both(original, *recording.recorder);
  (void)stag::test::Decode(stag::test::LoadFrames(std::string(STAG_SOURCE_DIR "/pcaps/real/") + GetParam()), {}, both);
  const EventList again = recording.ReadBack();
  EXPECT_EQ(Lines(again), Lines(original));
  EXPECT_GT(original.Count(EventKind::kSend), 0u);
  EXPECT_EQ(recording.stats.duplicates, 0u);
  EXPECT_EQ(recording.stats.bad_crc, 0u);
  EXPECT_GT(recording.stats.checked_crc, 0u);
  ASSERT_EQ(again.events.empty(), original.events.empty());
  EXPECT_EQ(again.events.back().connection.endpoint, original.events.back().connection.endpoint);
  EXPECT_EQ(again.events.back().connection.service_port, original.events.back().connection.service_port);
}

INSTANTIATE_TEST_SUITE_P(Real, RealCapture,
                         testing::Values("rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst", "rxe-rdma_error.pcap",
                                         "siw-rdma_error.pcap"));

endpoint::test::Ends Reported(endpoint::EventLog& log) {
  endpoint::test::Ends ends;
  ends.client.events = &log;
  ends.client.private_data = Pattern(12, 1);
  ends.server.private_data = Pattern(12, 2);
  return ends;
}

TEST(LiveConnection, ComesBack) {
  EventList original;
  Recording recording;
  Both both(original, *recording.recorder);
  endpoint::EventLog log(both);
  for (const char* host : {"127.0.0.1", "::1"}) {
    endpoint::test::Pair pair(Reported(log), host);
    endpoint::Region source = endpoint::test::Registered(pair.client, Pattern(300'000), endpoint::Access::kRemoteRead);
    endpoint::Region target = endpoint::test::Registered(pair.client, Buffer(200'000), endpoint::Access::kRemoteWrite);
    endpoint::Region local = endpoint::test::Registered(pair.server, Buffer(300'000), endpoint::Access::kLocal);
    const Bytes message = Bytes(source.bytes).first(4000);
    ASSERT_TRUE(pair.client->Send(std::span(&message, 1), 1, {}));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
    ASSERT_TRUE(pair.server->Read(local.bytes, source.handle, source.offset, 1));
    ASSERT_TRUE(pair.server->Read(local.bytes.first(7), source.handle, source.offset + 11, 2));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(endpoint::Work::kRead) == 2; }));
    ASSERT_TRUE(pair.server->Write(local.bytes.first(200'000), target.handle, target.offset, 3));
    ASSERT_TRUE(endpoint::test::Send(pair.server, Pattern(50, 2), 4, source.handle));
    ASSERT_TRUE(pair.Drive([&] { return pair.client.messages.size() == 1; }));
    pair.client->Disconnect();
    ASSERT_TRUE(pair.DriveToEnd());
  }
  const EventList again = recording.ReadBack();
  EXPECT_EQ(Lines(again), Lines(original));
  EXPECT_EQ(again.Count(EventKind::kClosed), 2u);
  EXPECT_EQ(recording.stats.bad_crc, 0u);
  EXPECT_GT(recording.stats.checked_crc, 0u);
  for (const auto& r : again.events) EXPECT_TRUE(r.connection.roles_known);
  EXPECT_EQ(again.events.back().connection.endpoint, original.events.back().connection.endpoint);
}

TEST(LiveConnection, ItsTerminateComesBack) {
  EventList original;
  Recording recording;
  Both both(original, *recording.recorder);
  endpoint::EventLog log(both);
  endpoint::test::Pair write(Reported(log)), read(Reported(log));
  ASSERT_TRUE(write.client->Write(Pattern(10), 0x1234, 77, 1));
  ASSERT_TRUE(write.DriveToEnd());
  endpoint::Region local = endpoint::test::Registered(read.client, Buffer(100), endpoint::Access::kLocal);
  ASSERT_TRUE(read.client->Read(local.bytes, 0x1234, 78, 1));
  ASSERT_TRUE(read.DriveToEnd());
  const EventList again = recording.ReadBack();
  EXPECT_EQ(Lines(again), Lines(original));
  ASSERT_EQ(again.Count(EventKind::kNak), 2u);
  EXPECT_EQ(again.Of(EventKind::kNak)[0]->event.nak().handle, 0x1234u);
  EXPECT_EQ(again.Of(EventKind::kNak)[1]->event.nak().offset, 78u);
  EXPECT_EQ(again.Of(EventKind::kNak)[1]->event.nak().length, 100u);
}

struct Made {
  FabricKind kind;
  stag::Endpoint client, server;
};
Address Bits(Address::Kind kind, uint8_t first, uint8_t last) {
  Address a;
  a.kind = kind;
  a.bytes[0] = std::byte{first};
  a.bytes[kind == Address::Kind::kLid ? 1 : 15] = std::byte{last};
  return a;
}

class MadeConnection : public testing::TestWithParam<Made> {};

// Each kind of event, on each fabric and with each kind of address.
TEST_P(MadeConnection, ComesBack) {
  EventList original;
  Recording recording;
  Both both(original, *recording.recorder);
  const bool iwarp = GetParam().kind == FabricKind::kIwarp;
  EventScript script(both, 1), refused(both, 2);
  for (EventScript* s : {&script, &refused}) {
    s->info().fabric = GetParam().kind;
    s->info().endpoint = {GetParam().client, GetParam().server};
    s->SayReads(0, 8, 16);
    s->SayReads(1, 3, 5);
  }
  script.OpenWith(Pattern(8, 1), Pattern(40, 2));
  script.SendBytes(0, Pattern(64));
  script.SendBytes(0, Pattern(4096), 77);
  script.SendBytes(1, Pattern(70'001));
  script.ReadRequest(1, 5, 1u << 20, 10'000);
  script.ReadRequest(1, 5, 0, 0);
  script.ReadRequest(1, 6, 99, 4097);
  script.SendBytes(0, {});
  script.ReadResponse(0, 5, 1u << 20, Pattern(10'000));
  if (!iwarp) script.ReadResponse(0, 5, 0, {});  // of iWARP, no event tells that
  script.ReadResponse(0, 6, 99, Pattern(4097));
  script.Write(1, 9, uint64_t{1} << 60, Pattern(8192));
  script.Write(1, 9, 0, Pattern(1));
  script.Write(1, 9, 50, {});
  script.SendTruncated(1, stag::test::MakeHeader(0, 3), Pattern(9000), 5001);
  script.SendTruncated(1, stag::test::MakeHeader(0, 4), Pattern(100), 0);
  script.SendBytes(0, Pattern(33));
  script.Close();
  refused.OpenWith({}, {});
  refused.SendBytes(0, Pattern(10));
  iwarp ? refused.Terminate(1, 1, 2, 5) : refused.Nak(1, fabric::NakKind::kRemoteOperation);
  refused.Close();
  const EventList again = recording.ReadBack();

  std::vector<std::string> expected;
  for (const std::string& line : Lines(original)) {
    expected.push_back(line);
    if (iwarp) continue;
    // CM messages that the script has no events for.
    if (line.find("setup 1") != std::string::npos)
      expected.push_back(line.substr(0, 13) + "setup 2 0  reads - - reason 0 ");
    if (line.find("closed") != std::string::npos) {
      expected.pop_back();
      expected.push_back(line.substr(0, 13) + "setup 4 0  reads - - reason 0 ");
      expected.push_back(line.substr(0, 13) + "setup 5 1  reads - - reason 0 ");
      expected.push_back(line);
    }
  }
  EXPECT_EQ(Lines(again), expected);
  EXPECT_EQ(recording.stats.bad_crc, 0u);
  EXPECT_GT(recording.stats.checked_crc, 0u);
  ASSERT_EQ(again.Count(EventKind::kNak), 1u);
  const fabric::Nak& nak = again.Of(EventKind::kNak)[0]->event.nak();
  EXPECT_GT(nak.refused.number, 0u);
  EXPECT_EQ(nak.refused.number, again.Of(EventKind::kSend, 2)[0]->event.frame.number);
  for (const stag::Endpoint& end : again.events.back().connection.endpoint) {
    EXPECT_NE(end.number, 0u);
    EXPECT_NE(end.address, Address{});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Made, MadeConnection,
    testing::Values(
        Made{FabricKind::kRoceV2, {link::Ipv4Address(10, 0, 0, 1), 0x11}, {link::Ipv4Address(10, 0, 0, 2), 0x12}},
        Made{FabricKind::kRoceV2,
             {Bits(Address::Kind::kIpv6, 0xfd, 1), 0x11},
             {Bits(Address::Kind::kIpv6, 0xfd, 2), 0x12}},
        Made{FabricKind::kRoceV2, {link::Ipv4Address(127, 0, 0, 1), 0x11}, {link::Ipv4Address(127, 0, 0, 1), 0x12}},
        Made{FabricKind::kInfiniBand, {Bits(Address::Kind::kGid, 0xfe, 1), 0}, {Bits(Address::Kind::kLid, 0, 2), 0}},
        Made{FabricKind::kInfiniBand, {}, {}},
        Made{FabricKind::kIwarp, {link::Ipv4Address(10, 0, 0, 1), 4000}, {link::Ipv4Address(10, 0, 0, 2), 20049}},
        Made{FabricKind::kIwarp, {}, {}}));

// A responder does things in their order: what is sent behind an RDMA Read is not acknowledged before the response,
// however late that comes, and what is sent before it is.
TEST(FrameRecorder, SendsBehindAReadAreAcknowledgedAfterIt) {
  Recording recording;
  EventScript script(*recording.recorder, 1);
  script.info().fabric = FabricKind::kRoceV2;
  script.SayReads(0, 8, 16);
  script.SayReads(1, 3, 5);
  script.Open();
  script.SendBytes(1, Pattern(40, 1));
  script.ReadRequest(1, 5, 0, 10'000);
  for (uint32_t i = 0; i < 4; ++i) {
    script.Write(1, 9, 0, Pattern(2'000'000));
    script.SendBytes(1, Pattern(50, i));
    script.SendBytes(0, Pattern(60, i));
  }
  script.ReadResponse(0, 5, 0, Pattern(10'000));
  script.SendBytes(0, Pattern(70));
  script.Close();
  const EventList again = recording.ReadBack();
  EXPECT_EQ(again.Count(EventKind::kGap), 0u);
  EXPECT_EQ(again.Count(EventKind::kSend), 10u);
  const auto responses = again.Of(EventKind::kReadResponse);
  std::vector<std::byte> bytes;
  for (const auto* response : responses) bytes.insert(bytes.end(), response->bytes.begin(), response->bytes.end());
  EXPECT_EQ(bytes, Pattern(10'000));
  // In the end all are acknowledged, by the other side.
  EXPECT_EQ(again.events.back().connection.sends_received, (std::array<uint64_t, 2>{5, 5}));
}

// A connection joined in the middle, one that is refused, and one that is still open at the end.
TEST(FrameRecorder, OtherBeginningsAndEnds) {
  for (const FabricKind kind : {FabricKind::kRoceV2, FabricKind::kIwarp}) {
    EventList original;
    Recording recording;
    Both both(original, *recording.recorder);
    EventScript midstream(both, 1), rejected(both, 2);
    midstream.info().fabric = rejected.info().fabric = kind;
    midstream.OpenMidstream();
    for (uint32_t i = 0; i < 4; ++i) {
      midstream.SendBytes(0, stag::test::MessageBytes(stag::test::MakeHeader(0, i), Pattern(40)));
      midstream.SendBytes(1, stag::test::MessageBytes(stag::test::MakeHeader(0, i), Pattern(40)));
    }
    rejected.info().roles_known = true;
    fabric::Event event;
    event.connection = &rejected.info();
    event.now.time_ns = 1'000'000;
    fabric::Setup setup;
    event.what = setup;
    both.OnEvent(event);
    setup.message = fabric::SetupMessage::kReject;
    event.from = 1;
    setup.reject_reason = kind == FabricKind::kIwarp ? 0 : 8;
    const Buffer why = Pattern(5);
    setup.private_data = why;
    event.what = setup;
    both.OnEvent(event);
    event.what = fabric::Closed{fabric::CloseReason::kRejected};
    both.OnEvent(event);
    const EventList again = recording.ReadBack();
    EXPECT_EQ(again.Count(EventKind::kSend), 8u);
    ASSERT_EQ(again.Count(EventKind::kSetup), 2u);
    EXPECT_EQ(again.Of(EventKind::kSetup)[1]->event.setup().message, fabric::SetupMessage::kReject);
    EXPECT_EQ(again.Of(EventKind::kSetup)[1]->event.setup().reject_reason, setup.reject_reason);
    EXPECT_EQ(Hex(again.Of(EventKind::kSetup)[1]->private_data).substr(0, 10), Hex(why));
    ASSERT_EQ(again.Count(EventKind::kClosed), 2u);
    EXPECT_EQ(again.Of(EventKind::kClosed)[0]->event.closed().reason, fabric::CloseReason::kRejected);
    EXPECT_EQ(again.Of(EventKind::kClosed)[1]->event.closed().reason, fabric::CloseReason::kEndOfCapture);
  }
}

}  // namespace
}  // namespace stag::record::test
