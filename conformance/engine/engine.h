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

struct EngineOptions {
  Profile profile = Profile::kAuto;
  std::vector<std::string> select;  // ids, groups, levels, documents (selection.h); empty: all
  std::vector<std::string> ignore;  // likewise; wins over select
  Verify verify = Verify::kIfDebug;
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
