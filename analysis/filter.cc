// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/filter.h"

#include <arpa/inet.h>

#include <algorithm>

#include "analysis/transaction_facts.h"
#include "protocol/rpc/message.h"
#include "session/rpcrdma/phases.h"
#include "text/parse.h"

namespace stag::analysis {
namespace {

constexpr int64_t kLargestRelative = int64_t{100'000'000} * 1'000'000'000;  // three years: more are seconds since 1970

std::optional<Moment> ParseMoment(std::string_view text) {
  if (const auto time = ParseIsoTime(text)) return Moment{false, *time};
  const auto seconds = ParseSeconds(text);
  const auto duration = seconds ? seconds : ParseDuration(text);
  if (!duration || *duration < 0) return std::nullopt;
  return Moment{*duration < kLargestRelative, *duration};
}

bool Has(const std::vector<std::string>& words, std::string_view name) {
  return std::ranges::find(words, LowerCase(name)) != words.end();
}

bool Has(const std::vector<AddressRange>& ranges, const Address& address) {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const AddressRange& range) {
           // A GID is written as an IPv6 address.
           const auto kind = [](const Address& a) {
             return a.kind == Address::Kind::kGid ? Address::Kind::kIpv6 : a.kind;
           };
           if (kind(range.address) != kind(address)) return false;
           for (unsigned i = 0; i < 16 && i * 8 < range.bits; ++i) {
             const unsigned counted = std::min(range.bits - i * 8, 8u), mask = 0xff00u >> counted & 0xffu;
             if ((std::to_integer<unsigned>(range.address.bytes[i] ^ address.bytes[i]) & mask) != 0) return false;
           }
           return true;
         });
}

}  // namespace

int64_t Moment::At(int64_t first_ns) const {
  if (!relative) return ns;
  return first_ns > INT64_MAX - ns ? INT64_MAX : first_ns + ns;
}

std::optional<NumberRange> ParseNumberRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = ParseNumber<uint64_t>(text.substr(0, dash));
  if (!first || *first == 0) return std::nullopt;
  if (dash == std::string_view::npos) return NumberRange{*first, *first};
  if (dash + 1 == text.size()) return NumberRange{*first, UINT64_MAX};
  const auto last = ParseNumber<uint64_t>(text.substr(dash + 1));
  if (!last || *last < *first) return std::nullopt;
  return NumberRange{*first, *last};
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
  if (text.starts_with("0x") || text.starts_with("0X")) return ParseNumber<uint32_t>(text.substr(2), 16);
  return ParseNumber<uint32_t>(text);
}

std::optional<AddressRange> ParseAddress(std::string_view text) {
  AddressRange range;
  const size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  unsigned most = 128;
  if (inet_pton(AF_INET, address.c_str(), range.address.bytes.data()) == 1) {
    range.address.kind = Address::Kind::kIpv4;
    most = 32;
  } else if (inet_pton(AF_INET6, address.c_str(), range.address.bytes.data()) == 1) {
    range.address.kind = Address::Kind::kIpv6;
  } else {
    const auto lid = LowerCase(address).starts_with("lid ") ? ParseNumber<uint16_t>(address.substr(4)) : std::nullopt;
    if (!lid) return std::nullopt;
    range.address.kind = Address::Kind::kLid;
    StoreBe16(range.address.bytes.data(), *lid);
    most = 16;
  }
  if (slash == std::string_view::npos) return range;
  const auto bits = ParseNumber<unsigned>(text.substr(slash + 1));
  if (!bits || *bits > most) return std::nullopt;
  range.bits = *bits;
  return range;
}

bool Filter::HasConnection(uint64_t connection) const {
  return connections.empty() || std::ranges::any_of(connections, [connection](const NumberRange& range) {
           return range.first <= connection && connection <= range.last;
         });
}

bool Filter::HasNumberAndEnds(const session::Connection& connection) const {
  return HasConnection(connection.info.id) && Has(clients, connection.info.endpoint[connection.client].address) &&
         Has(servers, connection.info.endpoint[1 - connection.client].address);
}

bool Filter::HasXid(uint32_t xid) const { return xids.empty() || std::ranges::find(xids, xid) != xids.end(); }

bool Filter::InRanges(const FrameRef& first, const FrameRef& last, int64_t first_ns) const {
  const bool in_frames = frames.empty() || std::ranges::any_of(frames, [&](const NumberRange& range) {
                           return first.number <= range.last && last.number >= range.first;
                         });
  return in_frames && (times.empty() || std::ranges::any_of(times, [&](const TimeRange& range) {
                         return (!range.to || first.time_ns <= range.to->At(first_ns)) &&
                                (!range.from || last.time_ns >= range.from->At(first_ns));
                       }));
}

bool Filter::HasProcedure(const session::Transaction& t) const {
  if (procedures.empty()) return true;
  if (!ProcedureKnown(t)) return false;
  const auto wanted = [this](std::string_view name) { return Has(procedures, name); };
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

bool Filter::HasStatus(const session::Transaction& t) const {
  if (statuses.empty()) return true;
  const Ending ending = EndingOf(t);
  if (Has(statuses, ending.answered ? ending.error ? "error" : "ok" : "none")) return true;
  if (!ending.name.empty() && Has(statuses, ending.name)) return true;
  return t.reply.walk.has_status && Has(statuses, std::to_string(t.reply.walk.nfs_status));
}

bool Filter::IsOfKind(const session::Transaction& t) const {
  const bool slow = !slower_than_ns || session::RoundTrip(t).value_or(-1) > *slower_than_ns;
  return slow && HasXid(t.xid) && HasProcedure(t) && HasStatus(t);
}

}  // namespace stag::analysis
