// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteStream: all that software iWARP wants of TCP, so that tests and fuzz targets need no kernel; and TcpStream, which
// is a nonblocking socket.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <chrono>
#include <span>
#include <string>

#include "protocol/base/address.h"
#include "protocol/base/result.h"

namespace stag::replay {

struct Transfer {
  enum class Io : uint8_t { kDone, kAgain, kEnd, kFailed };
  Io io = Io::kAgain;
  size_t bytes = 0;  // kDone: at least 1
  int error = 0;     // kFailed: errno
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // One attempt, never waiting. kEnd: the peer has sent all that it will send.
  virtual Transfer Receive(std::span<const iovec> into) = 0;
  virtual Transfer Send(std::span<const iovec> from) = 0;
  // Nothing more will be sent (FIN).
  virtual void FinishSending() = 0;
  // Waits until Receive, or Send, has something to do, if that is wanted. False when the time is over.
  virtual bool Wait(bool to_receive, bool to_send, std::chrono::microseconds wait) = 0;
  virtual int descriptor() const = 0;
  virtual uint32_t segment_size() const = 0;  // bytes of a full TCP segment
};

// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct SocketEnds {
  stag::Endpoint local, peer;
};

class TcpStream final : public ByteStream {
 public:
  // `socket` is connected. `peer_timeout`: see SoftIwarpOptions.
  TcpStream(Descriptor socket, std::chrono::milliseconds peer_timeout);
  ~TcpStream() override;

  Transfer Receive(std::span<const iovec> into) override;
  Transfer Send(std::span<const iovec> from) override;
  void FinishSending() override;
  bool Wait(bool to_receive, bool to_send, std::chrono::microseconds wait) override;
  int descriptor() const override { return socket_.get(); }
  uint32_t segment_size() const override;
  SocketEnds ends() const;

 private:
  Descriptor socket_;
};

// IPv4 addresses in IPv6 clothes are IPv4 addresses.
stag::Endpoint FromSocketAddress(const sockaddr_storage& from);
// What an errno means.
std::string ErrorText(int error);

}  // namespace stag::replay
