// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recording/recording.h"

#include <algorithm>
#include <utility>

namespace stag::recording {

RecordingBuilder::RecordingBuilder(uint64_t memory) : most_(std::max<uint64_t>(memory / kIndexed, 1)) {
  recording_.store = std::make_unique<PayloadStore>(memory);
}

RecordedConnection& RecordingBuilder::Find(const session::Connection& connection) {
  const auto [it, added] = index_.try_emplace(connection.info.id, static_cast<uint32_t>(recording_.connections.size()));
  if (added) recording_.connections.emplace_back().id = connection.info.id;
  return recording_.connections[it->second];
}

void RecordingBuilder::OnTransaction(const session::Connection& connection, const session::Transaction& t) {
  if (connection.proof != session::Proof::kRpcRdma) return;
  if (session::IsCut(t)) {
    ++recording_.cut;
    return;
  }
  if (recording_.rpcs.size() >= most_) {
    full_ = true;
    return;
  }
  Find(connection);
  RecordedRpc rpc;
  rpc.connection = index_.at(connection.info.id);
  recorder_.TakeAll(t, *recording_.store, rpc);
  static_assert(std::is_trivially_copyable_v<RecordedRpc> && alignof(RecordedRpc) <= 8);
  const Bytes kept = recording_.store->Keep(std::as_bytes(std::span(&rpc, 1)));
  if (!kept.empty()) recording_.rpcs.push_back(reinterpret_cast<const RecordedRpc*>(kept.data()));
}

void RecordingBuilder::OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) {
  if (connection.proof != session::Proof::kRpcRdma) return;
  RecordedConnection& out = Find(connection);
  out = Describe(connection);
  out.closed = event.closed().reason != fabric::CloseReason::kEndOfCapture;
  index_.erase(connection.info.id);
}

Result<Recording> RecordingBuilder::Finish() {
  if (!recording_.store->error().empty()) return Fail(recording_.store->error());
  if (full_)
    return Fail("the index of more than " + std::to_string(most_) +
                " calls takes more than half of --memory: raise it, or take a part of the capture");
  std::ranges::sort(recording_.rpcs, {}, &RecordedRpc::serial);
  for (size_t i = 0; i < recording_.rpcs.size(); ++i)
    recording_.connections[recording_.rpcs[i]->connection].rpcs.push_back(static_cast<uint32_t>(i));
  return std::move(recording_);
}

}  // namespace stag::recording
