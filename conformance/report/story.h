// SPDX-License-Identifier: GPL-2.0-or-later
//
// Story: an Observer that remembers, of each connection, the last arrows, and tells for a finding what happened around
// it. It must come before the engine in the Session's list of observers. Memory is bounded: so many arrows per
// connection and over all connections; where a story began earlier, its ladder says so.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "conformance/report/ladder.h"

namespace stag::conformance {

struct StoryOptions {
  size_t arrows_per_connection = 512;
  size_t arrows = 1u << 16;  // over all connections
};

class Story final : public session::Observer {
 public:
  explicit Story(const StoryOptions& options = {}) : options_(options) {}

  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnConnectionClosed(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;

  void OnCallComplete(const session::Connection&, const session::Transaction&) override;

  // What happened around the finding that was made just now; null for a finding outside of any connection. The ladder
  // grows for a while: until the RPC was answered and a little more, or the connection ended.
  std::shared_ptr<const Ladder> Tell(const Finding& finding);

 private:
  // A ladder that still grows.
  struct Watch {
    std::shared_ptr<Ladder> ladder;
    std::optional<uint32_t> xid;  // nullopt: the set-up
    std::optional<bool> backward;
    uint64_t frame = 0;  // of the finding, while no arrow of it was seen; then 0
    uint32_t patience = 0;
  };
  struct History {
    // The arrow that breaks the rule, and the one that proves it: indices; arrows.size(): not among them.
    std::pair<size_t, size_t> Culprit(const Finding& finding) const;

    std::deque<Arrow> arrows;
    bool forgot = false;  // earlier arrows are gone
    std::vector<Watch> watches;
    std::list<fabric::ConnectionId>::iterator age;
  };

  void Record(const session::Connection& connection, Arrow arrow);
  bool Extend(History& history, const Arrow& arrow);
  void Grow(History& history, const Arrow& arrow, bool extended);
  void Forget(fabric::ConnectionId id);

  const StoryOptions options_;
  std::unordered_map<fabric::ConnectionId, History> histories_;
  std::list<fabric::ConnectionId> by_age_;  // the one longest silent first
  size_t arrows_ = 0;
  uint64_t serial_ = 0;
  fabric::ConnectionId closed_ = 0;  // to be forgotten with the next arrow
};

}  // namespace stag::conformance
