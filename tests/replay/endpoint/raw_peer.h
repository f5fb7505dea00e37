// SPDX-License-Identifier: GPL-2.0-or-later
//
// RawPeer: a TCP socket with no manners, that writes any bytes at a software iWARP endpoint and reads what comes back.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "protocol/base/crc.h"
#include "replay/endpoint/soft_iwarp_stream.h"
#include "tests/replay/endpoint/pair.h"
#include "tests/support/iwarp_wire.h"

namespace stag::endpoint::test {

using fabric::test::Conversation;
using iwarp::MpaFrame;

inline Buffer FrameBytes(const MpaFrame& frame) {
  Buffer bytes;
  iwarp::EncodeMpaFrame(frame, bytes);
  return bytes;
}

class RawPeer {
 public:
  explicit RawPeer(Descriptor socket) : socket_(std::move(socket)) {
    const timeval patience{20, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  static RawPeer ConnectTo(uint16_t port) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return RawPeer(std::move(socket));
  }

  void Write(Bytes bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void Write(Conversation& conversation) {
    for (const auto& written : conversation.Take()) Write(written.bytes);
  }
  // Exactly `n` bytes; fewer at the end of the stream.
  Buffer Read(size_t n) {
    Buffer bytes(n);
    size_t have = 0;
    while (have < n) {
      const ssize_t got = ::recv(socket_.get(), bytes.data() + have, n - have, 0);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  bool AtEnd() { return Read(1).empty(); }
  bool NothingToRead() {
    std::byte b;
    return ::recv(socket_.get(), &b, 1, MSG_DONTWAIT) < 0;
  }
  std::optional<MpaFrame> ReadFrame() {
    frame_ = Read(iwarp::kMpaHeaderSize);
    const size_t size = iwarp::MpaFrameSize(frame_);
    if (size == 0) return {};
    const Buffer rest = Read(size - frame_.size());
    frame_.insert(frame_.end(), rest.begin(), rest.end());
    MpaFrame frame;
    if (iwarp::DecodeMpaFrame(frame_, frame_.size(), frame) != ParseStatus::kOk) return {};
    return frame;
  }
  // The next FPDU's segment (without markers).
  std::optional<iwarp::DdpSegment> ReadSegment(bool crc) {
    fpdu_ = Read(2);
    if (fpdu_.size() < 2) return {};
    const Buffer rest = Read(iwarp::FpduSize(LoadBe16(fpdu_.data()), 0, false) - 2);
    fpdu_.insert(fpdu_.end(), rest.begin(), rest.end());
    iwarp::Fpdu fpdu;
    std::vector<std::byte> scratch;
    if (iwarp::DecodeFpdu(fpdu_, fpdu_.size(), 0, false, scratch, fpdu) != ParseStatus::kOk) return {};
    EXPECT_EQ(fpdu.crc_field, crc ? iwarp::ComputeFpduCrc(fpdu_) : 0u);
    iwarp::DdpSegment segment;
    if (iwarp::DecodeDdpSegment(fpdu.ulpdu, fpdu.ulpdu_length, segment) != ParseStatus::kOk) return {};
    return segment;
  }
  // What follows until a Terminate, which is followed by the end of the stream.
  std::optional<iwarp::Terminate> ReadTerminate(bool crc) {
    while (auto segment = ReadSegment(crc)) {
      if (segment->header.opcode != iwarp::Opcode::kTerminate) continue;
      EXPECT_EQ(segment->header.queue, 2u);
      EXPECT_EQ(segment->header.sequence, 1u);
      EXPECT_TRUE(segment->header.last);
      iwarp::Terminate terminate;
      EXPECT_EQ(iwarp::DecodeTerminate(segment->payload, segment->payload_length, terminate), ParseStatus::kOk);
      EXPECT_TRUE(AtEnd());
      return terminate;
    }
    return {};
  }
  void FinishSending() { ::shutdown(socket_.get(), SHUT_WR); }
  void Reset() {
    const linger now{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_ = Descriptor();
  }
  void Close() { socket_ = Descriptor(); }

 private:
  Descriptor socket_;
  Buffer frame_, fpdu_;
};

// A socket that takes connections.
class RawListener {
 public:
  RawListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  uint16_t port() const { return port_; }
  RawPeer Accept() { return RawPeer(Descriptor(::accept(socket_.get(), nullptr, nullptr))); }

 private:
  Descriptor socket_;
  uint16_t port_ = 0;
};

}  // namespace stag::endpoint::test
