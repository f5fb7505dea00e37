// SPDX-License-Identifier: GPL-2.0-or-later
//
// StatusFlags: what a server says of a client's state beside the results of its RPCs: the status flags of SEQUENCE (RFC
// 8881 section 18.46), for each connection.
#pragma once

#include <unordered_map>
#include <vector>

#include "session/rpcrdma/session.h"

namespace stag::session {

// One flag, as the Replies of a connection have it.
struct FlagSpan {
  uint32_t flag = 0;
  uint64_t replies = 0;            // with it
  FrameRef first = {}, last = {};  // of these
  FrameRef ended = {};             // the first Reply behind the last of them that has it not; number 0: none came
};

class StatusFlagsSink {
 public:
  virtual ~StatusFlagsSink() = default;
  // When a connection closes that had any: those that RFC 8881 defines, by the first frame.
  virtual void OnStatusFlags(const Connection& connection, const std::vector<FlagSpan>& spans) = 0;
};

class StatusFlagsObserver final : public Observer {
 public:
  // `sink` must outlive this.
  explicit StatusFlagsObserver(StatusFlagsSink& sink) : sink_(sink) {}

  void OnMessage(const Connection& connection, const Message& message, const Transaction* t) override;
  void OnConnectionClosed(const Connection& connection, const fabric::Event& event) override;

 private:
  StatusFlagsSink& sink_;
  // Of open connections with flags: no more spans each than there are flags.
  std::unordered_map<fabric::ConnectionId, std::vector<FlagSpan>> spans_;
};

}  // namespace stag::session
