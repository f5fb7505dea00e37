// SPDX-License-Identifier: GPL-2.0-or-later
//
// BadServer: a transport whose connections do one thing wrong. Stag's own server runs on it and does everything else
// right; a Fault sees what it is sent, and changes, drops or adds what goes out.
#pragma once

#include <functional>
#include <memory>

#include "replay/endpoint/soft_iwarp.h"
#include "replay/probe/tamper.h"

namespace stag::probe::test {

struct Fault {
  std::string_view probe;  // that finds it, and ...
  std::string_view words;  // ... says so
  // Before the connection is accepted.
  std::function<void(endpoint::EndpointOptions&, size_t ordinal)> accept = {};
  // A message came, and may be changed; false: the server does not see it.
  std::function<bool(Seen&, Scene&)> receive = {};
  // One that answers `call` goes out, and may be changed; false: it does not.
  std::function<bool(Seen&, const Seen& call, std::optional<uint32_t>& invalidate, Scene&)> send = {};
  // The server writes by RDMA; false: it only believes so.
  std::function<bool(Bytes from, uint32_t handle, uint64_t offset, Scene&)> write = {};
  bool alone = false;  // the probe is run alone, for others of its topic see the fault, too
};

// Listens with a Fault. `fault` must outlive it.
std::unique_ptr<endpoint::Transport> MakeBadTransport(const Fault& fault);

}  // namespace stag::probe::test
