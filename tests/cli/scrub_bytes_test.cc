// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a Scrubber leaves of bytes that nobody can decode, of captures that are cut, and of packets that come again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "protocol/link/encode.h"
#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "tests/cli/scrubbed.h"
#include "tests/support/nfs_messages.h"

namespace stag::test {
namespace {

constexpr uint32_t kUnknownProgram = 0x20001234;
const Buffer kSecret = Pattern(2000, 77);

Buffer RpcRdma(const rpcrdma::Header& header, const Buffer& message = {}) {
  Buffer out;
  rpcrdma::Encode(header, out);
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

// Frame `index` of a pcap file.
std::string FrameOf(const std::string& file, size_t index) {
  size_t at = 24;
  for (;; --index) {
    uint32_t size = 0;
    std::memcpy(&size, file.data() + at + 8, 4);
    if (index == 0) return file.substr(at + 16, size);
    at += 16 + size;
  }
}

Buffer Text(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return Buffer(bytes.begin(), bytes.end());
}

// An NFSv3 READ by RDMA Write, with names and data in it.
void Session(IbWire& wire) {
  IbTalk talk(wire);
  talk.Connect();
  rpcrdma::Header lookup = Msg(1);
  talk.Send(0, RpcRdma(lookup, MakeCall(1, kNfs, 3, 3, Join({FileHandle(), Opaque(Pattern(20, 5))}))));
  talk.Send(1, RpcRdma(Msg(1), MakeReply(1, Join({Words({2}), Words({0})}))));
  rpcrdma::Header read = Msg(2);
  AddWriteChunk(read, {{0x77, 4000, 0x10000}});
  talk.Send(0, RpcRdma(read, ReadCall(2, 4000)));
  talk.Write(1, 0x77, 0x10000, Pattern(4000));
  rpcrdma::Header answer = Msg(2);
  AddWriteChunk(answer, {{0x77, 4000, 0x10000}});
  talk.Send(1, RpcRdma(answer, ReadReply(2, 4000, true)));
  talk.Disconnect();
}

TEST(ScrubBytes, KnownSecretsAreGone) {
  IbWire wire;
  Session(wire);
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, Pattern(4000)), 0u);                                // the file
  EXPECT_EQ(SecretsIn(out, Pattern(32)), 0u);                                  // its handle
  EXPECT_EQ(SecretsIn(out, Pattern(20, 5)), 0u);                               // its name
  EXPECT_EQ(out.find(std::string("\xc0\x00\x02\x01", 4)), std::string::npos);  // 192.0.2.1
}

TEST(ScrubBytes, ArgumentsOfUnknownProgramsAreZero) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, RpcRdma(Msg(1), MakeCall(1, kUnknownProgram, 1, 4, kSecret)));
  talk.Send(1, RpcRdma(Msg(1), MakeReply(1, kSecret)));
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, kSecret), 0u);
  EXPECT_NE(out.find(std::string("\x20\x00\x12\x34", 4)), std::string::npos);  // the program stays
}

TEST(ScrubBytes, WhatIsNotOfATransactionIsZero) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, kSecret);                                 // no RPC-over-RDMA message
  talk.Write(1, 0x99, 0x5000, kSecret);                  // memory that nobody offered
  talk.Send(1, RpcRdma(Msg(9), MakeReply(9, kSecret)));  // a Reply without a Call
  Buffer datagram;
  const link::Host from{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)};
  link::AppendUdpFrame(datagram, from, from, 4444, 5555, kSecret);
  wire.Add(datagram);
  Buffer segment;
  link::AppendTcpFrame(segment, from, from, {4444, 5555, 1, 1, link::kTcpAck}, kSecret);
  wire.Add(segment);
  Buffer unknown = Join({Buffer(12), Words({0x88b51234}), kSecret});
  wire.Add(unknown);
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, kSecret), 0u);
}

TEST(ScrubBytes, CutAtEveryByteNothingShows) {
  IbWire wire;
  Session(wire);
  size_t longest = 0;
  for (const WireFrame& frame : wire.frames()) longest = std::max(longest, frame.bytes.size());
  const Secrets file(Pattern(4000)), name(Pattern(20, 5));
  for (size_t snap = 0; snap < std::min<size_t>(longest, 340); ++snap) {
    const std::string out = Scrubbed(wire.frames(), LinkType::kEthernet, snap);
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(file.In(out), 0u) << snap;
    EXPECT_EQ(name.In(out), 0u) << snap;
  }
}

TEST(ScrubBytes, EveryCarrier) {
  for (IbWire::Kind kind : {IbWire::Kind::kRoceV2, IbWire::Kind::kRoceV2Ip6, IbWire::Kind::kRoceV1,
                            IbWire::Kind::kInfiniBand, IbWire::Kind::kInfiniBandGlobal}) {
    IbWire wire(kind);
    Session(wire);
    const std::string out = Scrubbed(wire.frames(), wire.link());
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(SecretsIn(out, Pattern(4000)), 0u);
    size_t index = 0;
    for (const WireFrame& frame : wire.frames()) {
      const std::string scrubbed = FrameOf(out, index++);
      ASSERT_EQ(scrubbed.size(), frame.bytes.size());
      const Frame as_frame{
          {1, 0}, wire.link(), std::as_bytes(std::span(scrubbed)), static_cast<uint32_t>(scrubbed.size())};
      EXPECT_EQ(ib::CheckIcrc(link::Decode(as_frame)), ib::IcrcStatus::kGood);
    }
  }
}

TEST(ScrubBytes, ARetransmissionBecomesTheSameBytes) {
  IbWire wire;
  Session(wire);
  std::vector<WireFrame> frames = wire.frames();
  // The first packet of the RDMA Write, again, before the rest and at the end.
  const size_t first = 7;
  frames.insert(frames.begin() + first + 2, frames[first]);
  frames.push_back(frames[first]);
  const std::string out = Scrubbed(frames);
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, Pattern(4000)), 0u);
  EXPECT_EQ(FrameOf(out, first), FrameOf(out, first + 2));
  EXPECT_EQ(FrameOf(out, first), FrameOf(out, frames.size() - 1));
}

// It still differs, in one byte of what stands for the data.
TEST(ScrubBytes, ARetransmissionWithOtherBytesStaysOne) {
  IbWire wire;
  Session(wire);
  std::vector<WireFrame> frames = wire.frames();
  const size_t first = 7;
  WireFrame again = frames[first];
  const Buffer other = Pattern(1000, 9);
  std::copy(other.begin(), other.end(), again.bytes.end() - 4 - 1000);
  frames.insert(frames.begin() + first + 2, again);
  const std::string out = Scrubbed(frames);
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, Pattern(4000)) + SecretsIn(out, other), 0u);
  const std::string one = FrameOf(out, first), two = FrameOf(out, first + 2);
  ASSERT_EQ(one.size(), two.size());
  size_t different = 0;
  for (size_t i = 0; i + 4 < one.size(); ++i) different += one[i] != two[i];
  EXPECT_EQ(different, 1u);
  EXPECT_NE(one[one.size() - 5], two[two.size() - 5]);
}

// Up to the word that is wrong it is scrubbed like any other: here the length of a name, which cannot be.
TEST(ScrubBytes, BehindWhatIsWrongAMessageIsZero) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  const size_t first = wire.frames().size();
  const Buffer call = MakeCall(1, kNfs, 3, 3, Join({FileHandle(), Words({5000}), kSecret}));
  talk.Send(0, RpcRdma(Msg(1), call));
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(SecretsIn(out, kSecret) + SecretsIn(out, Pattern(32)), 0u);
  constexpr size_t kHeaders = 14 + 20 + 8 + 12 + 28;
  const size_t secret = kHeaders + call.size() - kSecret.size();
  const std::string frame = FrameOf(out, first);
  EXPECT_EQ(frame.substr(secret - 4, 4), std::string("\0\0\x13\x88", 4));
  EXPECT_NE(frame.substr(secret - 4 - 32, 32), std::string(32, '\0'));  // a handle
  const size_t behind = frame.size() - 4 - secret;                      // the ICRC ends the packet
  EXPECT_EQ(frame.substr(secret, behind), std::string(behind, '\0'));
}

// What is held long enough is the same as in a file, what is not has no secret, either, and is checksummed as well.
TEST(ScrubBytes, LiveAsFromAFile) {
  const Secrets secrets(Pattern(4000));
  for (IbWire::Kind kind : {IbWire::Kind::kRoceV2, IbWire::Kind::kInfiniBandGlobal}) {
    IbWire wire(kind);
    Session(wire);
    std::vector<WireFrame> frames = wire.frames();
    const size_t first = 7;  // of the RDMA Write
    frames.insert(frames.begin() + first + 2, frames[first]);
    frames.push_back(frames[first]);
    const std::string file = Scrubbed(frames, wire.link());
    const std::vector<Buffer> held = ScrubbedLive(frames, {}, wire.link());
    ASSERT_EQ(held.size(), frames.size());
    for (size_t i = 0; i < held.size(); ++i) {
      const std::string expected = FrameOf(file, i);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(held[i].data()), held[i].size()), expected) << i;
    }
    for (const scrub::WindowSize size :
         {scrub::WindowSize{0, 1u << 20}, {INT64_MAX, 0}, {INT64_MAX, 1000}, {INT64_MAX, 3000}, {5000, 1u << 20}}) {
      const std::vector<Buffer> out = ScrubbedLive(frames, size, wire.link());
      ASSERT_EQ(out.size(), frames.size());
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i].size(), frames[i].bytes.size());
        EXPECT_EQ(secrets.In(std::string(reinterpret_cast<const char*>(out[i].data()), out[i].size())), 0u);
        const Frame as_frame{{1, 0}, wire.link(), out[i], static_cast<uint32_t>(out[i].size())};
        EXPECT_EQ(ib::CheckIcrc(link::Decode(as_frame)), ib::IcrcStatus::kGood) << i;
      }
    }
  }
}

// RPCSEC_GSS (RFC 2203 section 5): the credential, then the verifier, of 28 bytes as Kerberos has it.
Buffer GssCall(uint32_t xid, uint32_t procedure, uint32_t gss_procedure, uint32_t service, const Buffer& arguments) {
  return Join({Words({xid, 0, 2, kNfs, 3, procedure, 6}),
               Opaque(Join({Words({1, gss_procedure, 7, service}), Opaque(Pattern(16, 61))})), Words({6}),
               Opaque(Pattern(28, 62)), arguments});
}
Buffer GssReply(uint32_t xid, const Buffer& results) {
  return Join({Words({xid, 1, 0, 6}), Opaque(Pattern(28, 63)), Words({0}), results});
}
// rpc_gss_integ_data.
Buffer Integrity(const Buffer& body) { return Join({Opaque(Join({Words({7}), body})), Opaque(Pattern(28, 64))}); }

// The inline part of the Send that is frame `index`, without its RPC-over-RDMA header of 28 bytes.
std::string MessageOf(const std::string& file, size_t index) {
  constexpr size_t kHeaders = 14 + 20 + 8 + 12 + 28, kIcrc = 4;
  const std::string frame = FrameOf(file, index);
  return frame.substr(kHeaders, frame.size() - kHeaders - kIcrc);
}

TEST(ScrubBytes, Gss) {
  const auto lookup = Join({FileHandle(), Opaque(Text("salaries.xls"))});
  const Buffer result = Join({Words({0}), Opaque(Pattern(24, 65)), Words({0, 0})});
  struct Case {
    uint32_t service;
    Buffer arguments, results;
    bool readable;
  };
  for (const Case& c : {Case{1, lookup, result, true}, Case{2, Integrity(lookup), Integrity(result), true},
                        Case{3, Opaque(Pattern(80, 66)), Opaque(Pattern(60, 67)), false}}) {
    SCOPED_TRACE(c.service);
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    const size_t first = wire.frames().size();
    talk.Send(0, RpcRdma(Msg(1), GssCall(1, 3, 0, c.service, c.arguments)));
    talk.Send(1, RpcRdma(Msg(1), GssReply(1, c.results)));
    const std::string out = Scrubbed(wire.frames());
    ASSERT_FALSE(out.empty());
    for (uint32_t seed : {61u, 62u, 63u, 64u, 65u, 66u, 67u}) EXPECT_EQ(SecretsIn(out, Pattern(60, seed)), 0u) << seed;
    EXPECT_EQ(SecretsIn(out, Pattern(32)), 0u);
    EXPECT_EQ(out.find("salaries"), std::string::npos);
    // As long as before, and each value where it was, if it can be told.
    const Buffer call = GssCall(1, 3, 0, c.service, c.arguments);
    const std::string scrubbed = MessageOf(out, first);
    ASSERT_EQ(scrubbed.substr(0, 24), std::string(reinterpret_cast<const char*>(call.data()), 24));
    const rpc::CallHeader header = rpc::DecodeCall(std::as_bytes(std::span(scrubbed)), scrubbed.size());
    ASSERT_EQ(header.status, ParseStatus::kOk);
    EXPECT_EQ(header.gss_service, c.service);
    EXPECT_EQ(header.gss_sequence, 7u);
    const std::string arguments = scrubbed.substr(header.length);
    const size_t skipped = c.service == 2 ? 8 : 0;  // the length of the body, and the sequence number
    if (!c.readable) {
      EXPECT_EQ(arguments.substr(4, 80), std::string(80, '\0'));
      continue;
    }
    EXPECT_EQ(arguments.substr(skipped, 4), std::string("\0\0\0\x20", 4));  // of the handle
    EXPECT_NE(arguments.substr(skipped + 4, 32), std::string(32, '\0'));
    EXPECT_EQ(arguments.substr(skipped + 36, 4), std::string("\0\0\0\x0c", 4));
    const std::string name = arguments.substr(skipped + 40, 12);
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char ch) { return std::isalnum(ch); })) << name;
    if (c.service == 2) {
      EXPECT_EQ(arguments.substr(4, 4), std::string("\0\0\0\7", 4));
      EXPECT_EQ(arguments.substr(8 + 52, 4), std::string("\0\0\0\x1c", 4));  // of the checksum
      EXPECT_NE(arguments.substr(8 + 56, 28), std::string(28, '\0'));
    }
  }
}

TEST(ScrubBytes, GssTokens) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  const size_t first = wire.frames().size();
  talk.Send(0, RpcRdma(Msg(1), GssCall(1, 0, 1, 1, Opaque(Pattern(300, 71)))));
  talk.Send(
      1, RpcRdma(Msg(1), GssReply(1, Join({Opaque(Pattern(16, 72)), Words({0, 0, 128}), Opaque(Pattern(100, 73))}))));
  const std::string out = Scrubbed(wire.frames());
  for (uint32_t seed : {71u, 72u, 73u}) EXPECT_EQ(SecretsIn(out, Pattern(300, seed)), 0u) << seed;
  const std::string reply = MessageOf(out, first + 1).substr(4 * 4 + 32 + 4);
  EXPECT_EQ(reply.substr(0, 4), std::string("\0\0\0\x10", 4));
  EXPECT_EQ(reply.substr(20, 12), std::string("\0\0\0\0\0\0\0\0\0\0\0\x80", 12));
  EXPECT_EQ(reply.substr(32, 4), std::string("\0\0\0\x64", 4));
  EXPECT_NE(reply.substr(36, 16), std::string(16, '\0'));
}

// One end of a TCP connection, or of UDP.
struct PlainPeer {
  link::Host host;
  uint16_t port;
  uint32_t sequence;
};

Buffer Record(const Buffer& message) {
  return Join({Words({0x80000000u | static_cast<uint32_t>(message.size())}), message});
}

// Sends `bytes` in two segments.
void SendTcp(IbWire& wire, PlainPeer& from, PlainPeer& to, const Buffer& bytes) {
  const size_t half = bytes.size() / 2;
  for (const Bytes part : {Bytes(bytes).first(half), Bytes(bytes).subspan(half)}) {
    Buffer frame;
    link::AppendTcpFrame(frame, from.host, to.host, {from.port, to.port, from.sequence, to.sequence, link::kTcpAck},
                         part);
    from.sequence += static_cast<uint32_t>(part.size());
    wire.Add(frame);
  }
}

TEST(ScrubBytes, MountOverTcp) {
  IbWire wire;
  PlainPeer client{{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)}, 700, 1000};
  PlainPeer server{{{std::byte{4}}, link::Ipv4Address(192, 0, 2, 2)}, 20048, 5000};
  constexpr uint32_t kMount = 100005;
  SendTcp(wire, client, server, Record(MakeCall(5, kMount, 3, 1, Opaque(Text("/export/payroll")))));
  SendTcp(wire, server, client, Record(MakeReply(5, Join({Words({0}), Opaque(Pattern(32)), Words({1, 1})}))));
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out.find("export"), std::string::npos);
  EXPECT_EQ(out.find("payroll"), std::string::npos);
  EXPECT_EQ(SecretsIn(out, Pattern(32)), 0u);
  constexpr size_t kPayload = 14 + 20 + 20;
  const std::string call = FrameOf(out, 0).substr(kPayload) + FrameOf(out, 1).substr(kPayload);
  const size_t path = 4 + 40 + 4;
  Buffer original = Record(MakeCall(5, kMount, 3, 1, Opaque(Text("/export/payroll"))));
  EXPECT_EQ(call.substr(0, path), std::string(reinterpret_cast<const char*>(original.data()), path));
  EXPECT_EQ(call[path], '/');
  EXPECT_EQ(call[path + 7], '/');
  EXPECT_NE(call[path + 1], '\0');
}

TEST(ScrubBytes, RpcbindOverUdp) {
  IbWire wire;
  const link::Host client{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)};
  const link::Host server{{std::byte{4}}, link::Ipv4Address(192, 0, 2, 2)};
  const Buffer mapping =
      Join({Words({100003, 3}), Opaque(Text("rdma")), Opaque(Text("192.0.2.2.78.81")), Opaque(Text("superuser"))});
  Buffer call, reply;
  link::AppendUdpFrame(call, client, server, 700, 111, MakeCall(6, 100000, 4, 3, mapping));
  link::AppendUdpFrame(reply, server, client, 111, 700, MakeReply(6, Opaque(Text("192.0.2.2.78.81"))));
  wire.Add(call);
  wire.Add(reply);
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out.find("192.0.2.2"), std::string::npos);
  EXPECT_EQ(out.find("superuser"), std::string::npos);
  EXPECT_NE(out.find("rdma"), std::string::npos);
  // The same address in both, with its port.
  const size_t first = out.find(".78.81");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(out.find(out.substr(first - 9, 15), first), std::string::npos);
}

// A message whose word at `wrong` nobody understands: that stays, and all behind it becomes zeros.
void ExpectZerosBehind(IbWire& wire, size_t frame, const Buffer& message, size_t wrong, const char* what) {
  const std::string in(reinterpret_cast<const char*>(message.data()), message.size());
  const std::string original = [&] {
    const Buffer& bytes = wire.frames()[frame].bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  const size_t at = original.find(in);
  ASSERT_NE(at, std::string::npos) << what;
  const std::string out = FrameOf(Scrubbed(wire.frames()), frame);
  ASSERT_EQ(out.size(), original.size()) << what;
  EXPECT_EQ(out.substr(at + wrong, 4), in.substr(wrong, 4)) << what;
  EXPECT_EQ(out.substr(at + wrong + 4, in.size() - wrong - 4), std::string(in.size() - wrong - 4, '\0')) << what;
}

// RFC 5531 sections 8.2 and 9, RFC 2203 section 5.3, RFC 1833, draft-08 section 6.2 of RFC 5666's update.
TEST(ScrubBytes, NothingBehindAWrongWordStays) {
  const Buffer secret = Text("SECRETSECRETSECRETSECRET");
  const struct {
    const char* what;
    Buffer call, reply;  // the reply may be empty
    size_t wrong;        // in the last of them
  } cases[] = {
      {"RPC version 3", Join({Words({2, 0, 3}), secret}), {}, 8},
      {"no such type", Join({Words({2, 7}), secret}), {}, 4},
      {"no such type of a Reply", GetattrCall(2), Join({Words({2, 7}), secret}), 4},
      {"no such reply_stat", GetattrCall(2), Join({Words({2, 1, 9}), secret}), 8},
      {"no such reject_stat", GetattrCall(2), Join({Words({2, 1, 1, 9}), secret}), 12},
      {"RPCSEC_GSS version 9", Join({Words({2, 0, 2, kNfs, 3, 1, 6, 28, 9}), secret}), {}, 32},
      {"RPCSEC_GSS procedure 9", Join({Words({2, 0, 2, kNfs, 3, 1, 6, 32, 1, 9}), secret}), {}, 36},
  };
  for (const auto& one : cases) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.Send(0, RpcRdma(Msg(1), GetattrCall(1)));
    talk.Send(1, RpcRdma(Msg(1), GetattrReply(1)));
    talk.Send(0, RpcRdma(Msg(2), one.call));
    if (!one.reply.empty()) talk.Send(1, RpcRdma(Msg(2), one.reply));
    ExpectZerosBehind(wire, wire.frames().size() - 1, one.reply.empty() ? one.call : one.reply, one.wrong, one.what);
  }
}

TEST(ScrubBytes, OtherVersionsOfKnownProgramsAreNotKnown) {
  const Buffer secret = Text("SECRETSECRETSECRETSECRET");
  for (const auto& [program, version, procedure] :
       {std::array{100000u, 9u, 3u}, {100400u, 2u, 1u}, {100400u, 1u, 2u}}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.Send(0, RpcRdma(Msg(1), MakeCall(1, program, version, procedure, secret)));
    talk.Send(1, RpcRdma(Msg(1), MakeReply(1, secret)));
    EXPECT_EQ(Scrubbed(wire.frames()).find("SECRET"), std::string::npos) << program << " " << version;
  }
}

TEST(ScrubBytes, HeadersOfOtherVersionsAndLengthsAreNotKnown) {
  const Buffer secret = Text("SECRETSECRETSECR");
  const link::Host host{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)};
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, RpcRdma(Msg(1), GetattrCall(1)));
  Buffer& bth = wire.frames().back().bytes;
  constexpr size_t kBth = 14 + 20 + 8;
  bth[kBth + 1] |= std::byte{1};  // IBA 9.2.3: only transport version 0 is known
  std::copy_n(secret.begin(), 10, bth.begin() + kBth + 2);
  // A TCP segment whose maximum segment size (RFC 9293 section 3.2: 4 bytes) takes 18.
  Buffer segment;
  link::AppendTcpFrame(segment, host, host, {4444, 5555, 1, 1, link::kTcpAck}, Buffer(20));
  constexpr size_t kTcp = 14 + 20;
  segment[kTcp + 12] = std::byte{0xa0};
  segment[kTcp + 20] = std::byte{2};
  segment[kTcp + 21] = std::byte{18};
  std::copy(secret.begin(), secret.end(), segment.begin() + kTcp + 22);
  wire.Add(segment);
  // ARP between addresses of other lengths (RFC 826): what they are is not known, nor where the operation's data ends.
  wire.Add(Join({Buffer(12), Words({0x08060001, 0x08000805}), secret}));
  EXPECT_EQ(Scrubbed(wire.frames()).find("SECR"), std::string::npos);
}

// What a scrubber without room for more than a few packets gives up becomes zeros, and is counted.
TEST(ScrubBytes, TablesThatAreFull) {
  constexpr uint32_t kPackets = 400, kSize = 8;
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  rpcrdma::Header read = Msg(1);
  AddWriteChunk(read, {{0x77, kPackets * kSize, 0x10000}});
  talk.Send(0, RpcRdma(read, ReadCall(1, kPackets * kSize)));
  for (uint32_t i = 0; i < kPackets; ++i) talk.Write(1, 0x77, 0x10000 + i * kSize, Text("SECRETSE"));
  rpcrdma::Header answer = Msg(1);
  AddWriteChunk(answer, {{0x77, kPackets * kSize, 0x10000}});
  talk.Send(1, RpcRdma(answer, ReadReply(1, kPackets * kSize, true)));
  talk.Send(0, RpcRdma(Msg(2), GetattrCall(2)));
  talk.Send(1, RpcRdma(Msg(2), GetattrReply(2)));
  for (const uint64_t memory :
       {uint64_t{0}, uint64_t{1} << 10, uint64_t{1} << 16, uint64_t{1} << 20, uint64_t{32} << 20}) {
    scrub::Pseudonyms pseudonyms(kScrubKey);
    scrub::Replaced replaced;
    scrub::ScrubbedWindow window({}, {INT64_MAX, 1u << 26});
    scrub::Scrubber scrubber(window, pseudonyms, replaced, {{}, memory, {}});
    uint64_t number = 0;
    for (const WireFrame& frame : wire.frames()) {
      const auto size = static_cast<uint32_t>(frame.bytes.size());
      ASSERT_TRUE(scrubber.OnFrame({{++number, frame.time_ns}, LinkType::kEthernet, frame.bytes, size}));
    }
    scrubber.Finish();
    window.Release();
    for (number = 0; const auto frame = window.Front(); window.Pop(), ++number) {
      const std::string bytes(reinterpret_cast<const char*>(frame->bytes.data()), frame->bytes.size());
      EXPECT_EQ(bytes.find("SECRET"), std::string::npos) << memory;
    }
    EXPECT_EQ(number, wire.frames().size());
    if (memory == uint64_t{1} << 20) {
      EXPECT_GT(replaced.forgotten, 0u);
      EXPECT_LT(replaced.forgotten, kPackets);
    }
    if (memory == uint64_t{32} << 20) {
      EXPECT_EQ(replaced.forgotten, 0u);
    }
  }
}

// A capture that cannot be read to its end.
class BrokenReader final : public capture::Reader {
 public:
  explicit BrokenReader(Next end) : end_(end) {}
  Next ReadFrame(Frame& frame) override {
    frame = {{++number_, 0}, LinkType::kEthernet, bytes_, static_cast<uint32_t>(bytes_.size())};
    return number_ < 3 ? Next::kFrame : end_;
  }
  const FrameMemory& memory() const override { return memory_; }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return 0; }
  uint64_t size() const override { return 0; }

 private:
  const Next end_;
  const Buffer bytes_ = Pattern(100);
  const FrameMemory memory_{};
  const std::string error_ = "reading failed";
  uint64_t number_ = 0;
};

TEST(ScrubBytes, AReadErrorOfATemporaryFileIsAnError) {
  using Next = capture::Reader::Next;
  const std::string path = ::testing::TempDir() + "stag-broken-" + std::to_string(::getpid()) + ".zst";
  for (const Next end : {Next::kDamaged, Next::kEnd}) {
    BrokenReader reader(end);
    auto out = capture::OutputFile::Create(path);
    ASSERT_TRUE(out);
    const auto written = scrub::WriteCompressed(reader, std::move(*out), capture::FileFormat::kPcap);
    EXPECT_EQ(written.has_value(), end == Next::kEnd);
    EXPECT_EQ(::unlink(path.c_str()) == 0, end == Next::kEnd);
  }
}

// A record in very many segments is followed like any other.
TEST(ScrubBytes, ARecordOfOneByteSegments) {
  IbWire wire;
  PlainPeer client{{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)}, 700, 1000};
  PlainPeer server{{{std::byte{4}}, link::Ipv4Address(192, 0, 2, 2)}, 20048, 5000};
  constexpr size_t kFirst = 32;
  const Buffer call = Record(MakeCall(5, 100005, 3, 1, Opaque(Text("/export/payroll"))));
  SendTcp(wire, client, server, Buffer(call.begin(), call.begin() + kFirst));
  for (size_t i = kFirst; i < call.size(); i += 2) SendTcp(wire, client, server, {call[i], call[i + 1]});
  const std::string out = Scrubbed(wire.frames());
  ASSERT_FALSE(out.empty());
  std::string record;
  for (size_t i = 0; i < wire.frames().size(); ++i) record += FrameOf(out, i).substr(14 + 20 + 20);
  ASSERT_EQ(record.size(), call.size());
  const size_t path = call.size() - 16;
  EXPECT_EQ(record.substr(0, path), std::string(reinterpret_cast<const char*>(call.data()), path));
  EXPECT_EQ(record[path], '/');
  EXPECT_NE(record.substr(path + 1, 6), "export");
  EXPECT_NE(record[path + 1], '\0');
}

TEST(ScrubBytes, WrongChecksumsStayWrong) {
  IbWire wire;
  Session(wire);
  Buffer& frame = wire.frames()[3].bytes;
  frame.back() ^= std::byte{1};       // ICRC
  frame[14 + 10] ^= std::byte{0xff};  // IPv4
  const std::string out = FrameOf(Scrubbed(wire.frames()), 3);
  const Bytes bytes = std::as_bytes(std::span(out));
  const Frame scrubbed{{1, 0}, LinkType::kEthernet, bytes, static_cast<uint32_t>(bytes.size())};
  EXPECT_EQ(ib::CheckIcrc(link::Decode(scrubbed)), ib::IcrcStatus::kBad);
  EXPECT_NE(link::ChecksumFinish(link::ChecksumSum(0, bytes.subspan(14, 20))), 0);
}

}  // namespace
}  // namespace stag::test
