// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recordings made of RPC messages, for tests of what is done with them: everything goes inline.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "replay/recording/recording.h"
#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::recording::test {

using namespace stag::test;

// A connection whose events a Session gives to `Recorder`.
template <typename Recorder>
class Maker {
 public:
  template <typename... Arguments>
  explicit Maker(Arguments&&... arguments) : recorder(std::forward<Arguments>(arguments)...) {
    script.Open();
  }
  Maker& Call(const Buffer& message) {
    script.Send(0, MakeHeader(rpcrdma::kMsg, LoadBe32(message.data())), message);
    return *this;
  }
  Maker& Reply(const Buffer& message) {
    script.Send(1, MakeHeader(rpcrdma::kMsg, LoadBe32(message.data())), message);
    return *this;
  }

  Recorder recorder;
  session::Session session{session::SessionOptions{}, {&recorder}};
  EventScript script{session};
};

class RecordingMaker : public Maker<RecordingBuilder> {
 public:
  RecordingMaker() : Maker(uint64_t{1} << 20) {}
  Recording Finish() {
    session.Finish();
    auto recording = recorder.Finish();
    EXPECT_TRUE(recording);
    return std::move(*recording);
  }
};

// NFSv3 with handles of the caller's.
inline Buffer Handle(uint32_t seed, size_t size = 28) { return Pattern(size, seed); }
inline Buffer LookupCall(uint32_t xid, const Buffer& directory, const Buffer& name) {
  return MakeCall(xid, kNfs, 3, 3, Join({Opaque(directory), Opaque(name)}));
}
inline Buffer LookupReply(uint32_t xid, const Buffer& handle) {
  return MakeReply(xid, Join({Words({0}), Opaque(handle), Words({0, 0})}));
}
inline Buffer GetattrOf(uint32_t xid, const Buffer& handle) { return MakeCall(xid, kNfs, 3, kGetattr, Opaque(handle)); }

inline Buffer Name(std::string_view text) {
  Buffer out;
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  return out;
}

// --- NFSv4 (RFC 8881), clients and sessions

inline Buffer Compound(uint32_t xid, std::initializer_list<Buffer> operations, uint32_t minor = 1) {
  return MakeCall(xid, kNfs, 4, 1,
                  Join({Words({0, minor, static_cast<uint32_t>(operations.size())}), Join(operations)}));
}
inline Buffer Verifier(uint64_t v) { return Words({static_cast<uint32_t>(v >> 32), static_cast<uint32_t>(v)}); }
inline Buffer ExchangeId(uint64_t verifier, const Buffer& owner) {
  return Join({Words({42}), Verifier(verifier), Opaque(owner), Words({0x101, 0, 0})});
}
inline Buffer ExchangeIdResult(uint32_t client, uint32_t sequence) {
  return Words({42, 0, 0, client, sequence, 0x20001, 0, 0, 0, 0, 0, 0});  // server owner and scope of no bytes
}
inline Buffer Channel(uint32_t slots) { return Words({0, 65536, 65536, 4096, 16, slots, 0}); }
inline Buffer CreateSession(uint32_t client, uint32_t sequence) {
  return Join({Words({43, 0, client, sequence, 0}), Channel(64), Channel(16), Words({0x40000000, 0})});
}
inline Buffer CreateSessionResult(const Buffer& session, uint32_t sequence, uint32_t slots) {
  return Join({Words({43, 0}), session, Words({sequence, 0}), Channel(slots), Channel(16)});
}
inline Buffer Sequence(const Buffer& session, uint32_t sequence, uint32_t slot, uint32_t highest) {
  return Join({Words({53}), session, Words({sequence, slot, highest, 0})});
}
inline Buffer SequenceResult(const Buffer& session, uint32_t sequence, uint32_t slot, uint32_t status = 0) {
  return status != 0 ? Words({53, status}) : Join({Words({53, 0}), session, Words({sequence, slot, 31, 31, 0})});
}
inline Buffer Session(uint32_t seed) { return Pattern(16, seed); }

}  // namespace stag::recording::test
