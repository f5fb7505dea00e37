// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencySampler: an Observer that makes a LatencySample of each answered RPC that a Filter asks for: its times, its
// key, and what happened on its connection meanwhile.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/filter.h"
#include "analysis/latency_keys.h"
#include "analysis/latency_table.h"
#include "session/rpcrdma/session.h"

namespace stag::analysis {

class LatencySampler : public session::Observer {
 public:
  // `file`: stands before the number of a connection when it is the key. `memory`: bytes, of names of files. `filter`:
  // which RPCs are sampled; `origin_ns`: the time of the first frame, once it is known. Both must outlive this.
  LatencySampler(LatencyKey by, std::optional<std::string> file, uint64_t memory, const Filter& filter,
                 const int64_t& origin_ns)
      : filter_(filter), origin_ns_(origin_ns), keys_(by, std::move(file)), names_(memory) {}

  void OnMessage(const session::Connection& connection, const session::Message& message,
                 const session::Transaction* t) override;
  bool WantsDeliveries() const override { return true; }
  bool WantsBytesLater() const override { return false; }
  void OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) override;
  void OnNak(const session::Connection& connection, const fabric::Event& event) override;
  void OnGap(const session::Connection& connection, const fabric::Event& event) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;

  FileNames& names() { return names_; }
  uint64_t untimed() const { return untimed_; }  // RPCs that have an answer, but no round-trip time
  uint64_t phases_missing() const { return phases_missing_; }
  uint64_t cut() const { return cut_; }  // left out, for the capture has too little of the Call

 protected:
  virtual void OnSample(const LatencySample& sample) = 0;

 private:
  // What was last seen of a connection, in ns; kNever: nothing.
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr size_t kSilences = 32;
  struct Silence {
    int64_t begin = 0, end = 0;
  };
  struct Watch {
    std::array<int64_t, kMeanwhiles> last{kNever, kNever, kNever, kNever};
    bool used_up = false;  // all credits, since the last message
    int64_t last_packet = kNever;
    std::array<Silence, kSilences> silences;  // the newest long ones, in a ring
    size_t next_silence = 0;
  };

  Watch& Seen(const session::Connection& connection, const FrameRef& frame);
  void Note(const session::Connection& connection, const fabric::Event& event, Meanwhile what);

  const Filter& filter_;
  const int64_t& origin_ns_;
  LatencyKeys keys_;
  FileNames names_;
  LatencySample sample_;       // used again and again
  std::deque<Watch> watches_;  // by ConnectionInfo::slot
  uint64_t untimed_ = 0, phases_missing_ = 0, cut_ = 0;
};

}  // namespace stag::analysis
