// SPDX-License-Identifier: GPL-2.0-or-later
//
// The conformance engine over one file: one for all connections, or, with --jobs, one for the connections of each
// shard. What they find, count and show is what one engine does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/analysis/analysis.h"
#include "cli/analysis/finding_filter.h"
#include "conformance/engine/engine.h"
#include "conformance/report/connection_history.h"
#include "conformance/report/reporter.h"

namespace stag::cli {

// A rule of a host (GSS-006) is broken by what several connections show together, and found once for a host. Shards
// with connections of the same host may find it several times. This passes on what one engine finds: the first, and of
// several in the same frame the one whose related frames are the earliest.
class OncePerHost final : public conformance::FindingSink {
 public:
  explicit OncePerHost(conformance::FindingSink& next) : next_(next) {}
  void OnFinding(const conformance::Finding& finding) override;
  void Finish();
  // What was not passed on: one engine counts it as not applicable. One for each rule that has any.
  const std::vector<conformance::RuleTally>& dropped() const { return dropped_; }

 private:
  void Drop(const conformance::Finding& finding);

  static constexpr size_t kMostFound = 4096;
  struct Found {
    const conformance::RuleInfo* rule = nullptr;
    Address host;
    friend bool operator==(const Found&, const Found&) = default;
  };
  conformance::FindingSink& next_;
  std::vector<Found> found_;
  std::vector<conformance::RuleTally> dropped_;
  std::optional<conformance::Finding> waiting_;
};

// What the engines of a file have in common.
class CheckedFile {
 public:
  // `reporter` has begun the file; null: there is none. `sink` gets the findings, in the reading thread. `options`
  // has the number of shards, the memory, of which the engines together take a small part, and the filter.
  CheckedFile(const conformance::EngineOptions& engine, const CommonOptions& options, conformance::Reporter* reporter,
              conformance::FindingSink& sink);
  // After the analysis. What one engine counts.
  template <typename S>
  std::vector<conformance::RuleTally> Finish(const std::vector<std::unique_ptr<S>>& shards);

 private:
  friend class EngineShard;
  std::vector<conformance::RuleTally> OfOne(std::vector<conformance::RuleTally> sum, uint64_t repeated) const;

  const CommonOptions& options_;
  conformance::EngineOptions engine_;
  conformance::Reporter* const reporter_;
  OncePerHost once_;
  conformance::FindingSink& sink_;          // once_, where there are several shards
  const bool several_;                      // shards
  conformance::ConnectionHistory history_;  // where several shards have what the reporter wants
};

class EngineShard : public CallingShard, private conformance::FindingSink {
 public:
  explicit EngineShard(CheckedFile& file);
  // What the reporter has or wants, the engine, then those of a derived class.
  std::vector<session::Observer*> Observers() final;

 protected:
  virtual std::vector<session::Observer*> Further() { return {}; }

 private:
  friend class CheckedFile;
  class Steps final : public conformance::HistorySteps {
   public:
    explicit Steps(EngineShard& shard) : shard_(shard) {}

   private:
    void OnStep(conformance::HistoryStep&& step) override;
    EngineShard& shard_;
  };
  class Closings final : public session::Observer {
   public:
    explicit Closings(EngineShard& shard) : shard_(shard) {}
    void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override;

   private:
    EngineShard& shard_;
  };
  class Asides final : public session::Observer {
   public:
    void OnAside(const fabric::Aside& aside) override;
    uint64_t for_all = 0;  // that every shard sees
  };
  void OnFinding(const conformance::Finding& finding) override;
  bool filtered() const { return !file_.options_.filter.empty(); }

  CheckedFile& file_;
  FindingFilter filter_;
  conformance::Engine engine_;
  Steps steps_{*this};
  Closings closings_{*this};
  Asides asides_;
};

template <typename S>
std::vector<conformance::RuleTally> CheckedFile::Finish(const std::vector<std::unique_ptr<S>>& shards) {
  once_.Finish();
  std::vector<conformance::RuleTally> sum;
  for (const auto& shard : shards) conformance::AddTallies(sum, shard->EngineShard::engine_.Tallies());
  return OfOne(std::move(sum), (shards.size() - 1) * shards.front()->EngineShard::asides_.for_all);
}

}  // namespace stag::cli
