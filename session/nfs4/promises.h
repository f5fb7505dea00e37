// SPDX-License-Identifier: GPL-2.0-or-later
//
// Promises: what outlives its COMPOUND and ends with another one, perhaps on another connection. A delegation that the
// server recalls (RFC 8881 section 20.2) is to be returned; a copy that the server carries out behind its Reply (RFC
// 7862 section 15.2) is to be ended by CB_OFFLOAD. Both are known by their stateids, without the sequence number.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "session/rpcrdma/session.h"

namespace stag::session {

enum class PromiseKind : uint8_t { kReturn, kOffload };

// What an RPC says of a promise.
struct PromiseStep {
  using Key = std::array<std::byte, 12>;

  PromiseKind kind = PromiseKind::kReturn;
  bool settled = false;  // else begun
  Key key{};
  fabric::ConnectionId connection = 0;
  FrameRef frame = {};  // of the Call
};

class PromiseSink {
 public:
  virtual ~PromiseSink() = default;
  virtual void OnPromise(const PromiseStep& step) = 0;
};

// Finds the steps in the RPCs of connections. Looks at RPCs alone, and keeps nothing.
class PromiseObserver final : public Observer {
 public:
  // `sink` must outlive this.
  explicit PromiseObserver(PromiseSink& sink) : sink_(sink) {}

  void OnCallComplete(const Connection& connection, const Transaction& t) override;
  void OnTransaction(const Connection& connection, const Transaction& t) override;

 private:
  PromiseSink& sink_;
};

// Those that are open, of all connections. Takes the steps in the order of the capture.
class Promises {
 public:
  static constexpr size_t kMost = 4096;

  struct Open {
    PromiseKind kind = PromiseKind::kReturn;
    fabric::ConnectionId connection = 0;
    FrameRef frame;  // where it began
  };

  void Take(const PromiseStep& step);
  // By frame. Nothing where some may have been settled that nobody noted.
  std::vector<Open> StillOpen() const;
  uint64_t left_out() const { return left_out_; }

 private:
  // CB_OFFLOAD may overtake the Reply that it is about, and that Reply may come again.
  struct Entry : Open {
    bool begun = false, settled = false;
  };
  std::map<std::pair<PromiseKind, PromiseStep::Key>, Entry> entries_;
  uint64_t left_out_ = 0;
};

}  // namespace stag::session
