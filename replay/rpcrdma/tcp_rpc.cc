// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/tcp_rpc.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "protocol/base/writer.h"
#include "replay/endpoint/system.h"

namespace stag::rpcrdma {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPeers = 64, kMaxRecord = 8192;
constexpr int kAccepts = 16, kAnswers = 16;  // before others are looked after
constexpr uint32_t kLastFragment = 0x80000000u;

// -1 with errno.
int ListenAt(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1, off = 0;
  (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) (void)::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, 16) == 0) return socket;
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

struct TcpRpc::Peer {
  explicit Peer(endpoint::Descriptor s) : socket(std::move(s)) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const endpoint::Descriptor socket;
  Clock::time_point since = Clock::now();  // its last Call, or when it came
  std::vector<std::byte> in, record, out;  // received; fragments of the record so far; not sent yet
};

Result<std::unique_ptr<TcpRpc>> TcpRpc::Listen(const endpoint::HostPort& at, Service& service,
                                               std::chrono::milliseconds idle) {
  const auto list = endpoint::Resolve(at, true);
  if (!list) return tl::unexpected(list.error());
  int socket = -1;
  // Both families through one socket, where there is one: "::" comes before "0.0.0.0" then.
  for (const int family : {AF_INET6, AF_INET})
    for (const addrinfo* a = list->first; a && socket < 0; a = a->ai_next)
      if (a->ai_family == family) socket = ListenAt(*a);
  if (socket < 0) return Fail(fmt::format("cannot listen at TCP port {}: {}", at.port, std::strerror(errno)));
  return std::unique_ptr<TcpRpc>(new TcpRpc(socket, PortOf(socket), service, idle));
}

TcpRpc::TcpRpc(int socket, uint16_t port, Service& service, std::chrono::milliseconds idle)
    : socket_(socket), port_(port), service_(service), idle_(idle) {}
TcpRpc::~TcpRpc() { ::close(socket_); }

void TcpRpc::AddTo(std::vector<pollfd>& all) const {
  if (Clock::now() >= accept_again_) all.push_back({socket_, POLLIN, 0});
  for (const auto& peer : peers_)
    all.push_back({peer->socket.get(), static_cast<short>(peer->out.empty() ? POLLIN : POLLOUT), 0});
}

bool TcpRpc::Poll() {
  bool more = false;
  AcceptAll();
  std::erase_if(peers_, [&](const std::unique_ptr<Peer>& peer) {
    Left left = Left::kGone;
    try {
      left = Serve(*peer);
    } catch (const std::bad_alloc&) {
      // Without it there is more memory for the others.
    }
    more |= left == Left::kMore;
    return left == Left::kGone || Clock::now() - peer->since > idle_;
  });
  return more;
}

void TcpRpc::AcceptAll() {
  if (Clock::now() < accept_again_) return;
  for (int n = 0; n < kAccepts; ++n) {
    endpoint::Descriptor socket(::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool came{socket};
    bool shortage = !came && endpoint::IsShortage(errno);
    try {
      if (came && peers_.size() == kMaxPeers)
        peers_.erase(std::ranges::min_element(peers_, {}, [](auto& peer) { return peer->since; }));
      if (came) peers_.push_back(std::make_unique<Peer>(std::move(socket)));
    } catch (const std::bad_alloc&) {
      shortage = true;
    }
    if (shortage) accept_again_ = Clock::now() + std::chrono::seconds{1};
    if (shortage || !came) return;
  }
}

// kGone: it has gone, or sends what is no RPC. kMore: it had its turn.
TcpRpc::Left TcpRpc::Serve(Peer& peer) {
  for (int answers = 0; answers < kAnswers;) {
    while (!peer.out.empty()) {
      const ssize_t n = ::send(peer.socket.get(), peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EINTR ? Left::kNothing : Left::kGone;
      peer.out.erase(peer.out.begin(), peer.out.begin() + n);
    }
    if (!Answer(peer, answers)) return Left::kGone;
    if (!peer.out.empty()) continue;
    std::byte piece[4096];
    const ssize_t n = ::recv(peer.socket.get(), piece, sizeof piece, 0);
    if (n == 0) return Left::kGone;
    if (n < 0) return errno == EAGAIN || errno == EINTR ? Left::kNothing : Left::kGone;
    peer.in.insert(peer.in.end(), piece, piece + n);
  }
  return Left::kMore;
}

// Takes fragments off `in` up to the end of one record, and answers that.
bool TcpRpc::Answer(Peer& peer, int& answers) {
  while (peer.out.empty() && peer.in.size() >= 4) {
    const uint32_t mark = LoadBe32(peer.in.data());
    const uint32_t size = mark & ~kLastFragment;
    if (peer.record.size() + size > kMaxRecord) return false;
    if (peer.in.size() < 4 + size) return true;
    ++answers;
    peer.record.insert(peer.record.end(), peer.in.begin() + 4, peer.in.begin() + 4 + size);
    peer.in.erase(peer.in.begin(), peer.in.begin() + 4 + size);
    if ((mark & kLastFragment) == 0) {
      if (size == 0) return false;
      continue;
    }
    peer.since = Clock::now();
    reply_.Clear();
    if (peer.record.size() >= 8 && LoadBe32(peer.record.data() + 4) == 0) service_.OnCall(peer.record, reply_);
    (void)reply_.Flatten();
    peer.record.clear();
    if (reply_.message.empty()) continue;
    Writer out(peer.out);
    out.U32(kLastFragment | static_cast<uint32_t>(reply_.message.size()));
    out.Put(reply_.message);
  }
  return true;
}

}  // namespace stag::rpcrdma
