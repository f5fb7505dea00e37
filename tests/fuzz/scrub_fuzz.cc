// SPDX-License-Identifier: GPL-2.0-or-later
//
// Scrubbed captures hold nothing that could not be decoded. First the input is put where no decoder can follow: into
// arguments and results of an unknown program, memory that RDMA moves for it, memory that nobody offered, other
// protocols: what comes out is the same as with zeros in its place, byte for byte. Then it is the frames themselves:
// what no decoder takes becomes zeros. The last byte says of which link type they are. And it is what two peers do
// (story.h). The byte before the last says how much memory the scrubber has: from 1 KiB, where each of its tables is
// full after a few packets, to 32 MiB.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "protocol/ib/mad.h"
#include "protocol/ib/transport.h"
#include "protocol/link/encode.h"
#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "session/fabric/packet_observer.h"
#include "tests/cli/scrubbed.h"
#include "tests/fuzz/story.h"
#include "tests/support/messages.h"

namespace {

using namespace stag;
using namespace stag::test;
using scrub::WindowSize;

void Require(bool condition) {
  if (!condition) std::abort();
}

Buffer RpcRdma(const rpcrdma::Header& header, const Buffer& message = {}) {
  Buffer out;
  rpcrdma::Encode(header, out);
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

// What a decoder understood of TCP and RDMA.
class Understood final : public fabric::PacketObserver, public fabric::Sink {
 public:
  Understood(const std::vector<WireFrame>& frames, LinkType link) {
    fabric::DecoderOptions options;
    options.keep_copies = true;
    options.packets = this;
    fabric::Decoder decoder(options, *this);
    uint64_t number = 0;
    for (const WireFrame& frame : frames)
      decoder.OnFrame({{++number, frame.time_ns}, link, frame.bytes, static_cast<uint32_t>(frame.bytes.size())});
    decoder.Finish();
  }
  bool anything() const { return anything_; }

 private:
  void OnEvent(const fabric::Event& event) override {
    const fabric::EventKind kind = event.kind();
    anything_ = anything_ || kind == fabric::EventKind::kSend || kind == fabric::EventKind::kWrite ||
                kind == fabric::EventKind::kReadResponse;
  }
  void OnAside(const fabric::Aside& aside) override {
    anything_ = anything_ || aside.kind == fabric::Aside::Kind::kUnreliable;
  }
  void OnMpaFrame(Track, fabric::Side, const fabric::StreamPart&) override { anything_ = true; }
  void OnFpdu(Track, fabric::Side, const fabric::StreamPart&, const iwarp::Fpdu&) override { anything_ = true; }

  bool anything_ = false;
};

// An RPC message begins in `bytes` (RFC 5531 section 9), as far as one can tell without its program.
bool MayBeRpc(Bytes bytes) {
  if (bytes.size() < 12) return false;
  const uint32_t type = LoadBe32(&bytes[4]);
  return type == rpc::kCall || type == rpc::kReply;
}

// `secret` as what nobody knows.
std::vector<WireFrame> Unknown(const Buffer& secret, bool over_tcp) {
  constexpr uint32_t kUnknownProgram = 0x20001234;
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  const auto size = static_cast<uint32_t>(secret.size());
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{0x77, size, 0x10000}});
  SetReplyChunk(call, {{0x78, size, 0x20000}});
  talk.Send(0, RpcRdma(call, MakeCall(1, kUnknownProgram, 1, 4, secret)));
  talk.Write(1, 0x77, 0x10000, secret);
  rpcrdma::Header reply = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(reply, {{0x77, size, 0x10000}});
  talk.Send(1, RpcRdma(reply, MakeReply(1, secret)));
  talk.Write(1, 0x99, 0x5000, secret);
  Buffer datagram, segment;
  const link::Host host{{std::byte{2}}, link::Ipv4Address(192, 0, 2, 1)};
  // Behind this it is no RPC.
  const Buffer strange = Join({Words({0x88888888, 0x88888888}), secret});
  link::AppendUdpFrame(datagram, host, host, 4444, 5555, strange);
  wire.Add(datagram);
  link::AppendTcpFrame(segment, host, host, {4444, 5555, 1, 1, link::kTcpAck}, strange);
  if (over_tcp) wire.Add(segment);
  wire.Add(Join({Buffer(12), Words({0x88b51234}), secret}));
  return wire.frames();
}

// From where on nobody knows what stands in a frame; its size: everything may be known.
size_t UnknownFrom(const Frame& frame, bool understood, size_t& end) {
  constexpr uint8_t kIcmp = 1, kIgmp = 2, kIcmpv6 = 58;
  constexpr uint16_t kArp = 0x0806;
  link::Packet packet;
  std::vector<link::Header> headers;
  link::Decode(frame, packet, headers);
  const Bytes bytes = frame.bytes;
  end = bytes.size();
  if (headers.empty()) return 0;
  const link::Header& last = headers.back();
  const bool whole = packet.status == ParseStatus::kOk;
  if (whole && packet.carrier == link::Carrier::kTcp) {
    const bool record = packet.payload.size() > 4 && MayBeRpc(packet.payload.subspan(4));
    return understood || record ? end : last.end();
  }
  if (whole && packet.carrier == link::Carrier::kRpcbind) return MayBeRpc(packet.payload) ? end : last.end();
  if (whole && packet.carrier != link::Carrier::kOther) {
    ib::Transport transport;
    ib::ParseTransport(packet.payload, packet.wire_length, transport);
    const ib::OpcodeInfo& opcode = ib::LookUpOpcode(transport.bth.opcode);
    const bool management = opcode.service == ib::Service::kUd && transport.bth.destination_qp == ib::kGsiQp;
    if (understood || management || packet.payload.size() < ib::kBthLength + ib::kIcrcLength) return end;
    // Behind it are the ICRC, of what comes out, and padding.
    const auto begin = static_cast<size_t>(packet.payload.data() - bytes.data());
    end = begin + packet.payload.size() - ib::kIcrcLength;
    return begin + ib::kBthLength + (opcode.data || opcode.extended > 0 ? opcode.extended : 0);
  }
  if (last.kind == link::HeaderKind::kUdp) return MayBeRpc(bytes.subspan(last.end())) ? end : last.end();
  uint8_t next = 0;
  if (last.kind == link::HeaderKind::kIpv4) next = std::to_integer<uint8_t>(bytes[last.offset + 9]);
  if (last.kind == link::HeaderKind::kIpv6) next = std::to_integer<uint8_t>(bytes[last.offset + 6]);
  if (last.kind == link::HeaderKind::kIpv6Extension) next = std::to_integer<uint8_t>(bytes[last.offset]);
  if (next == kIcmp || next == kIgmp || next == kIcmpv6) return end;
  const bool arp =
      last.length >= 2 && (LoadBe16(&bytes[last.end() - 2]) == kArp ||
                           (last.kind == link::HeaderKind::kLinuxSll2 && LoadBe16(&bytes[last.offset]) == kArp));
  return arp ? end : last.end();
}

// The input as frames: for each a length of two bytes, then so many bytes.
std::vector<WireFrame> AsFrames(Bytes input) {
  std::vector<WireFrame> frames;
  for (size_t at = 0; at + 2 <= input.size();) {
    const size_t length = std::min<size_t>(LoadBe16(&input[at]), input.size() - at - 2);
    const Bytes frame = input.subspan(at + 2, length);
    frames.push_back({Buffer(frame.begin(), frame.end()), 1'700'000'000'000'000'000});
    at += 2 + length;
  }
  return frames;
}

constexpr WindowSize kNoWindow{INT64_MAX, 1u << 26};  // frames wait until the end

void ScrubFrames(const std::vector<WireFrame>& frames, LinkType link, uint64_t memory) {
  const std::vector<Buffer> out = ScrubbedLive(frames, kNoWindow, link, memory);
  Require(out.size() == frames.size());
  const bool understood = Understood(frames, link).anything();
  for (size_t i = 0; i < frames.size(); ++i) {
    const Buffer& in = frames[i].bytes;
    Require(out[i].size() == in.size());
    size_t end = 0;
    const Frame frame{{i + 1, frames[i].time_ns}, link, in, static_cast<uint32_t>(in.size())};
    const size_t begin = UnknownFrom(frame, understood, end);
    Require(std::all_of(out[i].begin() + static_cast<ptrdiff_t>(std::min(begin, end)),
                        out[i].begin() + static_cast<ptrdiff_t>(end), [](std::byte b) { return b == std::byte{0}; }));
  }
}

void ScrubStory(Bytes input, uint64_t memory) {
  Cursor in(input);
  const bool iwarp = (in.U8() & 1) != 0;
  Story story(iwarp ? evidence::Fabric::kIwarp : evidence::Fabric::kRoce, in);
  std::vector<WireFrame> frames;
  for (OwnedFrame& frame : Load(story.Tell())) frames.push_back({std::move(frame.bytes), frame.ref.time_ns});
  const std::vector<Buffer> out = ScrubbedLive(frames, kNoWindow, LinkType::kEthernet, memory);
  Require(out.size() == frames.size());
  for (size_t i = 0; i < out.size(); ++i) Require(out[i].size() == frames[i].bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const Buffer secret(begin, begin + std::min<size_t>(size, 1500));
  const std::vector<WireFrame> segment = {Unknown(secret, true).end()[-2]};
  const bool over_tcp = !Understood(segment, LinkType::kEthernet).anything();
  const uint64_t memory = uint64_t{1} << (10 + data[size - 2] % 16);
  const auto out = ScrubbedLive(Unknown(secret, over_tcp), kNoWindow, LinkType::kEthernet, memory);
  Require(!out.empty());
  Require(out == ScrubbedLive(Unknown(Buffer(secret.size()), over_tcp), kNoWindow, LinkType::kEthernet, memory));

  constexpr std::array kLinks = {LinkType::kEthernet, LinkType::kLinuxSll2, LinkType::kInfiniBand, LinkType::kErf};
  ScrubFrames(AsFrames(Bytes(begin, size)), kLinks[data[size - 1] % kLinks.size()], memory);
  ScrubStory(Bytes(begin, size), memory);
  return 0;
}
