// SPDX-License-Identifier: GPL-2.0-or-later
//
// Stage: the server of one run of a client: accepts connections, answers Calls from a Service, and plays a Trick.
#pragma once

#include <memory>
#include <vector>

#include "replay/endpoint/acceptor.h"
#include "replay/probe/client/probe.h"
#include "replay/rpcrdma/responder.h"
#include "replay/rpcrdma/tcp_rpc.h"

namespace stag::probe::client {

struct StageOptions {
  endpoint::EventLog* events = nullptr;
  bool crc = true;
  std::chrono::milliseconds quiet{50};
};

class Stage {
 public:
  // All must outlive it. `trick`: null: none. `mount`: served, too; nullptr: none.
  Stage(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* mount, const Trick* trick,
        const StageOptions& options);
  ~Stage();

  // Does what there is to do; waits a moment for the first. Throws Ended when the client does what ends the probe. The
  // error is one of this machine.
  Result<void> Step();
  // Instead of Step: disconnects all, and rejects what comes.
  void Refuse();
  // Disconnects all that is left.
  void End();
  const Play& play() const { return play_; }
  // Why connections had to wait; empty: none had to.
  const std::string& shortage() const { return shortage_; }

 private:
  struct Connection {
    size_t ordinal = 0;
    Tamper* end = nullptr;
    std::unique_ptr<rpcrdma::Service> service;  // its own, if it has one
    std::unique_ptr<rpcrdma::Responder> responder;
  };
  struct Late {
    std::chrono::steady_clock::time_point due;
    size_t ordinal = 0;
    std::unique_ptr<endpoint::Incoming> incoming;
  };
  Result<void> AcceptAll();
  void Accept(endpoint::Incoming& incoming, size_t ordinal);
  bool PollAll();
  void Sleep();
  bool OnMessage(Seen& message, Scene& scene);
  bool OnReply(Seen& message, const Seen* call, std::optional<uint32_t>& invalidate, Scene& scene);

  endpoint::Acceptor acceptor_;
  rpcrdma::Service& service_;
  rpcrdma::TcpRpc* mount_;
  rpcrdma::ChunkMemory memory_;  // of all connections
  const Trick* trick_;
  const StageOptions options_;
  Hooks hooks_;
  SharedScene shared_;
  Play play_;
  std::multimap<size_t, uint32_t> picked_;  // xids by connection
  std::vector<Late> late_;
  std::vector<Connection> connections_;
  std::string shortage_;
  int shortages_ = 0;
};

}  // namespace stag::probe::client
