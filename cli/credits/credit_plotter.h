// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditPlotter: passes on the changes of a CreditHistory, and keeps CreditPlots of the first connections on the way.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/credits/credit_plot.h"

namespace stag::cli {

// "forward" or "backward": whose Calls these are.
std::string_view DirectionName(fabric::Side client, fabric::Side requester);

class CreditPlotter final : public session::CreditSink {
 public:
  static constexpr size_t kMost = 20;  // connections

  explicit CreditPlotter(session::CreditSink& next) : next_(next) {}

  void OnChange(const session::CreditChange& change) override;
  void OnSummary(const session::Connection& c, fabric::Side requester, const session::CreditSummary& summary) override;

  bool empty() const { return plots_.empty(); }
  // Connections that there was no room for.
  uint64_t left_out() const { return left_out_.size(); }
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
  static constexpr size_t kMostCounted = 100000;

  CreditPlot* Find(const Key& key);

  session::CreditSink& next_;
  std::map<Key, CreditPlot> plots_;
  std::set<fabric::ConnectionId> connections_, left_out_;
};

}  // namespace stag::cli
