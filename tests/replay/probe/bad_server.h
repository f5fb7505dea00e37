// SPDX-License-Identifier: GPL-2.0-or-later
//
// BadServer: a transport whose connections do one thing wrong. Stag's own server runs on it and does everything else
// right; a Fault sees what it is sent, and changes, drops or adds what goes out.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "protocol/rpcrdma/header.h"
#include "replay/endpoint/soft_iwarp.h"

namespace stag::replay::probe::test {

using Buffer = std::vector<std::byte>;

// A message, taken apart.
class Seen {
 public:
  explicit Seen(Bytes message);
  Buffer Encoded() const;          // of `header` and `rest`
  uint32_t Word(size_t at) const;  // of `rest`; 0: it is not there
  rpcrdma::Header header;
  Buffer rest;  // what follows the header, or all of it when that cannot be read
  size_t size = 0;

 private:
  bool whole_header() const;
};

class BadEnd;

// What a Fault knows of a connection, and can do besides.
struct Scene {
  BadEnd& end;
  size_t ordinal;                       // of the connection, from 1
  Bytes private_data;                   // of the client
  size_t received = 0;                  // messages
  std::map<uint32_t, Seen> calls = {};  // by xid, the last
  std::multiset<uint32_t> times = {};   // xids that came
  // Of the server: xids that came, with the connections and whether as RDMA_NOMSG.
  std::multimap<uint32_t, std::pair<size_t, bool>>& all;
  bool& dead;  // refuses all new connections

  void Send(Buffer message);
  void SendError(uint32_t xid, uint32_t err);
  void SendSuccess(const Seen& call);  // of a Call without results, and without chunks
  void Write(Buffer bytes, const rpcrdma::Segment& segment, uint64_t offset);  // by RDMA, `offset` behind its start
  void HangUp();
};

struct Fault {
  std::string_view probe;  // that finds it, and ...
  std::string_view words;  // ... says so
  // Before the connection is accepted.
  std::function<void(EndpointOptions&, size_t ordinal)> accept = {};
  // A message came, and may be changed; false: the server does not see it.
  std::function<bool(Seen&, Scene&)> receive = {};
  // One that answers `call` goes out, and may be changed; false: it does not.
  std::function<bool(Seen&, const Seen& call, std::optional<uint32_t>& invalidate, Scene&)> send = {};
  // The server writes by RDMA; false: it only believes so.
  std::function<bool(Bytes from, uint32_t handle, uint64_t offset, Scene&)> write = {};
  bool alone = false;  // the probe is run alone, for others of its topic see the fault, too
};

// Listens with a Fault. `fault` must outlive it.
std::unique_ptr<Transport> MakeBadTransport(const Fault& fault);

}  // namespace stag::replay::probe::test
