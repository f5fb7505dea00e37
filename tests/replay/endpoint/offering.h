// SPDX-License-Identifier: GPL-2.0-or-later
//
// Offering: an endpoint that offers memory to a raw peer, which may do with it what it likes.
#pragma once

#include "tests/replay/endpoint/raw_peer.h"

namespace stag::endpoint::test {

using iwarp::DdpHeader;
using iwarp::Opcode;
using Kind = Trouble::Kind;

inline constexpr size_t kRegion = 1000;

struct Offered {
  Region writable, readable, local;
};

// Stag is the responder; the raw peer has asked, and was answered.
class Offering {
 public:
  explicit Offering(bool crc, EndpointOptions options = {}, const SoftIwarpOptions& kind = {})
      : raw(RawPeer::ConnectTo(Listen(kind))), says({.crc = crc}) {
    MpaFrame request;
    request.revision = 2;
    request.crc = crc;
    request.enhanced = iwarp::EnhancedSetup{.ird = 16, .ord = 16};
    raw.Write(FrameBytes(request));
    options.crc = false;
    options.receive_size = 4096;
    auto incoming = listener_->Wait(kPatience);
    EXPECT_TRUE(incoming && *incoming);
    auto accepted = (*incoming)->Accept(options);
    EXPECT_TRUE(accepted);
    peer.endpoint = std::move(*accepted);
    const auto answer = raw.ReadFrame();
    EXPECT_TRUE(answer);
    if (answer) reply = *answer;
    offered = {Registered(peer, Buffer(kRegion), Access::kRemoteWrite),
               Registered(peer, Pattern(kRegion), Access::kRemoteRead),
               Registered(peer, Buffer(kRegion), Access::kLocal)};
  }

  // Polls until the endpoint has ended.
  bool RunToEnd() {
    return RunUntil([&] { return peer.over(); });
  }
  template <typename Done>
  bool RunUntil(Done done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done() && std::chrono::steady_clock::now() < end) peer.Poll(milliseconds(10));
    return done();
  }

 private:
  uint16_t Listen(const SoftIwarpOptions& kind) {
    auto listener = MakeSoftIwarp(kind)->Listen({"127.0.0.1", 0});
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    return listener_->port();
  }
  std::unique_ptr<Listener> listener_;

 public:
  RawPeer raw;
  Conversation says;  // what the raw peer, which is side 0, writes
  MpaFrame reply;
  Peer peer;
  Offered offered;
};

inline DdpHeader Untagged(Opcode opcode, uint32_t queue, uint32_t sequence) {
  DdpHeader header;
  header.opcode = opcode;
  header.queue = queue;
  header.sequence = sequence;
  header.last = true;
  return header;
}

}  // namespace stag::endpoint::test
