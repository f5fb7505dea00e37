// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency/latency_report.h"

#include <algorithm>
#include <cmath>

#include "analysis/rank_test.h"
#include "text/json.h"
#include "text/put.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

struct Statistic {
  std::string_view name;
  uint64_t (*of)(const analysis::TimeHistogram& times);
};
constexpr std::array<Statistic, 6> kStatistics = {{
    {"p50_us", [](const analysis::TimeHistogram& h) { return h.Percentile(500); }},
    {"p90_us", [](const analysis::TimeHistogram& h) { return h.Percentile(900); }},
    {"p99_us", [](const analysis::TimeHistogram& h) { return h.Percentile(990); }},
    {"p999_us", [](const analysis::TimeHistogram& h) { return h.Percentile(999); }},
    {"max_us", [](const analysis::TimeHistogram& h) { return h.max(); }},
    {"sum_us", [](const analysis::TimeHistogram& h) { return h.sum(); }},
}};

constexpr std::array<std::string_view, session::kPhases> kPhaseWords{"before the first RDMA Read", "in RDMA Reads",
                                                                     "in the server", "in RDMA Writes",
                                                                     "between the last RDMA Write and the Reply"};
constexpr std::array<std::string_view, analysis::kMeanwhiles> kMeanwhileNames{"rnr_nak", "sequence_nak", "gap",
                                                                              "credits"};
constexpr std::array<std::string_view, analysis::kMeanwhiles> kMeanwhileWords{
    "an RNR NAK", "a sequence NAK (packets lost, and sent again)", "packets that the capture misses",
    "all credits in use"};

void PutStatistics(JsonWriter& json, const analysis::TimeHistogram& times) {
  json.Member("count", times.count());
  for (const Statistic& statistic : kStatistics)
    json.Key(statistic.name).Thousandths(static_cast<int64_t>(statistic.of(times)));
}

double Percent(double part, double whole) { return whole > 0 ? part / whole * 100 : 0; }

// How much larger `after` is, of `before`.
double Growth(uint64_t before, uint64_t after) {
  return Percent(static_cast<double>(after) - static_cast<double>(before), static_cast<double>(before));
}

std::string_view VerdictOf(const LatencyDifference& difference) {
  return !difference.significant ? "no difference" : difference.effect > 0 ? "slower" : "faster";
}

void PutTimeCell(std::string& out, uint64_t ns) {
  std::string cell;
  PutDuration(cell, static_cast<int64_t>(ns));
  stag::Put(out, " {:>8}", cell);
}

}  // namespace

const std::array<std::string_view, analysis::kTimes> kTimeTexts{"round trip", "to read", "pull",
                                                                "service",    "push",    "finish"};

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
  if (sample.silence_ns > 0) {
    stag::Put(out, "; for ");
    PutDuration(out, sample.silence_ns);
    stag::Put(out, " no packet on its connection");
  }
  return out;
}

LatencyReport::LatencyReport(std::string_view by, const analysis::LatencyTable& table,
                             const analysis::LatencyTable* against)
    : by_(by), table_(table), against_(against), keys_(table.Keys()) {
  if (!against) return;
  for (std::string& key : against->Keys())
    if (!table.Find(key)) keys_.push_back(std::move(key));
  Compare();
}

const analysis::LatencyRow* LatencyReport::Of(const analysis::LatencyTable* table, const std::string& key) const {
  return table ? table->Find(key) : nullptr;
}

void LatencyReport::Compare() {
  std::vector<LatencyDifference*> tests;
  for (const std::string& key : keys_) {
    Differences& differences = differences_[key];
    const analysis::LatencyRow *now = Of(&table_, key), *before = Of(against_, key);
    if (!now || !before) continue;
    for (size_t i = 0; i < analysis::kTimes; ++i) {
      if (now->times[i].count() == 0 || before->times[i].count() == 0) continue;
      const analysis::RankTest test = CompareRanks(before->times[i], now->times[i]);
      differences[i] = {true, test.p, test.effect, false};
      tests.push_back(&differences[i]);
    }
  }
  // Holm: of the k-th smallest of n, n - k + 1 times as much; never less than of one before it.
  std::sort(tests.begin(), tests.end(), [](const auto* a, const auto* b) { return a->p < b->p; });
  double least = 0;
  for (size_t i = 0; i < tests.size(); ++i) {
    least = std::max(least, std::min(tests[i]->p * static_cast<double>(tests.size() - i), 1.0));
    tests[i]->p = least;
    tests[i]->significant = least < kSignificance && std::abs(tests[i]->effect) >= kNegligible;
  }
}

std::vector<std::string> LatencyReport::Slower(double percent) const {
  std::vector<std::string> slower;
  for (const std::string& key : keys_) {
    const auto found = differences_.find(key);
    if (found == differences_.end() || !found->second[0].significant || found->second[0].effect < 0) continue;
    const uint64_t before = Of(against_, key)->times[0].Percentile(500),
                   now = Of(&table_, key)->times[0].Percentile(500);
    if (Growth(before, now) > percent) slower.push_back(key);
  }
  return slower;
}

void LatencyReport::Put(Output& output, Format format) const {
  if (format == Format::kJsonl) {
    PutLines(output);
  } else if (format == Format::kCsv) {
    PutCsv(output.buffer());
  } else {
    PutText(output);
  }
  output.Flush();
}

// ---------------------------------------------------------------------------------------------------------------- text

void LatencyReport::PutText(Output& output) const {
  const Style& style = output.style();
  std::string& out = output.buffer();
  size_t width = 10;
  for (const std::string& key : keys_) width = std::max(width, std::min<size_t>(key.size(), 40));
  stag::Put(out, "{}{:<{}}  {:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}{}\n", style.bold, by_, width, "time",
            "count", "p50", "p90", "p99", "p99.9", "max", "sum", style.reset);
  for (const std::string& key : keys_) {
    PutTextRows(out, style, key, width);
    PutTail(out, style, key);
    PutVerdict(out, style, key);
    output.Commit();
  }
  PutSlowest(out, style);
}

void LatencyReport::PutTextRows(std::string& out, const Style& style, const std::string& key, size_t width) const {
  const analysis::LatencyRow* row = Of(&table_, key);
  const std::string shown = Printable(key);
  if (!row) {
    stag::Put(out, "{}{:<{}}{}  only in the other capture\n", style.cyan, shown, width, style.reset);
    return;
  }
  for (size_t i = 0; i < analysis::kTimes; ++i) {
    const analysis::TimeHistogram& times = row->times[i];
    if (times.count() == 0) continue;
    stag::Put(out, "{}{:<{}}{}  {:<10} {:>8}", i == 0 ? style.cyan : std::string_view{}, i == 0 ? shown : std::string(),
              width, i == 0 ? style.reset : std::string_view{}, kTimeTexts[i], times.count());
    for (const Statistic& statistic : kStatistics) PutTimeCell(out, statistic.of(times));
    stag::Put(out, "\n");
  }
}

// In words: where the time of the slowest went, and what happened while they waited.
void LatencyReport::PutTail(std::string& out, const Style& style, const std::string& key) const {
  const analysis::LatencyRow* row = Of(&table_, key);
  if (!row || row->times[0].count() < 20) return;
  const analysis::LatencyProfile slowest = row->Slowest();
  uint64_t sum = 0;
  for (const uint64_t part : slowest.phase_sums) sum += part;
  if (slowest.complete == 0 || sum == 0) return;
  const auto longest = std::max_element(slowest.phase_sums.begin(), slowest.phase_sums.end());
  const auto phase = static_cast<size_t>(longest - slowest.phase_sums.begin());
  stag::Put(out, "  {}of the slowest {} ({:.2g} %), {:.0f} % of the time is {}", style.dim,
            slowest.count == 1 ? std::string("one") : fmt::format("{}", slowest.count),
            Percent(static_cast<double>(slowest.count), static_cast<double>(row->times[0].count())),
            Percent(static_cast<double>(*longest), static_cast<double>(sum)), kPhaseWords[phase]);
  for (size_t i = 0; i < analysis::kMeanwhiles; ++i) {
    if (slowest.meanwhile[i] == 0) continue;
    stag::Put(out, "; {:.0f} % had {}",
              Percent(static_cast<double>(slowest.meanwhile[i]), static_cast<double>(slowest.count)),
              kMeanwhileWords[i]);
  }
  stag::Put(out, "{}\n", style.reset);
}

void LatencyReport::PutVerdict(std::string& out, const Style& style, const std::string& key) const {
  const auto found = differences_.find(key);
  if (found == differences_.end() || !found->second[0].in_both) return;
  const analysis::LatencyRow &now = *Of(&table_, key), &before = *Of(against_, key);
  const auto put = [&](size_t i) {
    const uint64_t from = before.times[i].Percentile(500), to = now.times[i].Percentile(500);
    stag::Put(out, "median ");
    PutDuration(out, static_cast<int64_t>(from));
    stag::Put(out, " -> ");
    PutDuration(out, static_cast<int64_t>(to));
    if (from > 0) stag::Put(out, " ({:+.1f} %)", Growth(from, to));
  };
  const LatencyDifference& all = found->second[0];
  stag::Put(out, "  {}{}{}: ", all.significant ? all.effect > 0 ? style.red : style.green : style.dim, VerdictOf(all),
            style.reset);
  put(0);
  stag::Put(out, ", {} RPCs before, p = {:.2g}", before.times[0].count(), all.p);
  for (size_t i = 1; i < analysis::kTimes; ++i) {
    const LatencyDifference& phase = found->second[i];
    if (!phase.significant) continue;
    stag::Put(out, "; {} is {}, ", kTimeTexts[i], VerdictOf(phase));
    put(i);
  }
  stag::Put(out, "\n");
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

// ------------------------------------------------------------------------------------------------------ JSON lines,
// CSV

void LatencyReport::PutLines(Output& output) const {
  JsonWriter json(output.buffer());
  for (const std::string& key : keys_) {
    const analysis::LatencyRow *now = Of(&table_, key), *before = Of(against_, key);
    for (size_t i = 0; i < analysis::kTimes; ++i) {
      const analysis::TimeHistogram* times = now && now->times[i].count() > 0 ? &now->times[i] : nullptr;
      const analysis::TimeHistogram* others = before && before->times[i].count() > 0 ? &before->times[i] : nullptr;
      if (!times && !others) continue;
      json.BeginObject()
          .Member("type", "latency")
          .Member("by", by_)
          .Member("key", key)
          .Member("phase", analysis::kTimeNames[i]);
      static const analysis::TimeHistogram kNone;
      PutStatistics(json, times ? *times : kNone);
      if (against_) {
        json.Key("against").BeginObject();
        PutStatistics(json, others ? *others : kNone);
        json.EndObject().Key("difference");
        if (times && others) {
          json.BeginObject();
          for (const Statistic& statistic : kStatistics)
            json.Key(statistic.name)
                .Thousandths(static_cast<int64_t>(statistic.of(*times)) - static_cast<int64_t>(statistic.of(*others)));
          json.Key("p50_percent").Fixed(Growth(others->Percentile(500), times->Percentile(500)), 2).EndObject();
          const LatencyDifference& difference = differences_.at(key)[i];
          json.Member("test", "Mann-Whitney U").Key("p").Fixed(difference.p, 9);
          json.Key("effect").Fixed(difference.effect, 4);
          json.Member("significant", difference.significant).Member("verdict", VerdictOf(difference));
        } else {
          json.Value(nullptr).Member("test", nullptr).Member("p", nullptr).Member("effect", nullptr);
          json.Member("significant", nullptr).Member("verdict", times ? "only here" : "only there");
        }
      }
      json.EndObject().EndLine();
      output.Commit();
    }
  }
  for (const analysis::LatencySample& sample : table_.Slowest()) {
    json.BeginObject().Member("type", "slowest").Member("by", by_).Member("key", sample.key);
    json.Member("name", sample.name).Member("connection", sample.connection).Key("xid").Xid(sample.xid);
    json.Member("call_frame", sample.call_frame).Member("reply_frame", sample.reply_frame);
    json.Key("rtt_us").Thousandths(sample.rtt_ns).Key("phases_us").BeginObject();
    for (size_t i = 0; i < session::kPhases; ++i) {
      json.Key(session::kPhaseNames[i]);
      sample.phases.ns[i] ? json.Thousandths(*sample.phases.ns[i]) : json.Value(nullptr);
    }
    const auto longest = sample.LongestPhase();
    json.EndObject().Member("phases_complete", sample.phases.complete);
    json.TextOrNull("phase", longest ? session::kPhaseNames[static_cast<size_t>(*longest)] : std::string_view{});
    json.Key("meanwhile").BeginArray();
    for (size_t i = 0; i < analysis::kMeanwhiles; ++i)
      if (sample.meanwhile[i]) json.Value(kMeanwhileNames[i]);
    json.EndArray().Key("silence_us").Thousandths(sample.silence_ns).EndObject().EndLine();
    output.Commit();
  }
}

void LatencyReport::PutCsv(std::string& out) const {
  const auto put_key = [&out](std::string_view key) {  // RFC 4180
    out.push_back('"');
    for (const char c : key) {
      if (c == '"') out.push_back('"');
      out.push_back(c);
    }
    out.push_back('"');
  };
  const auto put_us = [&out](uint64_t ns) { stag::Put(out, ",{}.{:03}", ns / 1000, ns % 1000); };
  stag::Put(out, "by,key,phase,count");
  for (const Statistic& statistic : kStatistics) stag::Put(out, ",{}", statistic.name);
  if (against_) {
    stag::Put(out, ",against_count");
    for (const Statistic& statistic : kStatistics) stag::Put(out, ",against_{}", statistic.name);
    stag::Put(out, ",p,effect,verdict");
  }
  stag::Put(out, "\r\n");
  static const analysis::TimeHistogram kNone;
  for (const std::string& key : keys_) {
    const analysis::LatencyRow *now = Of(&table_, key), *before = Of(against_, key);
    for (size_t i = 0; i < analysis::kTimes; ++i) {
      const analysis::TimeHistogram& times = now ? now->times[i] : kNone;
      const analysis::TimeHistogram& others = before ? before->times[i] : kNone;
      if (times.count() + others.count() == 0) continue;
      stag::Put(out, "{},", by_);
      put_key(key);
      stag::Put(out, ",{},{}", analysis::kTimeNames[i], times.count());
      for (const Statistic& statistic : kStatistics) put_us(statistic.of(times));
      if (against_) {
        stag::Put(out, ",{}", others.count());
        for (const Statistic& statistic : kStatistics) put_us(statistic.of(others));
        const LatencyDifference& difference = differences_.at(key)[i];
        if (difference.in_both) {
          stag::Put(out, ",{:.9f},{:.4f},{}", difference.p, difference.effect, VerdictOf(difference));
        } else {
          stag::Put(out, ",,,{}", times.count() > 0 ? "only here" : "only there");
        }
      }
      stag::Put(out, "\r\n");
    }
  }
}

}  // namespace stag::cli
