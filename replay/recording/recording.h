// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recording: the RPCs of a capture, all of them at once, for `stag serve --mode recorded`, which answers Calls in
// whatever order they come. RecordingBuilder, a session::Observer, makes one. All that a Recording holds but an index
// of 8 bytes per RPC lies in its PayloadStore.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "protocol/base/result.h"
#include "replay/recording/recorded_rpc.h"

namespace stag::recording {

struct Recording {
  std::vector<RecordedConnection> connections;
  std::vector<const RecordedRpc*> rpcs;  // in order of the Calls
  uint64_t cut = 0;  // Calls that the capture cut so short that nothing of them is known; not in `rpcs`
  std::unique_ptr<PayloadStore> store;
};

class RecordingBuilder final : public session::Observer {
 public:
  // `memory`: bytes that are kept in memory; what is more goes to a temporary file. An index cannot: there are at most
  // `memory` / kIndexed RPCs.
  static constexpr uint64_t kIndexed = 256;
  explicit RecordingBuilder(uint64_t memory);

  void OnTransaction(const session::Connection& connection, const session::Transaction& transaction) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;

  // After Session::Finish. The error says why something could not be kept.
  Result<Recording> Finish();

 private:
  RecordedConnection& Find(const session::Connection& connection);

  Recording recording_;
  std::map<fabric::ConnectionId, uint32_t> index_;  // of those that are not closed yet
  RpcRecorder recorder_;
  const uint64_t most_;  // RPCs
  bool full_ = false;
};

}  // namespace stag::recording
