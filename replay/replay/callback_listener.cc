// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/callback_listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>

#include "replay/endpoint/system.h"

namespace stag::replay {

namespace {

// The address that packets to `to` leave with; nothing is sent. Empty, with errno: there is none.
std::string LocalAddress(const addrinfo& to) {
  const endpoint::Descriptor socket(::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  if (!socket || ::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0)
    return {};
  char text[INET6_ADDRSTRLEN] = {};
  const void* address = local.ss_family == AF_INET6
                            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6&>(local).sin6_addr)
                            : &reinterpret_cast<sockaddr_in&>(local).sin_addr;
  return ::inet_ntop(local.ss_family, address, text, sizeof text) ? text : "";
}

}  // namespace

Result<std::unique_ptr<CallbackListener>> CallbackListener::Listen(const endpoint::HostPort& server,
                                                                   Callbacks& callbacks) {
  const auto list = endpoint::Resolve(server, false);
  if (!list) return tl::unexpected(list.error());
  const std::string local = LocalAddress(*list->first);
  if (local.empty()) return Fail("no way to " + server.host + ": " + endpoint::ErrorText(errno));
  std::unique_ptr<CallbackListener> made(new CallbackListener(callbacks));
  auto tcp = rpcrdma::TcpRpc::Listen({local, 0}, *made, std::chrono::hours(24));
  if (!tcp) return tl::unexpected(tcp.error());
  made->tcp_ = std::move(*tcp);
  const uint16_t port = made->tcp_->port();
  made->netid_ = list->first->ai_family == AF_INET6 ? "tcp6" : "tcp";
  made->address_ = local + '.' + std::to_string(port >> 8) + '.' + std::to_string(port & 0xff);
  return made;
}

void CallbackListener::OnCall(Bytes call, rpcrdma::ServiceReply& reply) {
  ++calls_;
  callbacks_.Answer(call, reply.message);
}

}  // namespace stag::replay
