// SPDX-License-Identifier: GPL-2.0-or-later
//
// Server: accepts RDMA connections and answers their Calls, all in one thread: poll(2) over the listener, every
// endpoint's descriptor, and what else is to be served meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/endpoint/spin_then_sleep.h"
#include "replay/rpcrdma/responder.h"
#include "replay/serve/tcp_rpc.h"

namespace stag::serve {

struct ServerOptions {
  rpcrdma::ResponderOptions responder;
  endpoint::EventLog* events = nullptr;  // of all connections; see EndpointOptions
  bool crc = true;                       // likewise
  uint32_t max_connections = 256;        // at a time; more are rejected
  bool once = false;                     // ends when the first connection has
  int stop = -1;                         // a descriptor: once it is readable, the server ends; -1: none
};

struct ServerReport {
  uint64_t connections = 0, rejected = 0;
  uint64_t ended = 0;   // in order, by either side
  uint64_t broken = 0;  // otherwise
  rpcrdma::ResponderStats stats;
  std::map<std::string, uint64_t> troubles;  // why connections broke or could not be accepted, and how often
};

class Server {
 public:
  // All must outlive the Server. `tcp`: served, too; nullptr: none.
  Server(endpoint::Listener& listener, rpcrdma::Service& service, TcpRpc* tcp, const ServerOptions& options);
  ~Server();
  // Until options.stop or options.once ends it; then all connections are disconnected. The error is one of this
  // machine: nothing can be accepted any more.
  Result<void> Run();
  const ServerReport& report() const { return report_; }

 private:
  struct Connection {
    std::unique_ptr<rpcrdma::Service> service;  // its own, if it has one
    std::unique_ptr<rpcrdma::Responder> responder;
  };
  Result<void> AcceptAll();
  bool PollAll();
  void Retire(const rpcrdma::Responder& responder);
  void Sleep(std::chrono::microseconds at_most);
  void Trouble(std::string text);
  void End();

  endpoint::Listener& listener_;
  rpcrdma::Service& service_;
  TcpRpc* tcp_;
  ServerOptions options_;
  ServerReport report_;
  std::vector<Connection> connections_;
  endpoint::SpinThenSleep awake_;
  bool stopped_ = false;
};

}  // namespace stag::serve
