// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace stag::endpoint {
namespace {

void SetOption(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); }

Transfer ToTransfer(ssize_t n, bool receiving) {
  if (n > 0) return {Transfer::Io::kDone, static_cast<size_t>(n), 0};
  if (n == 0 && receiving) return {Transfer::Io::kEnd, 0, 0};
  if (n == 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {Transfer::Io::kFailed, 0, errno};
}

msghdr MakeMessage(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());  // the kernel does not write to it
  message.msg_iovlen = pieces.size();
  return message;
}

}  // namespace

TcpStream::TcpStream(Descriptor socket, std::chrono::milliseconds peer_timeout) : socket_(std::move(socket)) {
  const int fd = socket_.get();
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // Who is silent is asked; who does not answer, and does not acknowledge, has gone.
  const auto ms = static_cast<int>(std::max<std::chrono::milliseconds::rep>(peer_timeout.count(), 1));
  const int seconds = std::max(ms / 3000, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

TcpStream::~TcpStream() {
  // Closing with bytes unread makes a RST, which can overtake a Terminate.
  constexpr size_t kMost = 1u << 20;
  for (int i = 0; i < 64; ++i)
    if (::recv(socket_.get(), nullptr, kMost, MSG_DONTWAIT | MSG_TRUNC) <= 0) break;
}

Transfer TcpStream::Receive(std::span<const iovec> into) {
  msghdr message = MakeMessage(into);
  return ToTransfer(::recvmsg(socket_.get(), &message, MSG_DONTWAIT), true);
}

Transfer TcpStream::Send(std::span<const iovec> from) {
  const msghdr message = MakeMessage(from);
  return ToTransfer(::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

void TcpStream::FinishSending() { ::shutdown(socket_.get(), SHUT_WR); }

bool TcpStream::Wait(bool to_receive, bool to_send, std::chrono::microseconds wait) {
  pollfd events{socket_.get(), static_cast<short>((to_receive ? POLLIN : 0) | (to_send ? POLLOUT : 0)), 0};
  return WaitFor({&events, 1}, wait);
}

uint32_t TcpStream::segment_size() const {
  int size = 0;
  socklen_t length = sizeof size;
  ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_MAXSEG, &size, &length);
  return size > 0 ? static_cast<uint32_t>(size) : 536;  // RFC 9293 section 3.7.1
}

SocketEnds TcpStream::ends() const {
  SocketEnds ends;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
    ends.local = FromSocketAddress(address);
  length = sizeof address;
  if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
    ends.peer = FromSocketAddress(address);
  return ends;
}

}  // namespace stag::endpoint
