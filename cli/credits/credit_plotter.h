// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditPlotter: passes on the changes of a CreditHistory, and keeps CreditPlots of the first connections on the way.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cli/credits/credit_plot.h"
#include "protocol/base/budget.h"

namespace stag::cli {

// "forward" or "backward": whose Calls these are.
std::string_view DirectionName(fabric::Side client, fabric::Side requester);

class CreditPlotter final : public session::CreditSink {
 public:
  static constexpr size_t kMost = 20;  // connections

  // `memory`: bytes that plots may take.
  CreditPlotter(session::CreditSink& next, uint64_t memory) : next_(next), budget_(memory) {}

  void OnChange(const session::CreditChange& change) override;
  void OnSummary(const session::Connection& c, fabric::Side requester, const session::CreditSummary& summary) override;

  bool empty() const { return plots_.empty(); }
  uint64_t connections() const { return connections_.size(); }  // that are drawn
  // Connections that there was no room for.
  uint64_t left_out() const { return left_out_; }
  // Writes the picture; false, with a complaint, when the file cannot be written. `origin_ns`: time 0. `capture`: its
  // name.
  bool Write(const std::string& file, int64_t origin_ns, const std::string& capture) const;
  // The same picture in a page, of these connections alone.
  void Put(std::string& out, const std::set<fabric::ConnectionId>& connections, int64_t origin_ns,
           const std::string& capture, const SvgPlace& place) const;
  // Whether Put draws it.
  bool Has(fabric::ConnectionId connection) const { return connections_.contains(connection); }

 private:
  // Forward before backward.
  using Key = std::pair<fabric::ConnectionId, bool>;
  struct Kept {
    Kept(Charge&& held, Budget& budget) : charge(std::move(held)), plot(budget) {}
    Charge charge;
    CreditPlot plot;
  };
  static constexpr uint64_t kBeside = 512;  // bytes: of the tables, and the texts of a plot

  CreditPlot* Find(const Key& key);

  session::CreditSink& next_;
  Budget budget_;
  std::map<Key, Kept> plots_;
  std::set<fabric::ConnectionId> connections_;
  uint64_t left_out_ = 0;
};

}  // namespace stag::cli
