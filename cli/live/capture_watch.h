// SPDX-License-Identifier: GPL-2.0-or-later
//
// What `stag capture` sees while it captures: the comment of each packet in the file, and whether a trigger fires.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conformance/engine/engine.h"
#include "protocol/base/result.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

// Something that makes a capture write what it kept.
struct Trigger {
  enum class On : uint8_t {
    kFinding,  // of the conformance engine
    kError,    // an RDMA_ERROR, a NAK that refuses, a Terminate
    kRnr,      // an RNR NAK
    kLatency,  // an RPC that took longer than `longer_than_ns`
  };
  On on = On::kFinding;
  int64_t longer_than_ns = 0;
};
// "finding", "error", "rnr", "latency>20ms"; the error is for people.
Result<Trigger> ParseTrigger(std::string_view text);

// An observer and a sink of findings (which go on to the next sink): comments for the packet being processed, and why
// the first trigger fired.
class CaptureWatch final : public session::Observer, public conformance::FindingSink {
 public:
  // `judged`: findings will come. `next`: gets them, too; nullptr: nobody.
  CaptureWatch(std::vector<Trigger> triggers, bool judged, conformance::FindingSink* next)
      : triggers_(std::move(triggers)), judged_(judged), next_(next) {}

  void OnFinding(const conformance::Finding& finding) override;
  void OnMessage(const session::Connection& connection, const session::Message& message,
                 const session::Transaction* transaction) override;
  void OnNak(const session::Connection& connection, const fabric::Event& event) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& transaction) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;

  // What was noticed since the last call, for the comment of the packet that was just processed; valid until the next.
  std::string_view TakeComment();
  // Why a trigger fired, once; a sentence.
  const std::optional<std::string>& fired() const { return fired_; }

 private:
  struct Counts {
    uint64_t findings = 0, transactions = 0;
  };
  Counts& At(const session::Connection& connection);
  void Say(std::string_view text);
  template <typename Fn>
  void Fire(Trigger::On on, Fn why);

  std::vector<Trigger> triggers_;
  bool judged_;
  conformance::FindingSink* next_;
  std::unordered_map<fabric::ConnectionId, Counts> connections_;  // RPC-over-RDMA, until they close
  std::string comment_, taken_;
  std::optional<std::string> fired_;
};

}  // namespace stag::cli
