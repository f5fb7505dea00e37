// SPDX-License-Identifier: GPL-2.0-or-later
//
// Scrubbed captures hold nothing that could not be decoded. The input is put where no decoder can follow: into
// arguments and results of an unknown program, memory that RDMA moves for it, Sends that are no RPC, other protocols;
// no 16 bytes of it may come out. Then it is the frames themselves, which must do no harm.
#include <cstdlib>

#include "protocol/link/encode.h"
#include "protocol/rpcrdma/header.h"
#include "tests/cli/scrubbed.h"
#include "tests/support/messages.h"

namespace {

using namespace stag;
using namespace stag::test;

void Require(bool condition) {
  if (!condition) std::abort();
}

Buffer RpcRdma(const rpcrdma::Header& header, const Buffer& message = {}) {
  Buffer out;
  rpcrdma::Encode(header, out);
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

// `secret` as what nobody knows.
std::vector<WireFrame> Unknown(const Buffer& secret) {
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
  link::AppendUdpFrame(datagram, host, host, 4444, 5555, secret);
  wire.Add(datagram);
  link::AppendTcpFrame(segment, host, host, {4444, 5555, 1, 1, link::kTcpAck}, secret);
  wire.Add(segment);
  wire.Add(Join({Buffer(12), Words({0x88b51234}), secret}));
  return wire.frames();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const Buffer secret(begin, begin + std::min<size_t>(size, 4000));
  const std::string out = Scrubbed(Unknown(secret)), without = Scrubbed(Unknown(Buffer(secret.size())));
  Require(!out.empty());
  // The input may hold what the session itself is made of.
  const Secrets secrets(secret);
  Require(secrets.In(out) == secrets.In(without));

  // Frames: a length of two bytes, then so many bytes.
  std::vector<WireFrame> frames;
  for (size_t at = 0; at + 2 <= size;) {
    const size_t length = std::min<size_t>(LoadBe16(begin + at), size - at - 2);
    frames.push_back({Buffer(begin + at + 2, begin + at + 2 + length), 1'700'000'000'000'000'000});
    at += 2 + length;
  }
  for (LinkType link : {LinkType::kEthernet, LinkType::kLinuxSll2, LinkType::kInfiniBand, LinkType::kErf})
    (void)Scrubbed(frames, link);
  return 0;
}
