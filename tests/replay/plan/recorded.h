// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recordings made of RPC messages, for tests of what is done with them: everything goes inline.
#pragma once

#include <gtest/gtest.h>

#include "replay/plan/recording.h"
#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::replay::test {

using namespace stag::test;

class RecordingMaker {
 public:
  RecordingMaker() { script.Open(); }
  RecordingMaker& Call(const Buffer& message) {
    script.Send(0, MakeHeader(rpcrdma::kMsg, LoadBe32(message.data())), message);
    return *this;
  }
  RecordingMaker& Reply(const Buffer& message) {
    script.Send(1, MakeHeader(rpcrdma::kMsg, LoadBe32(message.data())), message);
    return *this;
  }
  Recording Finish() {
    session.Finish();
    auto recording = recorder.Finish();
    EXPECT_TRUE(recording);
    return std::move(*recording);
  }

  Recorder recorder{1 << 20};
  session::Session session{session::SessionOptions{}, {&recorder}};
  EventScript script{session};
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

}  // namespace stag::replay::test
