// SPDX-License-Identifier: GPL-2.0-or-later
//
// What any pair of connected endpoints must be able to do: every operation, in sizes around every boundary. Messages
// have up to 128 KiB: the endpoints are to have receives of 256 KiB, 16 of them.
#pragma once

#include "tests/replay/endpoint/pair.h"

namespace stag::endpoint::test {

inline constexpr size_t kReceiveSize = 1u << 18, kReceives = 16;
inline constexpr size_t kSizes[] = {0,     1,     3,     4,     255,   256,   257,   4095,   4096,  4097,
                                    65515, 65516, 65517, 65520, 65535, 65536, 65537, 131072, 131073};

inline void SendsOfEverySize(Pair& pair) {
  for (const size_t size : kSizes) {
    const Buffer call = Pattern(size, 1), reply = Pattern(size, 2);
    Region from = Registered(pair.client, call, Access::kLocal);
    Region back = Registered(pair.server, reply, Access::kLocal);
    const Bytes piece(from.bytes), answer(back.bytes);
    ASSERT_TRUE(pair.client->Send(std::span(&piece, 1), size));
    ASSERT_TRUE(pair.Drive([&] { return !pair.server.messages.empty(); }));
    EXPECT_EQ(pair.server.messages.back(), call) << size;
    ASSERT_TRUE(pair.server->Send(std::span(&answer, 1), size));
    ASSERT_TRUE(pair.Drive(
        [&] { return !pair.client.messages.empty() && !pair.client.work.empty() && !pair.server.work.empty(); }));
    EXPECT_EQ(pair.client.messages.back(), reply) << size;
    EXPECT_EQ(pair.client.work.back().id, size);
    EXPECT_EQ(pair.client.work.back().outcome, CompletionStatus::kOk);
    pair.client.messages.clear();
    pair.server.messages.clear();
    pair.client.work.clear();
    pair.server.work.clear();
    pair.client->Deregister(from);
    pair.server->Deregister(back);
  }
}

inline void ReadsAndWritesOfEverySize(Pair& pair) {
  std::vector<size_t> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.push_back(5'000'001);
  // The responder may send only when it has received something (RFC 5044 section 7.1.2).
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  for (const size_t size : sizes) {
    const Buffer source = Pattern(size, 3), written = Pattern(size, 4);
    // One byte in front and behind that nobody may touch.
    Region read = Registered(pair.client, source, Access::kRemoteRead);
    Region target = Registered(pair.client, Buffer(size + 2), Access::kRemoteWrite);
    Region local = Registered(pair.server, Buffer(size + 2), Access::kLocal);
    Region from = Registered(pair.server, written, Access::kLocal);
    ASSERT_TRUE(pair.server->Read(local.bytes.subspan(1, size), read.handle, read.offset, 1));
    ASSERT_TRUE(pair.server->Write(from.bytes, target.handle, target.offset + 1, 2));
    ASSERT_TRUE(Send(pair.server, Pattern(8, 5), 3));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.work.size() == 3 && pair.client.messages.size() == 1; }));
    Buffer expected = source;
    expected.insert(expected.begin(), std::byte{0});
    expected.push_back(std::byte{0});
    EXPECT_EQ(Content(local.bytes), expected) << size;
    expected = written;
    expected.insert(expected.begin(), std::byte{0});
    expected.push_back(std::byte{0});
    // The Send came after the Write: so did its data (RFC 5040 section 5.5).
    EXPECT_EQ(Content(target.bytes), expected) << size;
    EXPECT_EQ(pair.server.Count(Work::kRead) + pair.server.Count(Work::kWrite) + pair.server.Count(Work::kSend), 3u);
    pair.server.work.clear();
    pair.client.messages.clear();
    for (Region* region : {&read, &target}) pair.client->Deregister(*region);
    for (Region* region : {&local, &from}) pair.server->Deregister(*region);
  }
}

inline void BothWaysAtOnce(Pair& pair) {
  constexpr size_t kSize = 300'000, kRounds = 24;
  struct Side {
    Peer& peer;
    Region source, target, local;
  };
  auto make = [&](Peer& peer, uint32_t seed) {
    return Side{peer, Registered(peer, Pattern(kSize, seed), Access::kRemoteRead),
                Registered(peer, Buffer(kSize), Access::kRemoteWrite),
                Registered(peer, Buffer(kSize * 2), Access::kLocal)};
  };
  Side client = make(pair.client, 7), server = make(pair.server, 8);
  // Each side sends as many messages as there are receives: all of them are to be posted.
  for (Peer* const peer : {&pair.client, &pair.server}) (*peer)->Flush();
  for (const auto& [own, other] : {std::pair(&client, &server), std::pair(&server, &client)}) {
    std::memcpy(own->local.bytes.data(), Pattern(kSize, 9).data(), kSize);
    for (size_t i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(own->peer->Write(own->local.bytes.first(kSize), other->target.handle, other->target.offset, i));
      ASSERT_TRUE(own->peer->Read(own->local.bytes.last(kSize), other->source.handle, other->source.offset, i));
      const Bytes pieces[] = {own->local.bytes.first(1000), own->local.bytes.subspan(1000, 3000)};
      if (i < 16) {
        ASSERT_TRUE(own->peer->Send(pieces, i));
      }
    }
  }
  const auto done = [](const Peer& p) { return p.work.size() == 2 * kRounds + 16 && p.messages.size() == 16; };
  ASSERT_TRUE(pair.Drive([&] { return done(pair.client) && done(pair.server); }));
  for (Side* side : {&client, &server}) {
    EXPECT_EQ(Content(side->target.bytes), Pattern(kSize, 9));
    EXPECT_EQ(Content(side->local.bytes.last(kSize)), Pattern(kSize, side == &client ? 8 : 7));
    for (const Buffer& message : side->peer.messages)
      EXPECT_EQ(message, Buffer(Content(side->local.bytes.first(4000))));
    // Each kind of work ends in the order in which it was posted.
    std::map<Work, uint64_t> next;
    for (const Completion& c : side->peer.work) EXPECT_EQ(c.id, next[c.work]++);
  }
}

}  // namespace stag::endpoint::test
