// SPDX-License-Identifier: GPL-2.0-or-later
//
// Generator: a synthetic load on a live server, from the first connection to the report. Connections are divided into
// groups, each of which has a thread, memory and a report of its own; no locks.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "replay/generate/load_connection.h"

namespace stag::generate {

class Generator {
 public:
  // `events`: of all connections, used by one thread at a time: only with one thread. Both must outlive it.
  Generator(endpoint::Transport& transport, LoadOptions options, endpoint::EventLog* events);
  ~Generator();

  // Connects, makes the files, sends the load, cleans up. The error says why it could not begin, and is empty when
  // LoadOptions::ready did not let it: then there is no report.
  Result<void> Run();
  const LoadReport& report() const { return report_; }

  // By any thread, while Run runs:
  void Stop() { stop_.store(true); }
  struct Counts {
    uint64_t answers = 0, bytes = 0, outstanding = 0, failures = 0;
  };
  Counts counts() const;

 private:
  class Group;
  Result<void> Begin();

  endpoint::Transport& transport_;
  LoadOptions options_;
  endpoint::EventLog* events_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Group>> groups_;
  LoadReport report_;
};

}  // namespace stag::generate
