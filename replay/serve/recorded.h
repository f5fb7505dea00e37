// SPDX-License-Identifier: GPL-2.0-or-later
//
// RecordedService: answers Calls from a Recording. A Call gets the recorded Reply to the Call with the same CallKey;
// the same Call again gets the next recorded Reply to it, and after the last that one again. This is counted for each
// live connection, which goes first by one recorded connection: the one that its first Call but NULL is found in (of
// several, the one that fewest go by, and fewest have gone by). What is not in the recording is answered with an error
// (not_recorded.h) and counted. Connections may be on different threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/recording/recording.h"
#include "replay/serve/call_key.h"
#include "replay/serve/rpc_service.h"

namespace stag::serve {

class RecordedService final : public rpcrdma::Service {
 public:
  // `recording` must outlive this.
  explicit RecordedService(const recording::Recording& recording);
  ~RecordedService() override;

  std::unique_ptr<rpcrdma::Service> NewConnection() override;
  // As for one connection of its own.
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override;

  // Recorded Replies that can be given, and recorded Calls without one.
  uint64_t answers() const { return answers_; }
  uint64_t unusable() const { return unusable_; }

  // The file handle that the first Call of NFSv3 or v2 with one names: clients begin at the root. Empty: there is none.
  Bytes root() const { return root_; }

  struct Stats {
    uint64_t matched = 0;        // answered from the recording
    uint64_t repeated = 0;       // of these, with a Reply that the connection had got before
    uint64_t other_stateid = 0;  // of these, with the Reply to a Call that differs in its stateids
    uint64_t unmatched = 0;      // answered with an error
    uint64_t callbacks = 0;      // Calls of the recorded server, which were made again
  };
  const Stats& stats() const { return stats_; }
  // By procedure; `refused`: not matched.
  const ProcedureCounts& counts() const { return counts_; }
  // Calls that were not matched, with the reason: the first of each kind, and how many. At most 64 kinds.
  struct Sample {
    std::string text;
    uint64_t times = 0;
  };
  const std::map<std::string, Sample>& samples() const { return samples_; }

 private:
  class Link;
  // The Calls of one recorded connection with one key.
  struct Group {
    uint32_t connection = 0;
    std::vector<const recording::RecordedRpc*> answers;
    std::string_view why;  // there is none; static
  };
  struct Key {
    const recording::RecordedRpc* first = nullptr;
    std::vector<uint32_t> groups;
  };
  struct Keys {
    explicit Keys(Stateids how) : stateids(how) {}
    // Of `all`; null: there is none.
    Key* Find(Bytes key, CallKey& scratch);

    Stateids stateids;
    std::vector<Key> all;
    std::unordered_multimap<uint64_t, uint32_t> index;  // of `all`, by their hashes
  };
  void Add(const recording::RecordedRpc& rpc);
  void AddCallbacks(const recording::Recording& recording);
  void AddTo(Keys& keys, const rpc::CallHeader& header, const recording::RecordedRpc& rpc, bool usable);
  void PutRecorded(const recording::RecordedMessage& recorded, rpcrdma::ServiceReply& reply) const;
  void Answer(Link& link, Bytes call, rpcrdma::ServiceReply& reply);
  // With the next Reply of a group that has some.
  void Give(Link& link, const rpc::CallHeader& header, uint32_t group, Stateids how, rpcrdma::ServiceReply& reply);
  void Refuse(Link& link, const rpc::CallHeader& header, Bytes call, std::string_view why,
              rpcrdma::ServiceReply& reply);

  const recording::PayloadStore& store_;
  std::vector<Group> groups_;
  Keys exact_{Stateids::kKept}, but_for_stateids_{Stateids::kLeftOut};
  // How many live connections go by a recorded one, and how many have ever.
  struct Use {
    uint32_t now = 0, ever = 0;
    auto operator<=>(const Use&) const = default;
  };
  // The Calls that the recorded server made behind a Reply and before the next.
  std::unordered_map<const recording::RecordedRpc*, std::vector<const recording::RecordedRpc*>> callbacks_;
  std::unique_ptr<Link> own_;
  uint64_t answers_ = 0, unusable_ = 0;
  Bytes root_;

  std::mutex mutex_;       // of all below
  std::vector<Use> uses_;  // by recorded connection
  std::unique_ptr<RpcService> otherwise_;
  Stats stats_;
  ProcedureCounts counts_;
  std::map<std::string, Sample> samples_;
};

}  // namespace stag::serve
