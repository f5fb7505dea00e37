// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/credits/credit_table.h"

#include <algorithm>

#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::CreditChange;
using Event = CreditChange::Event;

bool IsMessage(Event event) {
  return event == Event::kCall || event == Event::kReply || event == Event::kError || event == Event::kDone;
}

}  // namespace

void CreditTable::Add(const CreditChange& change) {
  Row row;
  row.change = change;
  row.by_client = change.from == change.client;
  row.changed =
      any_ && ((change.requested && change.requested != requested_) || (change.granted && change.granted != granted_));
  row.most = change.outstanding && *change.outstanding > most_ && change.event == Event::kCall;
  row.first = !any_;
  row.known = any_ && change.outstanding && !outstanding_;
  if (row.most) most_ = *change.outstanding;
  any_ = true;
  requested_ = change.requested;
  granted_ = change.granted;
  outstanding_ = change.outstanding;
  if (row.changed || row.most || row.first || row.known || change.overrun || change.zero_grant ||
      !IsMessage(change.event))
    Keep(row);
}

// For one more row. False: there are `most`, or there is too little memory.
bool CreditTable::MakeRoom(std::vector<Row>& rows, size_t most) {
  if (rows.size() >= most) return false;
  if (rows.size() < rows.capacity()) return true;
  const size_t more = std::min(std::max<size_t>(1, rows.capacity()), most - rows.size());
  if (!charge_.TryAdd(more * sizeof(Row))) return false;
  rows.reserve(rows.capacity() + more);
  return true;
}

void CreditTable::Keep(const Row& row) {
  // While the number only grows, its last row will do.
  const auto only_grows = [](const Row& r) {
    return r.most && !r.changed && !r.first && !r.known && !r.change.overrun;
  };
  if (only_grows(row)) {
    Row* last = !tail_.empty()                     ? &tail_[(oldest_ + tail_.size() - 1) % tail_.size()]
                : left_out_ == 0 && !head_.empty() ? &head_.back()
                                                   : nullptr;
    if (last && only_grows(*last)) {
      *last = row;
      return;
    }
  }
  if (tail_.empty() && left_out_ == 0 && MakeRoom(head_, head_room_)) return head_.push_back(row);
  if (oldest_ == 0 && MakeRoom(tail_, tail_room_)) return tail_.push_back(row);
  ++left_out_;
  if (tail_.empty()) return;
  tail_[oldest_] = row;
  oldest_ = (oldest_ + 1) % tail_.size();
}

std::string CreditTable::TextOf(const Row& row) {
  const CreditChange& c = row.change;
  const std::string_view who = row.by_client ? "client" : "server";
  const auto message = [&](std::string_view what) {
    return fmt::format("{}{}", what, row.known ? ", known from here on" : "");
  };
  const auto after = [&](std::string text) {
    if (c.explained_by != 0) text += fmt::format(", explained by the overrun in frame {}", c.explained_by);
    return text;
  };
  switch (c.event) {
    case Event::kJoined: return "set-up not captured, history not known";
    case Event::kCall: return message(c.overrun ? "call over the grant" : "call");
    case Event::kReply: return message(c.zero_grant ? "reply that grants nothing" : "reply");
    case Event::kError: return message(c.zero_grant ? "RDMA_ERROR that grants nothing" : "RDMA_ERROR");
    case Event::kDone: return "RDMA_DONE";
    case Event::kUnclear: return fmt::format("unclear Send of the {}, history not known", who);
    case Event::kRnrNak: return after(fmt::format("RNR NAK by the {}", who));
    case Event::kTerminate: return after(fmt::format("Terminate by the {}", who));
    case Event::kGap: return fmt::format("packets of the {} missing, history not known", who);
    case Event::kClosed:
      return after(fmt::format("{}: {}", c.lost ? "lost" : "closed", fabric::CloseName(c.close_reason)));
  }
  return {};
}

void CreditTable::Put(std::string& out, int64_t origin_ns, const Style& style, bool bars) const {
  size_t width = 5;
  uint32_t most = 1;
  const auto measure = [&](const Row& row) {
    width = std::max(width, TextOf(row).size());
    most = std::max({most, row.change.outstanding.value_or(0), row.change.granted.value_or(0)});
  };
  std::ranges::for_each(head_, measure);
  std::ranges::for_each(tail_, measure);

  // "?": not known; "-": there was none yet.
  const auto number = [&](std::optional<uint32_t> value, bool known) {
    return value ? fmt::format("{}", *value) : known ? "-" : "?";
  };
  const auto put = [&](const Row& row) {
    const CreditChange& c = row.change;
    const bool known = c.outstanding.has_value();
    const int64_t since = c.frame.time_ns - origin_ns;
    const std::string_view color = c.overrun || c.lost || c.event == Event::kRnrNak || c.event == Event::kTerminate
                                       ? style.red
                                   : c.zero_grant || !known ? style.yellow
                                                            : std::string_view{};
    stag::Put(out, "    {:>5}.{:06} {:>8}  {}{:<{}}{}  ", since / 1'000'000'000,
              since < 0 ? 0 : since % 1'000'000'000 / 1000, c.frame.number, color, TextOf(row), width,
              color.empty() ? std::string_view{} : style.reset);
    stag::Put(out, "{:<10}  {:>9} {:>8} {:>12}", c.xid ? fmt::format("0x{:08x}", *c.xid) : "",
              number(c.requested, known), number(c.granted, known), number(c.outstanding, false));
    if (bars && known && *c.outstanding > 0) {
      constexpr uint32_t kCells = 24;
      constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
      const uint64_t eighths = std::max<uint64_t>(uint64_t{*c.outstanding} * kCells * 8 / most, 1);
      stag::Put(out, "  {}", c.overrun ? style.red : style.cyan);
      for (uint64_t i = 0; i < eighths / 8; ++i) stag::Put(out, "█");
      stag::Put(out, "{}{}", kEighths[eighths % 8], style.reset);
    }
    out.push_back('\n');
  };
  stag::Put(out, "{}    {:>12} {:>8}  {:<{}}  {:<10}  {:>9} {:>8} {:>12}{}\n", style.bold, "time", "frame", "event",
            width, "xid", "requested", "granted", "outstanding", style.reset);
  for (const Row& row : head_) put(row);
  if (left_out_ > 0)
    stag::Put(out, "    {}{:>12} {:>8}  {} left out{}{}\n", style.dim, "...", "", Count(left_out_, "row"),
              all_ ? "" : "; --rows all shows them", style.reset);
  for (size_t i = 0; i < tail_.size(); ++i) put(tail_[(oldest_ + i) % tail_.size()]);
}

}  // namespace stag::cli
