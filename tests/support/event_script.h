// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventScript: plays fabric events of one connection into a Sink, a frame each, as a capture would. Side 0 is the
// client. Also small makers of RPC messages and headers for tests of the session and of rules.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "session/fabric/fabric_event.h"

namespace stag::test {

using Buffer = std::vector<std::byte>;

class EventScript {
 public:
  explicit EventScript(fabric::Sink& sink, fabric::ConnectionId id = 1);

  // Set-up by CM with the private data of both sides (RFC 8797; nullopt: none), then established.
  void Open(std::optional<rpcrdma::PrivateData> client = rpcrdma::PrivateData{1, 1, 3, 3},
            std::optional<rpcrdma::PrivateData> server = rpcrdma::PrivateData{1, 1, 3, 3});
  // Joined in the middle: nothing known of roles or settings.
  void OpenMidstream();
  void Close(fabric::CloseReason reason = fabric::CloseReason::kDisconnect);

  void Send(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload = {},
            std::optional<uint32_t> invalidated = std::nullopt);
  void SendBytes(fabric::Side from, const Buffer& bytes, std::optional<uint32_t> invalidated = std::nullopt);
  // A Send of which the capture has only the first `captured` bytes.
  void SendTruncated(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured);
  // A Send whose last packets were lost: only the first `captured` bytes are known of.
  void SendLost(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured);
  void Write(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes);
  void ReadRequest(fabric::Side from, uint32_t handle, uint64_t offset, uint32_t length);
  void ReadResponse(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes);
  // Request and response at once; `reader` is the side that reads.
  void Read(fabric::Side reader, uint32_t handle, uint64_t offset, const Buffer& bytes);
  void Gap(fabric::Side from);
  void Nak(fabric::Side from, fabric::NakKind kind);

  // The frame number of the last event.
  uint64_t frame() const { return frame_; }

 private:
  fabric::Event Next(fabric::EventKind kind, fabric::Side from);
  void SendPart(fabric::Side from, const Buffer& bytes, size_t captured, uint64_t length, fabric::Missing missing);

  fabric::Sink& sink_;
  fabric::ConnectionInfo info_;
  uint64_t frame_ = 0;
};

// A version 1 header with 32 credits and no chunks.
rpcrdma::Header MakeHeader(uint32_t proc, uint32_t xid, uint32_t credit = 32);
void AddRead(rpcrdma::Header& header, uint32_t position, rpcrdma::Segment segment);
void AddWriteChunk(rpcrdma::Header& header, std::vector<rpcrdma::Segment> segments);
void SetReplyChunk(rpcrdma::Header& header, std::vector<rpcrdma::Segment> segments);

// RPC messages with AUTH_NONE; `body` follows the header.
Buffer MakeCall(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure, const Buffer& body = {});
Buffer MakeReply(uint32_t xid, const Buffer& body = {}, uint32_t accept_stat = 0);

// XDR: numbers as 32-bit words, and opaques with count and padding.
Buffer Words(std::initializer_list<uint32_t> words);
Buffer Opaque(const Buffer& data);
Buffer Join(std::initializer_list<Buffer> parts);
// `n` bytes that differ from place to place and by `seed`.
Buffer Pattern(size_t n, uint8_t seed = 1);

}  // namespace stag::test
