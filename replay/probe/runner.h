// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runner: probes one server. Finds out what it has, runs probe after probe, and looks after each whether the server
// still lives. Threads: one.
#pragma once

#include <memory>

#include "protocol/base/result.h"
#include "replay/probe/bench.h"
#include "replay/probe/judge.h"

namespace stag::probe {

class Runner {
 public:
  // `transport` and `also`, which gets every fabric event (nullptr: nobody), must outlive the Runner.
  Runner(endpoint::Transport& transport, ProbeOptions options, fabric::Sink* also = nullptr);
  ~Runner();

  // Whether there is a server that answers, and what it has. With an export: makes a file there. The error says why
  // there is nothing to probe.
  Result<void> Begin();
  const Target& target() const { return target_; }
  // One probe, a second time when it fails without a finding, and a NULL on another connection afterwards.
  Outcome Run(const Probe& probe);
  // The server does not answer any more, on three connections one after the other.
  bool gone() const { return gone_; }
  // Removes the file. What could not be done is said by the error.
  Result<void> Finish();

 private:
  class Files;
  void FindProgram();
  Outcome RunOnce(const Probe& probe);
  void CheckAlive(Outcome& outcome);
  // Why the server does not; empty: it does.
  std::string WhyNotAlive();

  endpoint::Transport& transport_;
  const ProbeOptions options_;
  Judge judge_;
  Target target_;
  std::unique_ptr<Files> files_;
  bool gone_ = false;
};

}  // namespace stag::probe
