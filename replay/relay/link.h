// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayLink: a client's connection and the one to the server that was made for it, and what crosses between them: the
// client's Calls and the server's (RFC 8167). When one side goes, so does the other. Threads: as its endpoints.
#pragma once

#include <array>
#include <deque>

#include "replay/relay/relay_direction.h"

namespace stag::relay {

struct RelayLinkOptions {
  uint32_t credits = 128;           // the most that the client is granted, and the server is asked for
  uint32_t max_message = 16 << 20;  // bytes of the chunks of one Call
  FaultOptions faults = {};
};

class RelayLink {
 public:
  // Callbacks that can be under way.
  static constexpr uint32_t kBackwardCredits = 32;
  // Fills what `options` says of receives and work requests into the options of an endpoint of a link, whose peer sends
  // at most `receive_size` bytes.
  static void Prepare(const RelayLinkOptions& options, uint32_t receive_size, endpoint::EndpointOptions& endpoint);

  struct End {
    std::unique_ptr<endpoint::Endpoint> endpoint;
    std::vector<std::byte> private_data;  // what the relay sent
  };
  // `options`, `memory`, for the chunks of Calls, and `report` must outlive the link. The report has a count for each
  // fault; which Calls they hit depends on the number of clients in it.
  RelayLink(End client, End server, const RelayLinkOptions& options, rpcrdma::ChunkMemory& memory, RelayReport& report);
  ~RelayLink();

  // Does what there is to do, without waiting. False: there was nothing.
  bool Poll();
  // When to Poll although no descriptor shows anything.
  std::optional<RelayDirection::Clock::time_point> due() const;
  // No Call is under way, nor waits.
  bool idle() const;
  // When something came last.
  RelayDirection::Clock::time_point last() const { return now_; }
  // Ends both connections in order.
  void Disconnect();
  // Does not wait for that any longer.
  void Abandon() { Retire(); }
  // Neither of them is left. What came of them is in the report then.
  bool over() const { return over_; }
  endpoint::Endpoint& endpoint(int side) const { return *side_[static_cast<size_t>(side)].endpoint; }

 private:
  size_t PollSide(size_t s);
  void OnMessage(size_t s, const endpoint::Completion& completion);
  bool Take(size_t s, const endpoint::Completion& completion);
  void SeeEnds();
  void Retire();

  RelayReport& report_;
  rpcrdma::ChunkShare share_;
  std::array<RelaySide, 2> side_;
  std::array<std::deque<endpoint::Completion>, 2> held_;  // Calls for which there was no room
  std::array<RelayDirection, 2> direction_;               // of the client's Calls, and of the server's
  rpcrdma::Header header_;
  RelayDirection::Clock::time_point now_ = RelayDirection::Clock::now();
  size_t next_ = 0;  // the side that is asked first: not the one that brought something last
  bool ending_ = false, over_ = false;
};

}  // namespace stag::relay
