// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls of the server to the client (RFC 8167), and the NFSv4.1 operation that allows them (RFC 8881 section 18.36).
#pragma once

#include "pcaps/generator/traffic.h"

namespace stag::evidence {

inline constexpr uint32_t kCallbackProgram = 0x40000000, kBackwardXid = 0x77000001;
inline constexpr uint32_t kConnBackChan = 2;  // CREATE_SESSION4_FLAG_CONN_BACK_CHAN

// channel_attrs4 with requests and replies of up to `size` bytes.
inline Buffer ChannelAttributes(uint32_t size) { return test::Words({0, size, size, size, 8, 32, 0}); }

// COMPOUND of CREATE_SESSION; its result grants the same flags.
inline Buffer CreateSessionCall(uint32_t xid, uint32_t flags = kConnBackChan, uint32_t backward_size = 4096) {
  return test::MakeCall(xid, test::kNfs, 4, 1,
                        test::Join({test::Words({0, 1, 1, 43, 0, 1, 1, flags}), ChannelAttributes(1048576),
                                    ChannelAttributes(backward_size), test::Words({kCallbackProgram, 1, 0})}));
}
inline Buffer CreateSessionReply(uint32_t xid, uint32_t flags = kConnBackChan, uint32_t backward_size = 4096) {
  return test::MakeReply(xid, test::Join({test::Words({0, 0, 1, 43, 0, 1, 2, 3, 4, 1, flags}),
                                          ChannelAttributes(1048576), ChannelAttributes(backward_size)}));
}

// The first exchange of a connection, which makes it a backchannel, too.
inline void CreateSession(WireScript& s, uint32_t flags = kConnBackChan, uint32_t backward_size = 4096) {
  s.Send(test::kClient, test::Msg(kEarlierXid), CreateSessionCall(kEarlierXid, flags, backward_size));
  s.Send(test::kServer, test::Msg(kEarlierXid), CreateSessionReply(kEarlierXid, flags, backward_size));
}

inline Buffer CallbackNull(uint32_t xid = kBackwardXid) { return test::MakeCall(xid, kCallbackProgram, 1, 0); }

}  // namespace stag::evidence
