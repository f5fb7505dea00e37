// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top/top_writer.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "text/put.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

constexpr size_t kRows = 20;
constexpr size_t kLeastKey = 24, kMostKey = 48;  // columns

bool ComesFirst(const analysis::TopEntry& a, const analysis::TopEntry& b, TopSort sort) {
  const auto value = [sort](const analysis::TopEntry& row) -> uint64_t {
    switch (sort) {
      case TopSort::kCalls: return row.counts.calls;
      case TopSort::kBytes: return row.counts.bytes;
      case TopSort::kP50: return row.counts.times.Percentile(500);
      case TopSort::kP99: return row.counts.times.Percentile(990);
      case TopSort::kOutstanding: return row.outstanding;
      case TopSort::kErrors: return row.counts.errors;
      case TopSort::kKey: break;
    }
    return 0;
  };
  const uint64_t of_a = value(a), of_b = value(b);
  return of_a != of_b ? of_a > of_b : a.key < b.key;
}

std::string Rate(uint64_t n, int64_t length_ns, double unit, int decimals) {
  return length_ns > 0 ? fmt::format("{:.{}f}", analysis::PerSecond(n, length_ns) / unit, decimals) : std::string("?");
}

std::string Percentile(const analysis::TimeHistogram& times, uint64_t thousandths) {
  std::string text;
  times.count() > 0 ? PutDuration(text, static_cast<int64_t>(times.Percentile(thousandths))) : Put(text, "-");
  return text;
}

}  // namespace

void TopWriter::OnBlock(TopBlock&& block) {
  if (output_.stopped()) return;
  if (view_.only_whole && !block.whole) return;
  std::sort(block.rows.begin(), block.rows.end(),
            [this](const analysis::TopEntry& a, const analysis::TopEntry& b) { return ComesFirst(a, b, view_.sort); });
  rows_.as_text() ? PutText(block) : PutRows(block);
  output_.Flush();
  if (++blocks_ == view_.blocks) output_.Stop();
}

size_t TopWriter::RowsOf(const TopBlock& block) const {
  size_t most = view_.rows.value_or(rows_.as_text() ? kRows : SIZE_MAX);
  winsize size{};
  if (!view_.rows && view_.refresh && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 6)
    most = size.ws_row - 4u;
  return std::min(most, block.rows.size());
}

void TopWriter::PutText(const TopBlock& block) {
  std::string& out = output_.buffer();
  const Style& style = output_.style();
  if (view_.refresh && !block.whole) {
    output_.ClearScreen();
  } else if (any_) {
    Put(out, "\n");
  }
  any_ = true;
  analysis::TopCounts all;
  for (const analysis::TopEntry& row : block.rows) all.Merge(row.counts);
  std::string time, length;
  const int64_t length_ns = block.interval.length_ns;
  PutTime(time, block.interval.start_ns);
  PutDuration(length, length_ns);
  Put(out, "{}{}{}{}, {}: {}, {}/s, {} MiB/s, {} outstanding, p50 {}, p99 {}, {}\n", style.bold,
      block.whole ? "all, from " : "", time, style.reset, length, Count(all.calls, "RPC"),
      Rate(all.calls, length_ns, 1, 1), Rate(all.bytes, length_ns, 1 << 20, 2), block.outstanding,
      Percentile(all.times, 500), Percentile(all.times, 990), Count(all.errors, "error"));
  const size_t shown = RowsOf(block);
  if (shown == 0) return;
  size_t width = kLeastKey;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, std::min(block.rows[i].key.size(), kMostKey));
  Put(out, "{}{:<{}} {:>10} {:>9} {:>8} {:>8} {:>11} {:>7}{}\n", style.dim, NameOf(view_.by), width, "calls/s", "MiB/s",
      "p50", "p99", "outstanding", "errors", style.reset);
  for (size_t i = 0; i < shown; ++i) {
    const analysis::TopEntry& row = block.rows[i];
    Put(out, "{:<{}} {:>10} {:>9} {:>8} {:>8} {:>11} {}{:>7}{}\n", Printable(row.key), width,
        Rate(row.counts.calls, length_ns, 1, 1), Rate(row.counts.bytes, length_ns, 1 << 20, 2),
        Percentile(row.counts.times, 500), Percentile(row.counts.times, 990), row.outstanding,
        row.counts.errors > 0 ? style.red : std::string_view{}, row.counts.errors,
        row.counts.errors > 0 ? style.reset : std::string_view{});
  }
  if (shown < block.rows.size()) Put(out, "{}... and {} more{}\n", style.dim, block.rows.size() - shown, style.reset);
}

void TopWriter::PutRows(const TopBlock& block) {
  const size_t shown = RowsOf(block);
  for (size_t i = 0; i < shown; ++i) {
    const analysis::TopRow row(block.rows[i], view_.by, block.interval);
    block.whole && !view_.only_whole ? rows_.PutOther(analysis::TopTotalRow{row}) : rows_.Put(row);
  }
}

}  // namespace stag::cli
