// SPDX-License-Identifier: GPL-2.0-or-later
//
// BadClient: a transport whose connections do one thing wrong for the client that uses them. Stag's own client runs on
// it and does everything else right; a ClientFault sees what the server sends it, and what it sends.
#pragma once

#include "replay/generate/options.h"
#include "replay/probe/tamper.h"

namespace stag::probe::test {

struct ClientFault {
  std::string_view probe;  // that finds it, and ...
  std::string_view words;  // ... says so
  // A message came, and may be changed; false: the client does not see it.
  std::function<bool(Seen&, Scene&)> receive = {};
  // A Call goes out, and may be changed; false: it does not.
  std::function<bool(Seen&, Scene&)> send = {};
  // Before a connection is asked for.
  std::function<void(endpoint::EndpointOptions&, size_t ordinal)> connect = {};
  // The server's private data came: what the client makes of them; false: it dies.
  std::function<bool(Buffer& data, size_t ordinal)> accepted = {};
  // The load, and what it asks of the Requester.
  std::function<void(generate::LoadOptions&)> load = {};
  // Its transport never asks for another connection once this many were asked for, or refused.
  size_t most_connections = SIZE_MAX;
  size_t most_refused = SIZE_MAX;
};

std::vector<ClientFault> AllClientFaults();

// Connects with a fault, which must outlive it.
std::unique_ptr<endpoint::Transport> MakeBadClient(const ClientFault& fault);

}  // namespace stag::probe::test
