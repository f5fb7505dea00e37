// SPDX-License-Identifier: GPL-2.0-or-later
//
// VerbsEvents: fabric events of a verbs connection. What this side does shows when it is posted, so that it comes
// before what the peer does because of it; what an RDMA Read brought, when it has. What the peer does by RDMA does not
// show.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "replay/endpoint/shown_bytes.h"

namespace stag::endpoint {

// A side's part of the set-up.
struct VerbsSetup {
  Bytes private_data;
  uint16_t reads_served = 0, reads_issued = 0;
};

class VerbsEvents {
 public:
  // Both must outlive this. `active`: this side connects, and is side 0.
  VerbsEvents(EventLog& log, const fabric::ConnectionInfo& info, bool active)
      : log_(log), shown_(log), info_(info), own_(active ? 0 : 1) {}

  void OnSetup(const VerbsSetup& request, const VerbsSetup& reply);
  void OnRejected(const VerbsSetup& request, Bytes private_data, uint16_t reason);

  // Bytes that are shown lie in memory of the endpoint's, long ones at least.
  void OnSend(std::span<const Bytes> pieces, std::optional<uint32_t> invalidate);
  void OnWrite(Bytes bytes, uint32_t handle, uint64_t offset);
  void OnReadRequest(uint64_t length, uint32_t handle, uint64_t offset);
  void OnReadResponse(Bytes bytes, uint32_t handle, uint64_t offset);
  void OnReceived(Bytes message, std::optional<uint32_t> invalidated);
  // The peer refused something; of an RDMA operation, `length` bytes at `handle` and `offset`.
  void OnNak(fabric::NakKind kind, uint32_t handle, uint64_t offset, uint64_t length);
  void OnClosed(fabric::CloseReason reason, bool by_peer);
  ShownBytes& shown() { return shown_; }

 private:
  fabric::Side peer() const { return static_cast<fabric::Side>(1 - own_); }
  bool iwarp() const { return info_.fabric == fabric::FabricKind::kIwarp; }
  void Setup(fabric::SetupMessage message, fabric::Side from, const VerbsSetup& setup, uint16_t reason = 0);
  template <typename Kind>
  void Emit(const Kind& what, fabric::Side from, Bytes bytes = {});

  EventLog& log_;
  ShownBytes shown_;
  const fabric::ConnectionInfo& info_;
  const fabric::Side own_;
  std::vector<std::byte> scratch_;
};

}  // namespace stag::endpoint
