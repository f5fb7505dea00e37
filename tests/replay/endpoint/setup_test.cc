// SPDX-License-Identifier: GPL-2.0-or-later
//
// How connections begin: the MPA set-up with peers of every kind, and with those that are none (RFC 5044 section 7.1,
// RFC 6581).
#include <algorithm>

#include "tests/replay/endpoint/raw_peer.h"

namespace stag::endpoint::test {
namespace {

using iwarp::EnhancedSetup;

Result<std::unique_ptr<Endpoint>> ConnectTo(uint16_t port, const EndpointOptions& options = {},
                                            const SoftIwarpOptions& kind = {}) {
  return MakeSoftIwarp(kind)->Connect({"127.0.0.1", port}, options);
}

MpaFrame Reply(uint8_t revision, std::optional<EnhancedSetup> enhanced = {}) {
  MpaFrame reply;
  reply.kind = MpaFrame::Kind::kReply;
  reply.revision = revision;
  reply.enhanced = enhanced;
  return reply;
}

// A raw listener that does something with each of the connections, while Stag connects.
template <typename Serve>
Result<std::unique_ptr<Endpoint>> ConnectToRaw(Serve serve, const EndpointOptions& options = {},
                                               const SoftIwarpOptions& kind = {}) {
  RawListener listener;
  auto served = std::async(std::launch::async, [&] { serve(listener); });
  auto endpoint = ConnectTo(listener.port(), options, kind);
  served.get();
  return endpoint;
}

TEST(Setup, TheRequestSaysWhatTheOptionsSay) {
  EndpointOptions options;
  options.private_data = Pattern(20);
  options.inbound_reads = 5;
  options.outbound_reads = 6;
  options.crc = true;
  std::optional<MpaFrame> request;
  Buffer private_data;
  auto endpoint = ConnectToRaw(
      [&](RawListener& listener) {
        RawPeer peer = listener.Accept();
        request = peer.ReadFrame();
        if (request) private_data.assign(request->private_data.begin(), request->private_data.end());
        peer.Write(FrameBytes(Reply(2, EnhancedSetup{.ird = 4, .ord = 5})));
      },
      options);
  EXPECT_TRUE(endpoint);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, MpaFrame::Kind::kRequest);
  EXPECT_EQ(request->revision, 2);
  EXPECT_TRUE(request->crc);
  EXPECT_FALSE(request->markers);
  EXPECT_EQ(request->enhanced, (EnhancedSetup{.ird = 5, .ord = 6}));
  EXPECT_EQ(private_data, Pattern(20));
}

TEST(Setup, WhatBothSaidCounts) {
  auto endpoint = ConnectToRaw([](RawListener& listener) {
    RawPeer peer = listener.Accept();
    EXPECT_TRUE(peer.ReadFrame());
    peer.Write(FrameBytes(Reply(2, EnhancedSetup{.ird = 3, .ord = iwarp::kReadsNotNegotiated})));
  });
  ASSERT_TRUE(endpoint);
  EXPECT_EQ((*endpoint)->outbound_reads(), 3);
  EXPECT_EQ((*endpoint)->inbound_reads(), 16);
}

// RFC 6581 section 10: a peer of revision 1 rejects, or hangs up; then it is asked as it likes it.
TEST(Setup, FallsBackToRevision1) {
  for (const bool rejects : {true, false}) {
    uint8_t second = 0;
    bool enhanced = true;
    auto endpoint = ConnectToRaw([&](RawListener& listener) {
      {
        RawPeer peer = listener.Accept();
        const auto request = peer.ReadFrame();
        EXPECT_TRUE(request && request->revision == 2);
        MpaFrame reject = Reply(1);
        reject.reject = true;
        if (rejects) peer.Write(FrameBytes(reject));
      }
      RawPeer peer = listener.Accept();
      const auto request = peer.ReadFrame();
      if (request) {
        second = request->revision;
        enhanced = request->enhanced.has_value();
      }
      peer.Write(FrameBytes(Reply(1)));
    });
    EXPECT_TRUE(endpoint);
    EXPECT_EQ(second, 1);
    EXPECT_FALSE(enhanced);
  }
}

TEST(Setup, AnswersRevision1WithRevision1) {
  auto listener = MakeSoftIwarp()->Listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  RawPeer raw = RawPeer::ConnectTo((*listener)->port());
  MpaFrame request;
  request.revision = 1;
  request.crc = true;
  raw.Write(FrameBytes(request));
  auto incoming = (*listener)->Wait(kPatience);
  ASSERT_TRUE(incoming && *incoming);
  EndpointOptions options;
  options.crc = false;
  ASSERT_TRUE((*incoming)->Accept(options));
  const auto reply = raw.ReadFrame();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->revision, 1);
  EXPECT_FALSE(reply->enhanced);
  EXPECT_TRUE(reply->crc);  // one of both asked
}

TEST(Setup, RejectsWithPrivateData) {
  auto listener = MakeSoftIwarp()->Listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  auto connected = std::async(std::launch::async, [&] { return ConnectTo((*listener)->port()); });
  auto incoming = (*listener)->Wait(kPatience);
  ASSERT_TRUE(incoming && *incoming);
  const Buffer why{std::byte{0xca}, std::byte{0xfe}};
  (*incoming)->Reject(why);
  const auto endpoint = connected.get();
  ASSERT_FALSE(endpoint);
  EXPECT_NE(endpoint.error().message.find("rejected"), std::string::npos) << endpoint.error().message;
  EXPECT_NE(endpoint.error().message.find("cafe"), std::string::npos) << endpoint.error().message;
  // And it did not ask again with revision 1.
  auto nobody = (*listener)->Wait(milliseconds(0));
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
}

TEST(Setup, NobodyListens) {
  uint16_t port = 0;
  {
    RawListener listener;
    port = listener.port();
  }
  const auto endpoint = ConnectTo(port);
  ASSERT_FALSE(endpoint);
  EXPECT_NE(endpoint.error().message.find("nothing listens"), std::string::npos) << endpoint.error().message;
}

TEST(Setup, NoAnswerInTime) {
  RawListener listener;  // the kernel connects; nobody says anything
  EndpointOptions options;
  options.connect_timeout = milliseconds(20);
  const auto endpoint = ConnectTo(listener.port(), options);
  ASSERT_FALSE(endpoint);
  EXPECT_NE(endpoint.error().message.find("did not answer"), std::string::npos) << endpoint.error().message;
}

TEST(Setup, NotIwarp) {
  const auto endpoint = ConnectToRaw([](RawListener& listener) {
    RawPeer peer = listener.Accept();
    const std::string text = "220 mail.example.org ESMTP ready\r\n";
    peer.Write(std::as_bytes(std::span(text)));
    (void)peer.AtEnd();
  });
  ASSERT_FALSE(endpoint);
  EXPECT_NE(endpoint.error().message.find("does not speak iWARP"), std::string::npos) << endpoint.error().message;
}

struct BadTerms {
  const char* name;
  bool peer_to_peer;
  EnhancedSetup said;
  unsigned code;
};

// RFC 6581 section 9: what cannot be agreed to is said with a Terminate of the LLP layer.
TEST(Setup, ObjectsToTerms) {
  for (const BadTerms& bad :
       {BadTerms{"more Reads than offered", false, {.ird = 1, .ord = 17}, 6},
        BadTerms{"no ready-to-receive indication", true, {.ird = 1, .ord = 1, .peer_to_peer = true}, 7}}) {
    SoftIwarpOptions kind;
    kind.peer_to_peer = bad.peer_to_peer;
    EndpointOptions options;
    options.crc = false;
    std::optional<iwarp::Terminate> terminate;
    const auto endpoint = ConnectToRaw(
        [&](RawListener& listener) {
          RawPeer peer = listener.Accept();
          EXPECT_TRUE(peer.ReadFrame());
          peer.Write(FrameBytes(Reply(2, bad.said)));
          terminate = peer.ReadTerminate(false);
        },
        options, kind);
    EXPECT_FALSE(endpoint) << bad.name;
    ASSERT_TRUE(terminate) << bad.name;
    EXPECT_EQ(terminate->layer, 2) << bad.name;
    EXPECT_EQ(terminate->type, 0) << bad.name;
    EXPECT_EQ(terminate->code, bad.code) << bad.name;
  }
}

// The initiator begins with the indication that the responder chose.
TEST(Setup, SendsTheReadyToReceiveIndication) {
  struct Choice {
    EnhancedSetup said;
    std::optional<iwarp::Opcode> opcode;
  };
  for (const Choice& choice :
       {Choice{{.ird = 1, .ord = 1, .peer_to_peer = true, .rtr_write = true}, iwarp::Opcode::kWrite},
        Choice{{.ird = 0, .ord = 1, .peer_to_peer = true, .rtr_read = true}, iwarp::Opcode::kReadRequest},
        Choice{{.ird = 1, .ord = 1, .peer_to_peer = true, .rtr_empty_fpdu = true}, std::nullopt}}) {
    RawListener listener;
    SoftIwarpOptions kind;
    kind.peer_to_peer = true;
    EndpointOptions options;
    options.crc = false;
    auto served = std::async(std::launch::async, [&] {
      RawPeer peer = listener.Accept();
      const auto request = peer.ReadFrame();
      EXPECT_TRUE(request && request->enhanced && request->enhanced->peer_to_peer);
      peer.Write(FrameBytes(Reply(2, choice.said)));
      return peer;
    });
    auto endpoint = ConnectTo(listener.port(), options, kind);
    RawPeer peer = served.get();
    ASSERT_TRUE(endpoint);
    (*endpoint)->Flush();
    if (!choice.opcode) {
      EXPECT_EQ(peer.Read(8), Buffer(8));  // length 0, padding, no CRC
      continue;
    }
    const auto segment = peer.ReadSegment(false);
    ASSERT_TRUE(segment);
    EXPECT_EQ(segment->header.opcode, *choice.opcode);
    EXPECT_TRUE(segment->header.last);
    iwarp::ReadRequest read;
    if (*choice.opcode == iwarp::Opcode::kReadRequest) {
      ASSERT_EQ(iwarp::DecodeReadRequest(segment->payload, segment->payload_length, read), ParseStatus::kOk);
      EXPECT_EQ(read.length, 0u);
    } else {
      EXPECT_EQ(segment->payload_length, 0u);
    }
  }
}

// The responder takes whatever of the indications it chose, or a zero-length Send, and may send from then on.
TEST(Setup, TakesTheReadyToReceiveIndication) {
  enum { kEmpty, kWrite, kRead, kSend };
  for (const int kind : {kEmpty, kWrite, kRead, kSend}) {
    auto listener = MakeSoftIwarp()->Listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener);
    RawPeer raw = RawPeer::ConnectTo((*listener)->port());
    MpaFrame request;
    request.revision = 2;
    request.enhanced = EnhancedSetup{.ird = 0,
                                     .ord = 0,
                                     .peer_to_peer = true,
                                     .rtr_empty_fpdu = kind == kEmpty || kind == kSend,
                                     .rtr_write = kind == kWrite,
                                     .rtr_read = kind == kRead};
    raw.Write(FrameBytes(request));
    auto incoming = (*listener)->Wait(kPatience);
    ASSERT_TRUE(incoming && *incoming);
    EndpointOptions options;
    options.crc = false;
    options.receives = 0;  // the indication needs none
    auto endpoint = (*incoming)->Accept(options);
    ASSERT_TRUE(endpoint);
    const auto reply = raw.ReadFrame();
    ASSERT_TRUE(reply && reply->enhanced);
    EXPECT_TRUE(reply->enhanced->peer_to_peer);
    EXPECT_EQ(reply->enhanced->rtr_empty_fpdu, kind == kEmpty || kind == kSend);
    EXPECT_EQ(reply->enhanced->rtr_write, kind == kWrite);
    EXPECT_EQ(reply->enhanced->rtr_read, kind == kRead);
    Conversation says({});
    if (kind == kEmpty) says.Fpdu(0, {});
    if (kind == kWrite) says.Tagged(0, iwarp::Opcode::kWrite, 1, 0, {});
    if (kind == kRead) says.ReadRequest(0, {1, 0, 0, 1, 0});
    if (kind == kSend) says.Send(0, {});
    raw.Write(says);
    Peer peer;
    peer.endpoint = std::move(*endpoint);
    ASSERT_TRUE(Send(peer, Pattern(8)));
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (peer.work.empty() && !peer.over() && std::chrono::steady_clock::now() < end) peer.Poll(milliseconds(10));
    EXPECT_EQ(peer.Count(Work::kSend), 1u) << kind << ": " << peer->trouble().text;
    EXPECT_TRUE(peer.messages.empty()) << kind;
  }
}

// Peers that send no request hold nobody up.
TEST(Setup, BadRequests) {
  SoftIwarpOptions kind;
  kind.close_timeout = milliseconds(50);
  auto listener = MakeSoftIwarp(kind)->Listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  std::vector<RawPeer> bad;
  const auto write = [&](const Buffer& bytes) {
    bad.push_back(RawPeer::ConnectTo((*listener)->port()));
    if (!bytes.empty()) bad.back().Write(bytes);
  };
  MpaFrame request;
  request.revision = 2;
  request.enhanced = EnhancedSetup{.ird = 1, .ord = 1};
  const Buffer good = FrameBytes(request);
  Buffer bytes = good;
  bytes[3] ^= std::byte{1};  // key
  write(bytes);
  bytes = good;
  StoreBe16(bytes.data() + 18, 513);  // PD_Length
  write(bytes);
  bytes = good;
  StoreBe16(bytes.data() + 18, 3);  // no room for IRD and ORD
  write(bytes);
  bytes = good;
  bytes[17] = std::byte{0};  // revision
  write(bytes);
  bytes = good;
  bytes[17] = std::byte{3};  // revision: rejected with our own
  write(bytes);
  MpaFrame reply = request;
  reply.kind = MpaFrame::Kind::kReply;
  write(FrameBytes(reply));
  write(Pattern(600));
  write({});                                       // slow loris
  write(Buffer(good.begin(), good.begin() + 10));  // and another
  const size_t rejected = 4;

  RawPeer nice = RawPeer::ConnectTo((*listener)->port());
  nice.Write(good);
  auto incoming = (*listener)->Wait(kPatience);
  ASSERT_TRUE(incoming && *incoming);
  ASSERT_TRUE((*incoming)->Accept({}));
  EXPECT_TRUE(nice.ReadFrame());
  auto nobody = (*listener)->Wait(milliseconds(200));
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
  for (size_t i = 0; i < bad.size(); ++i) {
    if (i == rejected) {
      const auto answer = bad[i].ReadFrame();
      ASSERT_TRUE(answer);
      EXPECT_TRUE(answer->reject);
      EXPECT_EQ(answer->revision, 2);
    }
    EXPECT_TRUE(bad[i].AtEnd()) << i;
  }
}

TEST(Setup, PrivateDataHasALimit) {
  EndpointOptions options;
  options.private_data = Pattern(509);  // 512 less IRD and ORD
  EXPECT_FALSE(ConnectTo(1, options));
  SoftIwarpOptions old;
  old.revision = 1;
  EXPECT_EQ(MakeSoftIwarp(old)->max_private_data(), 512u);
  EXPECT_EQ(MakeSoftIwarp()->max_private_data(), 508u);
}

TEST(Setup, UnknownHost) {
  const auto endpoint = MakeSoftIwarp()->Connect({"no-such-host.invalid", 20049}, {});
  ASSERT_FALSE(endpoint);
  EXPECT_NE(endpoint.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST(HostPort, Forms) {
  const auto is = [](std::string_view text, const char* host, uint16_t port) {
    const auto parsed = ParseHostPort(text);
    return parsed && parsed->host == host && parsed->port == port;
  };
  EXPECT_TRUE(is("nfs.example.org", "nfs.example.org", 20049));
  EXPECT_TRUE(is("10.0.0.1:1234", "10.0.0.1", 1234));
  EXPECT_TRUE(is("[2001:db8::1]:20050", "2001:db8::1", 20050));
  EXPECT_TRUE(is("[2001:db8::1]", "2001:db8::1", 20049));
  EXPECT_TRUE(is("2001:db8::1", "2001:db8::1", 20049));
  EXPECT_TRUE(is(":0", "", 0));
  for (const char* bad : {"host:", "host:x", "host:70000", "host:-1", "[::1", "[::1]x", "[::1]:"})
    EXPECT_FALSE(ParseHostPort(bad)) << bad;
}

}  // namespace
}  // namespace stag::endpoint::test
