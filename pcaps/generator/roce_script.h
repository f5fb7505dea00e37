// SPDX-License-Identifier: GPL-2.0-or-later
//
// RoceScript: a connection over RoCEv2 between 192.0.2.1 (client) and 192.0.2.2. Each Send is acknowledged, RDMA Writes
// by the acknowledgment of the Send behind them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pcaps/generator/wire_script.h"
#include "tests/support/ib_wire.h"

namespace stag::evidence {

class RoceScript : public WireScript {
 public:
  // `number` counts the connections of the capture; `path_mtu`: bytes, 256 to 4096.
  explicit RoceScript(Capture& capture, uint32_t number = 1, uint32_t path_mtu = 1024);

  void OpenWith(const Buffer& client, const Buffer& server) override;
  void OpenMidstream() override {}
  void Reject(const Buffer& client, const Buffer& server) override;
  WireScript& Another() override;
  void Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  void ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) override;
  // The whole response, or packets of it from the place that `offset` names.
  void ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  void Nak(Side from, fabric::NakKind kind) override;
  void Settle() override;
  void Rewind(Side from) override;

  // One packet of a Send on an unreliable service (UD or UC), beside the connection.
  void Unreliable(Side from, uint8_t opcode, const Buffer& bytes);
  // An RDMA Write whose RETH states another length than that of its bytes.
  void WriteStating(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes, uint32_t stated);
  // Acknowledges so many packets more than the other side has sent.
  void AcknowledgeAhead(Side from, uint32_t packets);
  // The ICRC of the last packet is wrong; without one, all zeros.
  void BreakIcrc();
  void ClearIcrc();
  // One packet of the connection with this opcode, whatever went before.
  void Packet(Side from, uint8_t opcode, const Buffer& bytes);

 private:
  void Flush();
  struct PendingRead {
    Side reader = 0;
    uint32_t handle = 0;
    uint64_t offset = 0;
    uint32_t length = 0, psn = 0;
  };
  void CloseFor(fabric::CloseReason reason) override;
  void SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) override;
  ib::CmMessage Request(const Buffer& private_data) const;

  uint32_t number_, path_mtu_;
  test::IbWire wire_;
  test::IbTalk talk_;
  std::array<bool, 2> unacknowledged_{};  // by sender
  std::array<uint32_t, 2> last_psn_{};    // the first of the last operation of each side
  std::vector<PendingRead> reads_;
  std::unique_ptr<RoceScript> next_;
};

}  // namespace stag::evidence
