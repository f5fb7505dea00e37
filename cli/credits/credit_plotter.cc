// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/credits/credit_plotter.h"

#include "cli/base/svg.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::Side;
using session::Connection;
using session::CreditSummary;

std::string Ends(const Connection& c) {
  return fmt::format(
      "{} {} {} {}", fabric::FabricName(c.info.fabric), fabric::EndpointText(c.info.endpoint[c.client], c.info.fabric),
      c.client_known ? "\u2192" : "\u2194", fabric::EndpointText(c.info.endpoint[1 - c.client], c.info.fabric));
}

std::string Figures(const CreditSummary& s) {
  std::string text = Count(s.calls, "call");
  if (s.any_known) text += fmt::format(", at most {} outstanding", s.max_outstanding);
  if (s.granted.any && s.granted.min == s.granted.max) text += fmt::format(" of {} granted", s.granted.last);
  if (s.granted.any && s.granted.min != s.granted.max)
    text += fmt::format(", {} to {} granted", s.granted.min, s.granted.max);
  if (s.any_known && s.any_unknown) text += ", as far as known";
  if (s.overruns > 0) text += fmt::format(", {} over the grant", s.overruns);
  if (s.rnr_naks > 0) text += fmt::format(", {}", Count(s.rnr_naks, "RNR NAK"));
  if (s.loss.lost) text += ", lost";
  return text;
}

}  // namespace

std::string_view DirectionName(Side client, Side requester) { return requester == client ? "forward" : "backward"; }

void CreditPlotter::OnChange(const session::CreditChange& change) {
  if (CreditPlot* plot = Find({change.connection, change.requester != change.client})) plot->Add(change);
  next_.OnChange(change);
}

void CreditPlotter::OnSummary(const Connection& c, Side requester, const CreditSummary& summary) {
  if (CreditPlot* plot = Find({c.info.id, requester != c.client})) {
    plot->connection = c.info.id;
    plot->title = fmt::format("Connection {}, {}", c.info.id, DirectionName(c.client, requester));
    plot->ends = Ends(c);
    plot->figures = Figures(summary);
  } else if (requester == c.client) {
    ++left_out_;
  }
  next_.OnSummary(c, requester, summary);
}

bool CreditPlotter::Write(const std::string& file, int64_t origin_ns, const std::string& capture) const {
  std::vector<const CreditPlot*> plots;
  for (const auto& [key, kept] : plots_) plots.push_back(&kept.plot);
  std::string out;
  WriteSvg(out, plots, origin_ns, capture);
  return WriteSvgFile(file, out);
}

void CreditPlotter::Put(std::string& out, const std::set<fabric::ConnectionId>& connections, int64_t origin_ns,
                        const std::string& capture, const SvgPlace& place) const {
  std::vector<const CreditPlot*> plots;
  for (const auto& [key, kept] : plots_)
    if (connections.contains(key.first)) plots.push_back(&kept.plot);
  WriteSvg(out, plots, origin_ns, capture, place);
}

CreditPlot* CreditPlotter::Find(const Key& key) {
  if (const auto known = plots_.find(key); known != plots_.end()) return &known->second.plot;
  Charge charge(budget_);
  if (!connections_.contains(key.first) && connections_.size() >= kMost) return nullptr;
  if (!charge.TrySet(sizeof(Kept) + kBeside)) return nullptr;
  connections_.insert(key.first);
  return &plots_.try_emplace(key, std::move(charge), budget_).first->second.plot;
}

}  // namespace stag::cli
