// SPDX-License-Identifier: GPL-2.0-or-later
//
// How two ends of software iWARP come to terms: the MPA request and reply (RFC 5044 section 7.1; RFC 6581), what both
// make of them, and reading them from a stream.
#pragma once

#include <array>
#include <optional>

#include "protocol/iwarp/mpa.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/endpoint/soft_iwarp_stream.h"

namespace stag::endpoint {

struct Terms {
  // The first FPDU in peer-to-peer mode, from the initiator (RFC 6581 section 4).
  enum class Ready : uint8_t { kNone, kEmptyFpdu, kWrite, kRead };

  bool initiator = false;
  bool crc = false;
  bool send_markers = false, receive_markers = false;
  uint16_t inbound_reads = 0, outbound_reads = 0;
  bool peer_to_peer = false;
  Ready ready = Ready::kNone;  // initiator: to send
  // Initiator: the reply cannot be lived with: to be said by a Terminate of layer LLP with this code, and why.
  uint8_t terminate_code = 0;
  std::string objection;
};

iwarp::MpaFrame MakeRequest(const SoftIwarpOptions& own, const EndpointOptions& options, uint8_t revision);
// The initiator's terms. `reply` rejects nothing.
Terms FromReply(const iwarp::MpaFrame& request, const iwarp::MpaFrame& reply, const EndpointOptions& options);
// The responder's reply and terms.
iwarp::MpaFrame MakeReply(const SoftIwarpOptions& own, const EndpointOptions& options, const iwarp::MpaFrame& request,
                          Terms& terms);
iwarp::MpaFrame MakeReject(const iwarp::MpaFrame& request, Bytes private_data);

// Reads one set-up frame, and no byte behind it.
class SetupReader {
 public:
  enum class Status : uint8_t { kMore, kDone, kBad };

  explicit SetupReader(iwarp::MpaFrame::Kind kind) : kind_(kind) {}
  // One attempt. kBad: why() says what came instead of a frame.
  Status Receive(ByteStream& stream);
  // The private data is a view into this.
  const iwarp::MpaFrame& frame() const { return frame_; }
  Bytes bytes() const { return Bytes(bytes_).first(have_); }
  const std::string& why() const { return why_; }

 private:
  Status Bad(std::string why);

  iwarp::MpaFrame::Kind kind_;
  std::array<std::byte, iwarp::kMpaHeaderSize + iwarp::kMaxPrivateData> bytes_{};
  size_t have_ = 0;
  iwarp::MpaFrame frame_;
  std::string why_;
};

}  // namespace stag::endpoint
