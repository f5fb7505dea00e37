// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionHistory: an Observer that keeps the last events of each connection, and makes a ladder of those around a
// finding. It must come before the engine in the Session's list of observers. Memory is bounded: there is a limit of
// entries per connection and for all connections; a ladder whose beginning was dropped is marked as such.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "conformance/report/ladder.h"

namespace stag::conformance {

struct ConnectionHistoryOptions {
  size_t entries_per_connection = 512;
  size_t entries = 1u << 16;  // over all connections

  // As many entries as so many bytes have room for, up to those of above.
  static ConnectionHistoryOptions Of(uint64_t memory) {
    constexpr uint64_t kEntryBytes = 320;
    ConnectionHistoryOptions options;
    options.entries = static_cast<size_t>(std::min<uint64_t>(options.entries, memory / kEntryBytes));
    return options;
  }
};

// What an event of a connection changes in its history.
struct HistoryStep {
  enum class Kind : uint8_t {
    kEntry,       // a new one
    kAgain,       // an orphan that was an entry before: it was an answer
    kOperations,  // a Call is complete: of `entry` the xid, the frame, operations and the procedure count
  };
  Kind kind = Kind::kEntry;
  fabric::ConnectionId connection = 0;
  DiagramEvent entry;
};

// Makes the steps of all events; who keeps the history may be elsewhere.
class HistorySteps : public session::Observer {
 public:
  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnConnectionClosed(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;
  void OnAnomaly(const session::Connection&, const fabric::Event&) override;

  void OnCallComplete(const session::Connection&, const session::Transaction&) override;

 protected:
  virtual void OnStep(HistoryStep&& step) = 0;
};

class ConnectionHistory final : public HistorySteps {
 public:
  explicit ConnectionHistory(const ConnectionHistoryOptions& options = {}) : options_(options) {}

  void OnStep(HistoryStep&& step) override;

  // What happened around the finding that was made just now; null for a finding outside of any connection. The ladder
  // grows for a while: until the RPC was answered and a little more, or the connection ended.
  std::shared_ptr<const Ladder> LadderOf(const Finding& finding);

 private:
  // A ladder that still grows.
  struct Watch {
    std::shared_ptr<Ladder> ladder;
    std::optional<uint32_t> xid;  // nullopt: the set-up
    std::optional<bool> backward;
    uint64_t frame = 0;       // that breaks the rule or proves it, while no entry of it was seen; then 0
    Mark mark = Mark::kNone;  // of that frame
    uint32_t patience = 0;
  };
  struct Timeline {
    // The entry that breaks the rule, and the one that proves it: indices; entries.size(): not among them, or presumed.
    std::pair<size_t, size_t> FindOffender(const Finding& finding) const;

    std::deque<DiagramEvent> entries;
    bool forgot = false;  // earlier entries are gone
    std::vector<Watch> watches;
    std::list<fabric::ConnectionId>::iterator age;
  };

  void Record(fabric::ConnectionId connection, DiagramEvent&& entry);
  void Again(fabric::ConnectionId connection, DiagramEvent&& entry);
  void TakeOperations(fabric::ConnectionId connection, const DiagramEvent& call);
  bool Extend(Timeline& timeline, const DiagramEvent& entry);
  void Grow(Timeline& timeline, const DiagramEvent& entry, bool extended);
  void Forget(fabric::ConnectionId id);

  const ConnectionHistoryOptions options_;
  std::unordered_map<fabric::ConnectionId, Timeline> timelines_;
  std::list<fabric::ConnectionId> by_age_;  // the one longest silent first
  size_t entries_ = 0;
  uint64_t serial_ = 0;
  fabric::ConnectionId closed_ = 0;  // to be forgotten with the next entry
};

}  // namespace stag::conformance
