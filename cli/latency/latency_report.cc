// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency/latency_report.h"

#include <algorithm>
#include <cmath>

#include "analysis/rank_test.h"
#include "cli/analysis/analysis.h"
#include "text/put.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

constexpr std::array<std::string_view, session::kPhases> kPhaseWords{"before the first RDMA Read",
                                                                     "in RDMA Reads",
                                                                     "in the server",
                                                                     "in RDMA Writes",
                                                                     "between the last RDMA Write and the Reply",
                                                                     "in recovery"};
constexpr std::array<std::string_view, 5> kCauseWords{"sent again after a timer", "sent again after a NAK",
                                                      "sent again after an RNR NAK",
                                                      "sent again after duplicate acknowledgments", "it was missing"};
constexpr std::array<std::string_view, analysis::kMeanwhiles> kMeanwhileWords{
    "an RNR NAK", "a sequence NAK (packets lost, and sent again)", "packets that the capture misses",
    "all credits in use"};

std::string_view TextOf(const analysis::LatencyRow& row) {
  return kTimeTexts[static_cast<size_t>(std::ranges::find(analysis::kTimeNames, row.phase) -
                                        analysis::kTimeNames.begin())];
}

double Percent(double part, double whole) { return whole > 0 ? part / whole * 100 : 0; }

// ---------------------------------------------------------------------------------------------------------------- text

// `rows`: of a key; the first one is of the round trip.
void PutRows(std::string& out, const std::vector<analysis::LatencyRow>& rows, const Style& style, size_t width) {
  const std::string shown = Printable(rows.front().key);
  if (rows.front().now.count == 0) {
    Put(out, "{}{:<{}}{}  only in the other capture\n", style.cyan, shown, width, style.reset);
    return;
  }
  for (const analysis::LatencyRow& row : rows) {
    if (row.now.count == 0) continue;
    const bool first = &row == &rows.front();
    Put(out, "{}{:<{}}{}  {:<10} {:>8}", first ? style.cyan : std::string_view{}, first ? shown : std::string(), width,
        first ? style.reset : std::string_view{}, TextOf(row), row.now.count);
    const analysis::TimeStatistics& t = row.now.times;
    for (const results::Duration time : {t.p50, t.p90, t.p99, t.p999, t.max, t.sum}) {
      std::string cell;
      PutDuration(cell, time.ns);
      Put(out, " {:>8}", cell);
    }
    Put(out, "\n");
  }
}

// In words: where the time of the slowest went, and what happened while they waited.
void PutTail(std::string& out, const analysis::LatencyHistograms* of_key, const Style& style) {
  if (!of_key || of_key->times[0].count() < 20) return;
  const analysis::LatencyProfile slowest = of_key->Slowest();
  uint64_t sum = 0;
  for (const uint64_t part : slowest.phase_sums) sum += part;
  if (slowest.complete == 0 || sum == 0) return;
  const auto longest = std::max_element(slowest.phase_sums.begin(), slowest.phase_sums.end());
  const auto phase = static_cast<size_t>(longest - slowest.phase_sums.begin());
  Put(out, "  {}of the slowest {} ({:.2g} %), {:.0f} % of the time is {}", style.dim,
      slowest.count == 1 ? std::string("one") : fmt::format("{}", slowest.count),
      Percent(static_cast<double>(slowest.count), static_cast<double>(of_key->times[0].count())),
      Percent(static_cast<double>(*longest), static_cast<double>(sum)), kPhaseWords[phase]);
  for (size_t i = 0; i < analysis::kMeanwhiles; ++i) {
    if (slowest.meanwhile[i] == 0) continue;
    Put(out, "; {:.0f} % had {}",
        Percent(static_cast<double>(slowest.meanwhile[i]), static_cast<double>(slowest.count)), kMeanwhileWords[i]);
  }
  Put(out, "{}\n", style.reset);
}

void PutMedians(std::string& out, const analysis::LatencyRow& row) {
  const analysis::LatencyComparison& compared = *row.comparison;
  Put(out, "median {} -> {}", DurationText(compared.against.times.p50.ns), DurationText(row.now.times.p50.ns));
  if (compared.against.times.p50.ns > 0) Put(out, " ({:+.1f} %)", compared.difference->p50_percent.value);
}

// Whether the rank test could find no difference of so many times, however large it is: of all orders in which they can
// be, even the rarest two are not rare enough.
bool AreTooFew(uint64_t a, uint64_t b) {
  double orders = 1;
  const uint64_t fewer = std::min(a, b), more = std::max(a, b);
  for (uint64_t i = 1; i <= fewer && orders < 2 / kSignificance; ++i)
    orders *= static_cast<double>(more + i) / static_cast<double>(i);
  return orders < 2 / kSignificance;
}

void PutVerdict(std::string& out, const std::vector<analysis::LatencyRow>& rows, const Style& style) {
  const analysis::LatencyRow& all = rows.front();
  if (!all.comparison || !(*all.comparison).difference) return;
  const analysis::LatencyComparison& compared = *all.comparison;
  if (AreTooFew(all.now.count, compared.against.count)) {
    Put(out, "  {}too few RPCs to tell{}: {}, {} before; median {} -> {}\n", style.dim, style.reset, all.now.count,
        compared.against.count, DurationText(compared.against.times.p50.ns), DurationText(all.now.times.p50.ns));
    return;
  }
  Put(out, "  {}{}{}: ", *compared.significant ? compared.effect->value > 0 ? style.red : style.green : style.dim,
      NameOf(compared.verdict), style.reset);
  PutMedians(out, all);
  Put(out, ", {} RPCs before, p = {:.2g}", compared.against.count, compared.p->value);
  for (const analysis::LatencyRow& row : rows) {
    if (&row == &all || !(*row.comparison).significant.value_or(false)) continue;
    Put(out, "; {} is {}, ", TextOf(row), NameOf((*row.comparison).verdict));
    PutMedians(out, row);
  }
  Put(out, "\n");
}

}  // namespace

const std::array<std::string_view, analysis::kTimes> kTimeTexts{"round trip", "to read", "pull",    "service",
                                                                "push",       "finish",  "recovery"};

std::string SlowSentence(const analysis::LatencySample& sample) {
  std::string out;
  if (const auto longest = sample.LongestPhase()) {
    const int64_t ns = *sample.phases[*longest];
    stag::Put(out, "{:.0f} % {}", Percent(static_cast<double>(ns), static_cast<double>(sample.rtt_ns)),
              kPhaseWords[static_cast<size_t>(*longest)]);
  } else {
    stag::Put(out, "not all of its phases are known");
  }
  for (size_t i = 0; i < analysis::kMeanwhiles; ++i)
    if (sample.meanwhile[i]) stag::Put(out, "; {}", kMeanwhileWords[i]);
  constexpr size_t kMostWaits = 3;
  for (size_t i = 0; i < std::min(sample.waits.size(), kMostWaits); ++i) {
    const analysis::SampleWait& wait = sample.waits[i];
    stag::Put(out, "; waited ");
    PutDuration(out, wait.ns);
    stag::Put(out, " for frame {} ({})", wait.frame, kCauseWords[static_cast<size_t>(wait.cause)]);
  }
  if (sample.waits.size() > kMostWaits) stag::Put(out, "; and {} times more", sample.waits.size() - kMostWaits);
  if (sample.silence_ns > 0) {
    stag::Put(out, "; for {} no packet on its connection", DurationText(sample.silence_ns));
  }
  return out;
}

LatencyReport::LatencyReport(analysis::LatencyKey by, const analysis::LatencyTable& table,
                             const analysis::LatencyTable* against)
    : by_(by), table_(table), against_(against), keys_(table.Keys()) {
  if (!against) return;
  for (std::string& key : against->Keys())
    if (!table.Find(key)) keys_.push_back(std::move(key));
  Compare();
}

void LatencyReport::Compare() {
  std::vector<analysis::TestedTimes*> tests;
  for (const std::string& key : keys_) {
    Tests& of_key = tests_[key];
    const analysis::LatencyHistograms *now = table_.Find(key), *before = against_->Find(key);
    if (!now || !before) continue;
    for (size_t i = 0; i < analysis::kTimes; ++i) {
      if (now->times[i].count() == 0 || before->times[i].count() == 0) continue;
      of_key[i] = {CompareRanks(before->times[i], now->times[i]), false};
      tests.push_back(&*of_key[i]);
    }
  }
  // Holm: of the k-th smallest of n, n - k + 1 times as much; never less than of one before it.
  std::sort(tests.begin(), tests.end(), [](const auto* a, const auto* b) { return a->test.p < b->test.p; });
  double least = 0;
  for (size_t i = 0; i < tests.size(); ++i) {
    least = std::max(least, std::min(tests[i]->test.p * static_cast<double>(tests.size() - i), 1.0));
    tests[i]->test.p = least;
    tests[i]->significant = least < kSignificance && std::abs(tests[i]->test.effect) >= kNegligible;
  }
}

std::vector<analysis::LatencyRow> LatencyReport::RowsOf(const std::string& key) const {
  static const analysis::LatencyHistograms kNone;
  const analysis::LatencyHistograms *now = table_.Find(key), *before = against_ ? against_->Find(key) : nullptr;
  std::vector<analysis::LatencyRow> rows;
  for (size_t i = 0; i < analysis::kTimes; ++i) {
    const analysis::CountedTimes times((now ? *now : kNone).times[i]), others((before ? *before : kNone).times[i]);
    if (times.count + others.count == 0) continue;
    rows.push_back({by_, key, analysis::kTimeNames[i], times, {}});
    if (against_) rows.back().comparison = analysis::LatencyComparison(times, others, tests_.at(key)[i]);
  }
  return rows;
}

std::vector<std::string> LatencyReport::Slower(double percent) const {
  std::vector<std::string> slower;
  for (const std::string& key : keys_) {
    const analysis::LatencyRow row = RowsOf(key).front();
    const bool is_slower = (*row.comparison).verdict == analysis::LatencyVerdict::kSlower;
    if (is_slower && (*row.comparison).difference->p50_percent.value > percent) slower.push_back(key);
  }
  return slower;
}

void LatencyReport::Put(Output& output, RowOutput& rows, const std::vector<std::string>& files) const {
  if (rows.as_text()) {
    PutTexts(output, rows);
  } else {
    for (const std::string& key : keys_)
      for (const analysis::LatencyRow& row : RowsOf(key)) rows.Put(row);
    rows.Finish();
    for (const analysis::LatencySample& sample : table_.Slowest())
      rows.PutOther(analysis::SlowRow(sample, by_), DisplayName(files[sample.file]));
  }
  output.Flush();
}

void LatencyReport::PutTexts(Output& output, RowOutput& rows) const {
  const Style& style = output.style();
  size_t width = 10;
  for (const std::string& key : keys_) width = std::max(width, std::min<size_t>(key.size(), 40));
  stag::Put(output.buffer(), "{}{:<{}}  {:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}{}\n", style.bold, NameOf(by_),
            width, "time", "count", "p50", "p90", "p99", "p99.9", "max", "sum", style.reset);
  std::string text;
  uint64_t number = 0;
  for (const std::string& key : keys_) {
    const std::vector<analysis::LatencyRow> of_key = RowsOf(key);
    text.clear();
    PutRows(text, of_key, style, width);
    PutTail(text, table_.Find(key), style);
    PutVerdict(text, of_key, style);
    rows.sorts() ? rows.Write(text, rows.KeyOf(&of_key.front()), ++number) : rows.Write(text);
  }
  rows.Finish();
  PutSlowest(output.buffer(), style);
}

void LatencyReport::PutSlowest(std::string& out, const Style& style) const {
  const std::vector<analysis::LatencySample> slowest = table_.Slowest();
  if (slowest.empty()) return;
  stag::Put(out, "\n{}the slowest:{}\n", style.bold, style.reset);
  for (const analysis::LatencySample& sample : slowest) {
    std::string rtt;
    PutDuration(rtt, sample.rtt_ns);
    stag::Put(out, "{:>8}  {}{}{}, connection {}, frames {} to {}: {}\n", rtt, style.cyan, sample.name, style.reset,
              sample.connection, sample.call_frame, sample.reply_frame, SlowSentence(sample));
  }
}

}  // namespace stag::cli
