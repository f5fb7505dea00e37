// SPDX-License-Identifier: GPL-2.0-or-later
//
// Server: accepts RDMA connections and answers their Calls, on one thread or several. A connection belongs to one
// thread, the one with the fewest when it is accepted. The thread of Run accepts, serves TCP, and has connections of
// its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replay/endpoint/acceptor.h"
#include "replay/rpcrdma/responder.h"
#include "replay/rpcrdma/tcp_rpc.h"
#include "replay/serve/connection_group.h"

namespace stag::serve {

struct ServerOptions {
  rpcrdma::ResponderOptions responder;
  endpoint::EventLog* events = nullptr;  // of all connections; see EndpointOptions
  bool crc = true;                       // likewise
  uint32_t threads = 1;                  // the service is used by all of them at the same time
  uint32_t max_connections = 256;        // at a time; the one that is idle for longest gives way to a new one
  uint64_t call_memory = rpcrdma::ChunkMemory::kDefault;  // bytes for the chunks and long Replies of all connections
  bool once = false;                                      // ends when the first connection has
  int stop = -1;  // a descriptor: once it is readable, the server ends; -1: none
  std::function<void(const std::string&)> notice = [](const std::string&) {};  // what people should know now
};

class Server {
 public:
  // All must outlive the Server. `tcp`: served, too; nullptr: none.
  Server(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* tcp, const ServerOptions& options);
  ~Server();
  // Until options.stop or options.once ends it; then all connections are disconnected. The error is one of this
  // machine: there are no threads, or nothing can be accepted any more.
  Result<void> Run();
  // Complete once Run has returned.
  const ServerReport& report() const { return report_; }

 private:
  Result<void> Serve();
  Result<bool> AcceptSome();
  Result<bool> AcceptOne();
  bool MakeRoom();
  ConnectionGroup& Fewest();
  size_t connections() const;
  void Say(const std::string& text);
  void Sleep(std::chrono::microseconds at_most);

  endpoint::Acceptor acceptor_;
  rpcrdma::TcpRpc* tcp_;
  rpcrdma::ChunkMemory memory_;
  ServerOptions options_;
  ServerReport report_;
  std::vector<std::unique_ptr<ConnectionGroup>> groups_;  // by thread; the first is that of Run
  std::vector<pollfd> polled_;
  bool stopped_ = false;
  std::atomic<bool> ending_{false};
};

}  // namespace stag::serve
