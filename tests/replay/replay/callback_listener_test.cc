// SPDX-License-Identifier: GPL-2.0-or-later
//
// A server of NFSv4.0 calls back over TCP, at the address that SETCLIENTID would name (RFC 5665 section 5.2.3).
#include "replay/replay/callback_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/nfs_messages.h"

namespace stag::replay {
namespace {

using namespace stag::test;

TEST(CallbackListener, AnswersAtTheAddressThatItNames) {
  Callbacks callbacks;
  auto listener = CallbackListener::Listen({"127.0.0.1", 20049}, callbacks);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ((*listener)->netid(), "tcp");
  unsigned a = 0, b = 0, c = 0, d = 0, high = 0, low = 0;
  ASSERT_EQ(std::sscanf((*listener)->address().c_str(), "%u.%u.%u.%u.%u.%u", &a, &b, &c, &d, &high, &low), 6);
  EXPECT_EQ(a, 127u);
  EXPECT_EQ(d, 1u);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(high << 8 | low));
  to.sin_addr.s_addr = htonl(a << 24 | b << 16 | c << 8 | d);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const Buffer call = MakeCall(7, 0x40000000, 1, 0);  // CB_NULL
  const Buffer record = Join({Words({0x80000000u | static_cast<uint32_t>(call.size())}), call});
  ASSERT_EQ(::send(socket, record.data(), record.size(), MSG_NOSIGNAL), static_cast<ssize_t>(record.size()));
  Buffer answer(28);
  size_t got = 0;
  while (got < answer.size()) {
    (*listener)->Poll();
    const ssize_t n = ::recv(socket, answer.data() + got, answer.size() - got, MSG_DONTWAIT);
    ASSERT_NE(n, 0);
    if (n > 0) got += static_cast<size_t>(n);
  }
  EXPECT_EQ(answer, Join({Words({0x80000000u | 24}), MakeReply(7)}));
  EXPECT_EQ((*listener)->calls(), 1u);
  ::close(socket);
}

}  // namespace
}  // namespace stag::replay
