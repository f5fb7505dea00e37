// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencySampler: an Observer that makes a LatencySample of each answered RPC: its times, its key, and what happened on
// its connection meanwhile.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/latency/latency_table.h"
#include "session/files/file_accesses.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

enum class LatencyKey : uint8_t { kProcedure, kConnection, kClient, kServer, kFile, kSize };

class LatencySampler : public session::Observer {
 public:
  // A name that was seen for a file handle, and when.
  struct FileName {
    uint64_t frame = 0;
    std::string name;
  };

  // `file`: stands before the number of a connection when it is the key.
  LatencySampler(LatencyKey by, std::optional<std::string> file) : by_(by), file_(std::move(file)) {}

  void OnMessage(const session::Connection& connection, const session::Message& message,
                 const session::Transaction* t) override;
  void OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) override;
  void OnNak(const session::Connection& connection, const fabric::Event& event) override;
  void OnGap(const session::Connection& connection, const fabric::Event& event) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;

  // By the key that stands for the file.
  const std::unordered_map<std::string, FileName>& names() const { return names_; }
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
  void TakeKey(const session::Connection& connection, const session::Transaction& t);
  void TakeFile(const session::Transaction& t);
  void TakeSize(const session::Transaction& t);

  const LatencyKey by_;
  const std::optional<std::string> file_;
  LatencySample sample_;  // used again and again
  session::FileAccesses accesses_;
  std::vector<Watch> watches_;  // by ConnectionInfo::slot
  std::unordered_map<std::string, FileName> names_;
  uint64_t untimed_ = 0, phases_missing_ = 0, cut_ = 0;
};

}  // namespace stag::cli
