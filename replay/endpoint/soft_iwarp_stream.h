// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteStream: all that software iWARP wants of TCP, so that tests and fuzz targets need no kernel; and TcpStream, which
// is a nonblocking socket.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <span>

#include "replay/endpoint/system.h"

namespace stag::endpoint {

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

}  // namespace stag::endpoint
