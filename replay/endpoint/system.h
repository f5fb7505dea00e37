// SPDX-License-Identifier: GPL-2.0-or-later
//
// What endpoints of every kind want of the operating system: descriptors, addresses and what an errno means.
#pragma once

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "protocol/base/address.h"
#include "protocol/base/result.h"
#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Until one of `all` is ready (true), or `longest` is over, or a signal comes; at most 0: only looks.
bool WaitFor(std::span<pollfd> all, std::chrono::nanoseconds longest);

// Whether an errno says that this machine has too little of something now, and may have it later.
bool IsShortage(int error);
// As many descriptors as the system allows this process.
void RaiseDescriptorLimit();

// What a name stands for, best address first.
struct AddressList {
  addrinfo* first = nullptr;
  AddressList() = default;
  AddressList(AddressList&& other) noexcept : first(std::exchange(other.first, nullptr)) {}
  AddressList& operator=(AddressList&&) = delete;
  ~AddressList() {
    if (first) ::freeaddrinfo(first);
  }
};
Result<AddressList> Resolve(const HostPort& name, bool to_listen);

// IPv4 addresses in IPv6 clothes are IPv4 addresses. The number is the port.
stag::Endpoint FromSocketAddress(const sockaddr_storage& from);
stag::Endpoint EndOf(const addrinfo& address);
// What an errno means.
std::string ErrorText(int error);
// Two lowercase digits for each byte.
std::string Hex(Bytes bytes);

}  // namespace stag::endpoint
