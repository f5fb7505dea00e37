// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tamper: an Endpoint that stands between an engine (Responder, Requester) and its connection. The engine does what is
// right; Hooks see what comes and goes, and change, drop or add messages and RDMA operations.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "protocol/rpcrdma/header.h"
#include "replay/endpoint/endpoint.h"

namespace stag::probe {

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
  std::optional<uint32_t> invalidated;  // of a received one: a handle, by Send with Invalidate

 private:
  bool whole_header() const;
};

// What all connections of one side share.
struct SharedScene {
  size_t connections = 0;
  // xids that came, with the connections and whether as RDMA_NOMSG.
  std::multimap<uint32_t, std::pair<size_t, bool>> all;
  bool dead = false;
};

class Tamper;

// What a hook knows of a connection, and can do besides. What it does when the connection is over has no effect.
struct Scene {
  static constexpr uint32_t kCredits = 8;  // of messages that it makes

  Tamper& end;
  size_t ordinal;                       // of the connection, from 1
  Bytes private_data;                   // of the peer
  size_t received = 0;                  // messages
  std::map<uint32_t, Seen> calls = {};  // by xid, the last
  std::multiset<uint32_t> times = {};   // xids that came
  std::multimap<uint32_t, std::pair<size_t, bool>>& all;
  bool& dead;               // refuses all new connections
  size_t own_reads = 0;     // of Read below, that brought their bytes
  size_t own_failures = 0;  // of Read and Write below

  void Send(Buffer message, std::optional<uint32_t> invalidate = {});
  void SendError(uint32_t xid, uint32_t err, uint32_t credit = kCredits);
  void SendSuccess(const Seen& call);  // of a Call without results, and without chunks
  // By RDMA, `offset` behind the start of the segment.
  void Write(Buffer bytes, const rpcrdma::Segment& segment, uint64_t offset = 0);
  void Read(const rpcrdma::Segment& segment, uint64_t offset = 0);
  // Once that time is over, when the engine polls and the connection is open.
  void After(std::chrono::milliseconds time, std::function<void(Scene&)> what);
  void HangUp();
  bool open() const;
};

struct Hooks {
  // A message came, and may be changed; false: the engine does not see it.
  std::function<bool(Seen&, Scene&)> receive = {};
  // A message goes out, and may be changed; `call`: what came with its xid, or null. False: it does not go out.
  std::function<bool(Seen&, const Seen* call, std::optional<uint32_t>& invalidate, Scene&)> send = {};
  // The engine writes by RDMA; false: it only believes so.
  std::function<bool(Bytes from, uint32_t handle, uint64_t offset, Scene&)> write = {};
};

class Tamper final : public endpoint::Endpoint {
 public:
  // `hooks` and `shared` must outlive it. `ordinal`: of the connection.
  Tamper(std::unique_ptr<endpoint::Endpoint> inner, const Hooks& hooks, SharedScene& shared, size_t ordinal);
  Scene& scene() { return scene_; }
  // The engine takes this for the peer's private data.
  void Believe(Buffer private_data) { peer_private_data_ = std::move(private_data); }

  endpoint::State state() const override { return inner_->state(); }
  bool takes_work() const override { return inner_->takes_work(); }
  const endpoint::Trouble& trouble() const override { return inner_->trouble(); }
  bool can_invalidate() const override { return inner_->can_invalidate(); }
  bool reads_are_private() const override { return inner_->reads_are_private(); }
  Result<endpoint::Region> Register(size_t size, endpoint::Access access) override {
    return inner_->Register(size, access);
  }
  Result<endpoint::Region> Register(MutableBytes memory, endpoint::Access access) override {
    return inner_->Register(memory, access);
  }
  void Deregister(endpoint::Region& region) override { inner_->Deregister(region); }
  Result<void> Renew(endpoint::Region& region) override { return inner_->Renew(region); }
  Result<void> Rename(endpoint::Region& region, uint32_t handle, uint64_t offset) override {
    return inner_->Rename(region, handle, offset);
  }
  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override;
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override {
    return inner_->Read(into, handle, offset, id);
  }
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override;
  size_t max_inline() const override { return inner_->max_inline(); }
  size_t max_pieces() const override { return inner_->max_pieces(); }
  Result<void> Receive(uint32_t count) override { return inner_->Receive(count); }
  void Release(const endpoint::Completion& completion) override;
  void Flush() override { inner_->Flush(); }
  size_t Poll(std::span<endpoint::Completion> out, std::chrono::microseconds wait) override;
  int descriptor() override { return inner_->descriptor(); }
  void Disconnect() override { inner_->Disconnect(); }

 private:
  friend struct Scene;
  using Clock = std::chrono::steady_clock;
  Result<void> Post(Buffer message, uint64_t id, std::optional<uint32_t> invalidate);
  endpoint::Region Keep(Buffer bytes);
  bool Received(endpoint::Completion& completion);
  void RunTimers();

  const Hooks& hooks_;
  Scene scene_;
  std::deque<Buffer> kept_;                     // registered, until the endpoint goes
  std::map<uint64_t, Buffer> changed_;          // messages that the engine has
  std::vector<endpoint::Completion> believed_;  // work that the engine believes done
  std::multimap<Clock::time_point, std::function<void(Scene&)>> timers_;
  std::unique_ptr<endpoint::Endpoint> inner_;  // goes before the memory that is registered with it
};

}  // namespace stag::probe
