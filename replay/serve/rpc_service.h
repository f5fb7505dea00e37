// SPDX-License-Identifier: GPL-2.0-or-later
//
// RpcService: RPC programs behind the Service interface. Decodes the Call's header, finds the program, and answers what
// no program takes as RFC 5531 section 9 asks: RPC_MISMATCH, AUTH_ERROR, PROG_UNAVAIL, PROG_MISMATCH, PROC_UNAVAIL,
// GARBAGE_ARGS. Counts the Calls. Connections (NewConnection) may be on different threads when the programs allow that.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/rpc/message.h"
#include "replay/rpcrdma/responder.h"

namespace stag::serve {

// Procedures are counted one by one up to here, those behind it together.
inline constexpr uint32_t kLastProcedure = 63;

struct ProgramId {
  uint32_t number = 0, low = 0, high = 0;  // versions `low` to `high`
};

class RpcProgram {
 public:
  explicit RpcProgram(ProgramId id) : id_(id) {}
  virtual ~RpcProgram() = default;
  const ProgramId& id() const { return id_; }
  // A procedure but NULL. Appends the results to `reply.message`, or has views of them, and names their eligible items;
  // kProcUnavail: there is no such procedure; kGarbageArgs: `arguments` could not be decoded. Without kSuccess what was
  // appended is dropped.
  virtual rpc::AcceptStat OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) = 0;
  // As Service::Land.
  virtual rpcrdma::Landing Land(uint64_t /*before*/, uint64_t /*item*/, uint64_t /*after*/) { return {}; }

 private:
  ProgramId id_;
};

class RpcService final : public rpcrdma::Service {
 public:
  explicit RpcService(std::vector<std::unique_ptr<RpcProgram>> programs) : programs_(std::move(programs)) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override { Answer(call, reply, counts_); }
  // The first that a program has: what it is for is not known before the Call is there.
  rpcrdma::Landing Land(uint64_t before, uint64_t item, uint64_t after) override;
  // One that counts for itself; at its end its counts are added to those of the service.
  std::unique_ptr<rpcrdma::Service> NewConnection() override;

  struct Procedure {
    uint32_t program = 0, version = 0, procedure = 0;
    auto operator<=>(const Procedure&) const = default;
  };
  struct Counts {
    uint64_t calls = 0, refused = 0;  // `refused`: answered with another accept_stat than SUCCESS, or denied
  };
  bool Has(uint32_t program) const;
  // Of the programs that this service has; all others together are under Procedure{}. Not of connections that are open.
  const std::map<Procedure, Counts>& counts() const { return counts_; }

 private:
  class Connection;
  void Answer(Bytes call, rpcrdma::ServiceReply& reply, std::map<Procedure, Counts>& counts);

  std::vector<std::unique_ptr<RpcProgram>> programs_;
  std::mutex mutex_;
  std::map<Procedure, Counts> counts_;  // with mutex_ where connections end
};

using ProcedureCounts = std::map<RpcService::Procedure, RpcService::Counts>;

// NULL, which always succeeds, and nothing else: what `--mode null` answers for the programs of NFS and its companions.
std::unique_ptr<RpcService> MakeNullService();
// ECHO (echo.h).
std::unique_ptr<RpcService> MakeEchoService();

}  // namespace stag::serve
