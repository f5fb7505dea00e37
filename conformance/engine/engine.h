// SPDX-License-Identifier: GPL-2.0-or-later
//
// Engine: the conformance checker. An Observer of a Session; gives findings to a FindingSink as they become provable,
// and what is not proven when its connection ends as presumed. Instance-based, no globals, prints nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/finding.h"
#include "conformance/engine/tally.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

// Whether checks are asked whose result is known from the facts of the event (facts.h), and what becomes of another.
enum class Verify : uint8_t {
  kIfDebug,  // kStop where the library was built without NDEBUG, else kNo
  kNo,
  kStop,   // it stops the program: a bug of ours
  kCount,  // Engine::disagreements
};

// How much of each connection is remembered, whatever the memory limit allows. Tests make it small.
struct EngineLimits {
  size_t held = 1024;   // findings that wait for their proof
  size_t calls = 1024;  // Calls whose memory is remembered
  size_t reads = 1024;  // RDMA Reads of one side that are not answered
  size_t few = 16;      // Calls, and Reads, once the memory limit is reached
};

struct EngineOptions {
  Profile profile = Profile::kAuto;
  std::vector<std::string> select;  // ids, groups, levels, documents (selection.h); empty: all
  std::vector<std::string> ignore;  // likewise; wins over select
  Verify verify = Verify::kIfDebug;
  // Bytes that may be remembered of connections. Beyond them fewer Calls of each are, and findings do not wait.
  uint64_t memory_limit = 16u << 20;
  EngineLimits limits = {};
  // Time of the first frame of the capture, once it is known; null: nobody asks. It must outlive the engine.
  const int64_t* start_ns = nullptr;
};

// Whether `selector` names at least one rule: see selection.h.
bool IsSelector(std::string_view selector);

class FindingSink {
 public:
  virtual ~FindingSink() = default;
  virtual void OnFinding(const Finding& finding) = 0;
};

class Engine final : public session::Observer {
 public:
  Engine(const EngineOptions& options, FindingSink& sink);
  ~Engine() override;

  void OnConnection(const session::Connection&, const fabric::Event&) override;
  void OnConnectionClosed(const session::Connection&, const fabric::Event&) override;
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnOrphan(const session::Connection&, const session::Message&) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnNak(const session::Connection&, const fabric::Event&) override;
  void OnGap(const session::Connection&, const fabric::Event&) override;
  void OnAnomaly(const session::Connection&, const fabric::Event&) override;
  void OnCallComplete(const session::Connection&, const session::Transaction&) override;
  void OnTransaction(const session::Connection&, const session::Transaction&) override;
  void OnAside(const fabric::Aside&) override;

  // How often each rule that is selected and has a check came out how, in the order of the catalogue.
  std::vector<RuleTally> Tallies() const;
  // The rules whose checks contradicted what was known of the event, one entry an event; with Verify::kCount.
  const std::vector<std::string_view>& disagreements() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::conformance
