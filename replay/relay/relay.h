// SPDX-License-Identifier: GPL-2.0-or-later
//
// Relay: stands between clients and a server: accepts connections, opens one to the server for each, and lets Calls and
// answers cross. All in one thread, which waits with poll(2) for the listener and every endpoint's descriptor; but each
// connection to the server is made on a thread of its own.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protocol/base/result.h"
#include "replay/endpoint/acceptor.h"
#include "replay/endpoint/spin_then_sleep.h"
#include "replay/endpoint/system.h"
#include "replay/relay/link.h"
#include "replay/relay/pending_connect.h"
#include "replay/relay/terms.h"

namespace stag::relay {

struct RelayOptions {
  endpoint::HostPort to;
  RelayLinkOptions link;
  RelayTerms to_server, to_client;
  endpoint::EventLog* events = nullptr;  // of all connections; see EndpointOptions
  bool crc = true;                       // likewise
  uint32_t max_connections = 256;        // clients at a time; the one that is idle for longest gives way to a new one
  uint64_t memory = rpcrdma::ChunkMemory::kDefault;  // bytes for the chunks of all Calls under way; more wait
  bool once = false;                                 // ends when the first client has
  std::chrono::milliseconds connect_timeout{5'000};
  int stop = -1;  // a descriptor: once it is readable, the relay ends; -1: none
  std::function<void(const std::string&)> notice = [](const std::string&) {};  // what people should know now
};

class Relay {
 public:
  // Both must outlive the Relay. `transport`: for the connections to the server.
  Relay(endpoint::Listener& listener, endpoint::Transport& transport, const RelayOptions& options);
  ~Relay();
  // Until options.stop or options.once ends it; then all connections are disconnected. The error is one of this
  // machine: nothing can be accepted any more.
  Result<void> Run();
  const RelayReport& report() const { return report_; }

 private:
  struct Client {
    std::string name;  // address and port
    std::unique_ptr<RelayLink> link;
  };
  // A client for whom a connection to the server is being made.
  struct Waiting {
    std::unique_ptr<endpoint::Incoming> incoming;
    std::unique_ptr<PendingConnect> pending;
  };
  endpoint::EndpointOptions OptionsFor(const RelayTerms& terms, Bytes theirs, bool may_invalidate) const;
  Result<bool> AcceptOne();
  Result<bool> Ask();
  bool MakeRoom();
  void ForgetGone();
  bool FinishOne();
  Result<std::unique_ptr<RelayLink>> Link(const Waiting& waiting);
  void Reject(endpoint::Incoming& incoming, const std::string& name, const std::string& why);
  bool PollAll();
  void Say(const std::string& text);
  void TellEnd(const Client& client);
  void Sleep(std::chrono::microseconds longest);
  void End();

  endpoint::Acceptor acceptor_;
  endpoint::Transport& transport_;
  RelayOptions options_;
  RelayReport report_;
  rpcrdma::ChunkMemory memory_;
  std::vector<Waiting> waiting_;
  std::chrono::steady_clock::time_point look_again_;  // for those of them that have gone
  endpoint::Descriptor bell_;                         // one of them is done
  std::vector<Client> clients_;
  std::vector<pollfd> polled_;
  endpoint::SpinThenSleep spin_;
  bool stopped_ = false;
};

}  // namespace stag::relay
