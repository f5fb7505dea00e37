// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/selection.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "cli/analysis/transaction_facts.h"
#include "cli/base/common_options.h"
#include "protocol/rpc/message.h"

namespace stag::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kLargestRelative = int64_t{100'000'000} * kSecondNs;  // three years: more are seconds since 1970

template <typename T>
std::optional<T> Number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return lower;
}

// Seconds with up to nine decimals, exactly.
std::optional<int64_t> ParseSeconds(std::string_view text) {
  const size_t point = text.find('.');
  const auto seconds = Number<uint32_t>(text.substr(0, point));
  if (!seconds) return std::nullopt;
  int64_t ns = int64_t{*seconds} * kSecondNs;
  if (point == std::string_view::npos) return ns;
  std::string digits(text.substr(point + 1));
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  digits.resize(9, '0');
  const auto fraction = Number<uint32_t>(digits);
  if (!fraction) return std::nullopt;
  return ns + *fraction;
}

// 2024-01-31T12:00:00.123456789Z: in UTC; a blank may stand for the T, seconds, their fraction and the Z may be left
// out.
std::optional<int64_t> ParseIsoTime(std::string_view text) {
  if (text.ends_with('Z') || text.ends_with('z')) text.remove_suffix(1);
  if (text.size() < 16 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
      text[13] != ':')
    return std::nullopt;
  const auto year = Number<int>(text.substr(0, 4));
  const auto month = Number<unsigned>(text.substr(5, 2)), day = Number<unsigned>(text.substr(8, 2));
  const auto hour = Number<unsigned>(text.substr(11, 2)), minute = Number<unsigned>(text.substr(14, 2));
  if (!year || !month || !day || !hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{*month}, std::chrono::day{*day}};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  int64_t ns = 0;
  text.remove_prefix(16);
  if (!text.empty()) {
    if (text.size() < 3 || text[0] != ':') return std::nullopt;
    const auto seconds = Number<unsigned>(text.substr(1, 2));
    if (!seconds || *seconds > 60) return std::nullopt;
    ns = *seconds * kSecondNs;
    text.remove_prefix(3);
    if (!text.empty()) {
      if (text[0] != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
      const auto fraction = ParseSeconds("0" + std::string(text));
      if (!fraction) return std::nullopt;
      ns += *fraction;
    }
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86400 + *hour * 3600 + *minute * 60) * kSecondNs + ns;
}

std::optional<Moment> ParseMoment(std::string_view text) {
  if (const auto time = ParseIsoTime(text)) return Moment{false, *time};
  const auto seconds = ParseSeconds(text);
  const auto duration = seconds ? seconds : ParseDuration(text);
  if (!duration || *duration < 0) return std::nullopt;
  return Moment{*duration < kLargestRelative, *duration};
}

}  // namespace

int64_t Moment::At(int64_t first_ns) const {
  if (!relative) return ns;
  return first_ns > INT64_MAX - ns ? INT64_MAX : first_ns + ns;
}

std::optional<FrameRange> ParseFrameRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = Number<uint64_t>(text.substr(0, dash));
  if (!first || *first == 0) return std::nullopt;
  if (dash == std::string_view::npos) return FrameRange{*first, *first};
  if (dash + 1 == text.size()) return FrameRange{*first, UINT64_MAX};
  const auto last = Number<uint64_t>(text.substr(dash + 1));
  if (!last || *last < *first) return std::nullopt;
  return FrameRange{*first, *last};
}

std::optional<TimeRange> ParseTimeRange(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos || text.size() == 2) return std::nullopt;
  TimeRange range;
  const std::string_view from = text.substr(0, dots), to = text.substr(dots + 2);
  if (!from.empty() && !(range.from = ParseMoment(from))) return std::nullopt;
  if (!to.empty() && !(range.to = ParseMoment(to))) return std::nullopt;
  if (range.from && range.to && range.from->relative == range.to->relative && range.from->ns > range.to->ns)
    return std::nullopt;
  return range;
}

std::optional<uint32_t> ParseXid(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return Number<uint32_t>(text.substr(2), 16);
  return Number<uint32_t>(text);
}

std::optional<WantedRule> ParseWantedRule(std::string_view text) {
  const size_t hash = text.find('#');
  std::string id(text.substr(0, hash));
  for (char& c : id)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  WantedRule wanted{conformance::FindRule(id), 0};
  if (!wanted.rule) return std::nullopt;
  if (hash == std::string_view::npos) return wanted;
  const auto number = Number<uint64_t>(text.substr(hash + 1));
  if (!number || *number == 0) return std::nullopt;
  wanted.number = *number;
  return wanted;
}

bool Selection::HasConnection(uint32_t connection) const {
  return connections.empty() || std::ranges::find(connections, connection) != connections.end();
}

bool Selection::HasXid(uint32_t xid) const { return xids.empty() || std::ranges::find(xids, xid) != xids.end(); }

bool Selection::InRanges(const FrameRef& first, const FrameRef& last, int64_t first_ns) const {
  const bool in_frames = frames.empty() || std::ranges::any_of(frames, [&](const FrameRange& range) {
                           return first.number <= range.last && last.number >= range.first;
                         });
  return in_frames && (times.empty() || std::ranges::any_of(times, [&](const TimeRange& range) {
                         return (!range.to || first.time_ns <= range.to->At(first_ns)) &&
                                (!range.from || last.time_ns >= range.from->At(first_ns));
                       }));
}

bool Selection::HasProcedure(const session::Transaction& t) const {
  if (procedures.empty()) return true;
  if (!ProcedureKnown(t)) return false;
  const auto wanted = [this](std::string_view name) {
    return std::ranges::find(procedures, LowerCase(name)) != procedures.end();
  };
  const rpc::CallHeader& call = t.call.rpc;
  const char* const name = rpc::ProcedureName(call.program, call.version, call.procedure);
  if ((name && wanted(name)) || wanted(std::to_string(call.procedure))) return true;
  std::string text;
  if (name) {
    PutProgram(text, call);
    text += name;
    if (wanted(text)) return true;
    text.clear();
  }
  PutSubject(text, t);
  if (wanted(text)) return true;
  if (!OperationsKnown(t)) return false;
  return std::ranges::any_of(t.operations, [&](const session::Operation& operation) {
    text.clear();
    PutOperation(text, t, operation.op);
    return wanted(text);
  });
}

}  // namespace stag::cli
