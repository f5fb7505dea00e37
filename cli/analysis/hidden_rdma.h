// SPDX-License-Identifier: GPL-2.0-or-later
//
// HiddenRdma: gives events on; those of connections whose recording says that one side's RDMA is not in it
// (session/fabric/hidden_rdma.h) with that in their ConnectionInfo.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "session/fabric/fabric_event.h"

namespace stag::cli {

class HiddenRdma final : public fabric::Sink {
 public:
  // `sink` must outlive this.
  explicit HiddenRdma(fabric::Sink& sink) : sink_(sink) {}
  // The comment of the next frame; empty: it has none.
  void OnComment(std::string_view comment);
  void OnEvent(const fabric::Event& event) override;
  void OnAside(const fabric::Aside& aside) override { sink_.OnAside(aside); }
  void OnRecovery(const fabric::Recovery& recovery) override { sink_.OnRecovery(recovery); }
  void OnSighting(const fabric::Sighting& sighting) override { sink_.OnSighting(sighting); }

 private:
  fabric::Sink& sink_;
  bool looking_ = false;                                                     // a comment of this kind was seen
  std::optional<fabric::Side> next_;                                         // of the connection that begins next
  fabric::ConnectionId newest_ = 0;                                          // of those that began
  std::unordered_map<fabric::ConnectionId, fabric::ConnectionInfo> marked_;  // that are open
};

}  // namespace stag::cli
