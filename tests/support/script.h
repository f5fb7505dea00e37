// SPDX-License-Identifier: GPL-2.0-or-later
//
// Script: what the two peers of one connection do, action by action. EventScript plays it as fabric events, the scripts
// of pcaps/generator as packets of a capture. Side 0 is the client.
#pragma once

#include <optional>

#include "session/fabric/fabric_event.h"
#include "tests/support/messages.h"

namespace stag::test {

inline constexpr fabric::Side kClient = 0, kServer = 1;

class Script {
 public:
  virtual ~Script() = default;

  // Set-up by CM or MPA with the private data of both sides (RFC 8797; nullopt: none), then established.
  void Open(std::optional<rpcrdma::PrivateData> client = rpcrdma::PrivateData{1, 1, 3, 3},
            std::optional<rpcrdma::PrivateData> server = rpcrdma::PrivateData{1, 1, 3, 3});
  // The same with any bytes as private data.
  virtual void OpenWith(const Buffer& client, const Buffer& server) = 0;
  // Joined in the middle: nothing known of roles or settings.
  virtual void OpenMidstream() = 0;
  void Close(fabric::CloseReason reason = fabric::CloseReason::kDisconnect) { CloseFor(reason); }

  void Send(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload = {},
            std::optional<uint32_t> invalidated = std::nullopt);
  void SendBytes(fabric::Side from, const Buffer& bytes, std::optional<uint32_t> invalidated = std::nullopt) {
    SendMessage(from, bytes, invalidated);
  }
  virtual void Write(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) = 0;
  virtual void ReadRequest(fabric::Side from, uint32_t handle, uint64_t offset, uint32_t length) = 0;
  virtual void ReadResponse(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) = 0;
  // Request and response at once; `reader` is the side that reads.
  void Read(fabric::Side reader, uint32_t handle, uint64_t offset, const Buffer& bytes);
  // `from` refuses what the other side sent last.
  virtual void Nak(fabric::Side from, fabric::NakKind kind) = 0;

  // The frame number of the last action; of several packets, the last.
  virtual uint64_t frame() const = 0;

 private:
  virtual void CloseFor(fabric::CloseReason reason) = 0;
  virtual void SendMessage(fabric::Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) = 0;
};

// The bytes of a Send.
Buffer MessageBytes(const rpcrdma::Header& header, const Buffer& payload);

}  // namespace stag::test
