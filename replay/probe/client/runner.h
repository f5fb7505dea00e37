// SPDX-License-Identifier: GPL-2.0-or-later
//
// ClientRunner: probes a client: has it work once for each probe, plays the trick, and judges what comes of it.
// Threads: one, and those of the work.
#pragma once

#include <memory>

#include "protocol/base/result.h"
#include "replay/probe/client/stage.h"
#include "replay/probe/client/work.h"
#include "replay/probe/judge.h"
#include "replay/probe/link.h"

namespace stag::probe::client {

class ClientRunner {
 public:
  // All must outlive it. `patience.answer`: for a whole run of the work. `mount`, `also`: may be null.
  ClientRunner(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* mount, ClientWork& work,
               const Patience& patience, bool crc = true, fabric::Sink* also = nullptr);

  // The work without any trick. The error says why there is nothing to probe.
  Result<void> Begin();
  // One probe, a second time when it fails without a finding.
  Outcome Run(const ClientProbe& probe);
  // The client does not work any more, even without a trick.
  bool gone() const { return gone_; }

 private:
  Outcome RunOnce(const ClientProbe& probe);
  // The work, with the trick. Throws Ended when it does not end, or a hook ends the probe.
  Worked Play(const std::string& name, const Trick* trick, client::Play& play);
  void Judge(const ClientProbe& probe, const Trick& trick, const Worked& worked, client::Play& play);
  void CheckAlive();

  endpoint::Listener& listener_;
  rpcrdma::Service& service_;
  rpcrdma::TcpRpc* mount_;
  ClientWork& work_;
  const Patience patience_;
  const bool crc_;
  probe::Judge judge_;
  bool gone_ = false;
};

}  // namespace stag::probe::client
