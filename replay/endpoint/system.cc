// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/system.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace stag::endpoint {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool WaitFor(std::span<pollfd> all, std::chrono::nanoseconds longest) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t ns = std::max<int64_t>(longest.count(), 0);
  const timespec time{ns / kSecond, ns % kSecond};
  return ::ppoll(all.data(), all.size(), &time, nullptr) > 0;
}

bool IsShortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS; }

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<AddressList> Resolve(const HostPort& name, bool to_listen) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = to_listen ? AI_PASSIVE : AI_ADDRCONFIG;
  AddressList list;
  const int error = ::getaddrinfo(name.host.empty() ? nullptr : name.host.c_str(), std::to_string(name.port).c_str(),
                                  &hints, &list.first);
  if (error != 0)
    return Fail(name.host + ": " + (error == EAI_SYSTEM ? ErrorText(errno) : std::string(::gai_strerror(error))));
  return list;
}

stag::Endpoint FromSocketAddress(const sockaddr_storage& from) {
  stag::Endpoint end;
  if (from.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(from);
    end.address.kind = Address::Kind::kIpv4;
    std::memcpy(end.address.bytes.data(), &ip.sin_addr, 4);
    end.number = ntohs(ip.sin_port);
  } else if (from.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(from);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&ip.sin6_addr);
    end.address.kind = mapped ? Address::Kind::kIpv4 : Address::Kind::kIpv6;
    std::memcpy(end.address.bytes.data(), ip.sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
    end.number = ntohs(ip.sin6_port);
  }
  return end;
}

stag::Endpoint EndOf(const addrinfo& address) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address.ai_addr, std::min<size_t>(address.ai_addrlen, sizeof storage));
  return FromSocketAddress(storage);
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

std::string Hex(Bytes bytes) {
  std::string text;
  for (const std::byte b : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(b));
  return text;
}

}  // namespace stag::endpoint
