// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventScript: plays fabric events of one connection into a Sink, a frame each, as a capture would. Side 0 is the
// client.
#pragma once

#include "tests/support/script.h"

namespace stag::test {

class EventScript : public Script {
 public:
  explicit EventScript(fabric::Sink& sink, fabric::ConnectionId id = 1);

  void OpenWith(const Buffer& client, const Buffer& server) override;
  void OpenMidstream() override;

  // A Send of which the capture has only the first `captured` bytes.
  void SendTruncated(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured);
  // A Send whose last packets were lost: only the first `captured` bytes are known of.
  void SendLost(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured);
  void Write(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  void ReadRequest(fabric::Side from, uint32_t handle, uint64_t offset, uint32_t length) override;
  void ReadResponse(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  // The first packet of a response that goes on.
  void ReadResponseBegins(fabric::Side from, uint32_t handle, uint64_t offset, const Buffer& bytes);
  void Gap(fabric::Side from, const fabric::Gap& gap = {1});
  void CloseWith(const fabric::Closed& closed);
  void Nak(fabric::Side from, fabric::NakKind kind) override;
  // RDMAP Terminate; says, as Nak, what the other side sent last.
  void Terminate(fabric::Side from, uint8_t layer, uint8_t type, uint8_t code);
  // What the set-up message of `from` says of RDMA Reads; before Open.
  void SayReads(fabric::Side from, uint16_t served, uint16_t issued) { reads_[from] = {served, issued}; }

  uint64_t frame() const override { return frame_; }
  // What events say of the connection, to be changed before it opens.
  fabric::ConnectionInfo& info() { return info_; }

 private:
  void CloseFor(fabric::CloseReason reason) override;
  void SendMessage(fabric::Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) override;
  template <typename Kind>
  fabric::Event Next(fabric::Side from, const Kind& what);
  template <typename Kind>
  void Rdma(fabric::Side from, uint32_t handle, uint64_t offset, Bytes bytes, uint64_t length, bool last);
  void Refuse(fabric::Side from, fabric::Nak& nak);
  void SendPart(fabric::Side from, const Buffer& bytes, size_t captured, uint64_t length, fabric::Missing missing);

  fabric::Sink& sink_;
  struct Reads {
    std::optional<uint16_t> served, issued;
  };

  fabric::ConnectionInfo info_;
  std::array<Reads, 2> reads_;
  std::array<FrameRef, 2> last_;  // by side, what it sent last
  uint64_t frame_ = 0;
};

}  // namespace stag::test
