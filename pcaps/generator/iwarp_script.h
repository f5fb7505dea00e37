// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpScript: a connection over iWARP between 192.0.2.1 (client) and 192.0.2.2: MPA revision 2 with CRCs, no markers,
// a TCP segment for each FPDU; data acknowledges data.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pcaps/generator/wire_script.h"
#include "tests/support/iwarp_wire.h"

namespace stag::evidence {

class IwarpScript : public WireScript {
 public:
  // `number` counts the connections of the capture.
  explicit IwarpScript(Capture& capture, uint32_t number = 1);

  void OpenWith(const Buffer& client, const Buffer& server) override;
  void OpenMidstream() override {}
  void Reject(const Buffer& client, const Buffer& server) override;
  WireScript& Another() override;
  void Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  void ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) override;
  // The whole response.
  void ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) override;
  // A Terminate with the error of RFC 5040 and RFC 5041 that comes nearest.
  void Nak(Side from, fabric::NakKind kind) override;
  void Settle() override;
  void Rewind(Side from) override;

  // A Send in one FPDU, whose CRC32C is wrong.
  void SendDamaged(Side from, const Buffer& bytes);
  // Bytes of the TCP stream in front of the MPA exchange: another protocol. The first opens the TCP connection.
  void Before(Side from, const Buffer& bytes);

 private:
  void Flush();
  void CloseFor(fabric::CloseReason reason) override;
  void SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) override;
  // The TCP handshake, unless it is done.
  void Handshake();
  void Segment(Side from, uint8_t flags, Bytes payload);

  uint32_t number_;
  fabric::test::Conversation conversation_;
  std::array<uint32_t, 2> next_sequence_{}, last_sequence_{};  // last: where the last action of a side began
  bool connected_ = false;
  std::vector<iwarp::ReadRequest> reads_[2];  // by reader
  std::unique_ptr<IwarpScript> next_;
};

}  // namespace stag::evidence
