// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/tcp_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protocol/nfs/walk.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::nfs_client {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kLastFragment = 0x80000000u;
constexpr size_t kMaxReply = 65536;

// A TCP connection on which everything has to be done by the same deadline.
class Connection {
 public:
  Connection(milliseconds patience, int cancel) : deadline_(Clock::now() + patience), cancel_(cancel) {}
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // 0, or errno.
  int Open(const addrinfo& address) {
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return errno;
    TakeReservedPort(address.ai_family);
    if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!Wait(POLLOUT)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
  }
  bool Send(Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        bytes = bytes.subspan(static_cast<size_t>(n));
      } else if (errno != EINTR && (errno != EAGAIN || !Wait(POLLOUT))) {
        return false;
      }
    }
    return true;
  }
  bool Receive(MutableBytes to) {
    while (!to.empty()) {
      const ssize_t n = ::recv(socket_, to.data(), to.size(), 0);
      if (n > 0) {
        to = to.subspan(static_cast<size_t>(n));
      } else if (n == 0 || (errno != EINTR && (errno != EAGAIN || !Wait(POLLIN)))) {
        return false;
      }
    }
    return true;
  }

 private:
  bool Wait(short what) const {
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
    pollfd both[] = {{socket_, what, 0}, {cancel_, POLLIN, 0}};
    return left.count() > 0 && ::poll(both, 2, static_cast<int>(left.count())) > 0 && both[1].revents == 0;
  }
  // What only root may do; without it, the kernel takes another port.
  void TakeReservedPort(int family) const {
    if (::geteuid() != 0) return;
    for (uint16_t port = 1023; port >= 665; --port) {
      sockaddr_in6 six{};
      sockaddr_in four{};
      six.sin6_family = AF_INET6;
      four.sin_family = AF_INET;
      six.sin6_port = four.sin_port = htons(port);
      const bool is_six = family == AF_INET6;
      const auto* address = is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
      if (::bind(socket_, address, is_six ? sizeof six : sizeof four) == 0) return;
    }
  }

  const Clock::time_point deadline_;
  const int cancel_;
  int socket_ = -1;
};

// Results of a Call of `calls` whose arguments are `arguments`.
Result<std::vector<std::byte>> Ask(const endpoint::HostPort& to, const RpcCalls& calls, uint32_t procedure,
                                   Bytes arguments, milliseconds patience, int cancel) {
  std::vector<std::byte> message;
  calls.Begin(procedure, message);
  StoreBe32(message.data(), static_cast<uint32_t>(Clock::now().time_since_epoch().count()));  // xid
  message.insert(message.end(), arguments.begin(), arguments.end());
  auto reply = AskOverTcp(to, message, patience, cancel);
  if (!reply) return reply;
  const RpcResults results = TakeResults(*reply);
  if (!results.failure.empty()) return Fail(results.failure);
  return std::vector<std::byte>(results.bytes.begin(), results.bytes.end());
}

std::string WhyNotMounted(uint32_t status, const std::string& host, const std::string& path) {
  enum : uint32_t { kPerm = 1, kNoEnt = 2, kAcces = 13, kNotDir = 20 };
  if (status == kPerm || status == kAcces)
    return fmt::format("{} does not export {} to this host (MNT3ERR_ACCES): look at its /etc/exports{}", host, path,
                       ::geteuid() == 0 ? "" : "; it may ask for a reserved port (`secure`), which takes root");
  if (status == kNoEnt) return fmt::format("{} has no directory {} (MNT3ERR_NOENT)", host, path);
  if (status == kNotDir) return fmt::format("{} of {} is not a directory (MNT3ERR_NOTDIR)", path, host);
  return fmt::format("{} refuses to mount {}: status {}", host, path, status);
}

}  // namespace

Result<std::vector<std::byte>> AskOverTcp(const endpoint::HostPort& to, Bytes message, milliseconds patience,
                                          int cancel) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &first))
    return Fail(fmt::format("{}: {}", to.host, ::gai_strerror(error)));
  Connection connection(patience, cancel);
  int error = ECONNREFUSED;
  for (const addrinfo* a = first; a && error != 0; a = a->ai_next) error = connection.Open(*a);
  ::freeaddrinfo(first);
  if (error != 0) return Fail(fmt::format("TCP port {} of {}: {}", to.port, to.host, std::strerror(error)));

  std::vector<std::byte> record;
  Writer out(record);
  out.U32(kLastFragment | static_cast<uint32_t>(message.size()));
  out.Put(message);
  std::vector<std::byte> reply;
  bool whole = connection.Send(record);
  for (bool last = false; whole && !last;) {
    std::byte mark[4];
    whole = connection.Receive(mark);
    if (!whole) break;
    last = (LoadBe32(mark) & kLastFragment) != 0;
    const size_t size = LoadBe32(mark) & ~kLastFragment;
    if (size > kMaxReply - reply.size() || (size == 0 && !last))
      return Fail(fmt::format("what is at TCP port {} of {} does not speak RPC", to.port, to.host));
    reply.resize(reply.size() + size);
    whole = connection.Receive(MutableBytes(reply).last(size));
  }
  if (!whole) return Fail(fmt::format("no answer from TCP port {} of {}", to.port, to.host));
  if (reply.size() < 4 || std::memcmp(reply.data(), message.data(), 4) != 0)
    return Fail(fmt::format("TCP port {} of {} answers another xid", to.port, to.host));
  return reply;
}

Result<uint16_t> FindMountPort(const endpoint::HostPort& portmap, const Credential& credential, milliseconds patience,
                               int cancel) {
  constexpr uint32_t kPortmapProgram = 100000, kVersion = 2, kGetport = 3;
  std::vector<std::byte> arguments;
  Writer out(arguments);
  for (const uint32_t word : {nfs::kMountProgram, kMountVersion, uint32_t{IPPROTO_TCP}, 0u}) out.U32(word);
  const auto results = Ask(portmap, {kPortmapProgram, kVersion, credential}, kGetport, arguments, patience, cancel);
  if (!results)
    return Fail(fmt::format("the portmapper of {} does not tell where MOUNT is ({}); give --mount-port or --handle",
                            portmap.host, results.error().message));
  Cursor in(*results);
  const uint32_t port = in.U32();
  if (!in.ok() || port == 0 || port > UINT16_MAX)
    return Fail(fmt::format("{} has no MOUNT version 3 on TCP; give --mount-port or --handle", portmap.host));
  return static_cast<uint16_t>(port);
}

void PutMntArguments(const std::string& path, std::vector<std::byte>& out) {
  Writer writer(out);
  rpcrdma::PutString(writer, path);
}

Result<std::vector<std::byte>> TakeMntResults(Bytes results, const std::string& host, const std::string& path) {
  constexpr uint32_t kHandleMax = 64;
  Cursor in(results);
  const uint32_t status = in.U32();
  if (in.ok() && status != 0) return Fail(WhyNotMounted(status, host, path));
  const Bytes handle = rpcrdma::GetOpaque(in, kHandleMax);
  if (!in.ok() || handle.empty()) return Fail("the answer of MOUNT cannot be read");
  return std::vector<std::byte>(handle.begin(), handle.end());
}

Result<std::vector<std::byte>> Mount(const std::string& host, std::optional<uint16_t> port, const std::string& path,
                                     const Credential& credential, milliseconds patience, uint16_t portmap_port,
                                     int cancel) {
  if (!port) {
    const auto found = FindMountPort({host, portmap_port}, credential, patience, cancel);
    if (!found) return tl::unexpected(found.error());
    port = *found;
  }
  std::vector<std::byte> arguments;
  PutMntArguments(path, arguments);
  const auto results =
      Ask({host, *port}, {nfs::kMountProgram, kMountVersion, credential}, kMountMnt, arguments, patience, cancel);
  if (!results) return Fail("MOUNT: " + results.error().message);
  return TakeMntResults(*results, host, path);
}

}  // namespace stag::nfs_client
