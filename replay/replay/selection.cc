// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/selection.h"

#include <algorithm>

#include "protocol/base/words.h"

namespace stag::replay {

namespace {

bool IsCompound(const recording::RecordedRpc& rpc) {
  return rpc.program == nfs::kNfsProgram && rpc.version == 4 && rpc.procedure == 1;
}

}  // namespace

Result<void> Selection::Add(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view word = text.substr(0, equals);
  Term term;
  if (word == "frame") {
    term.kind = Kind::kFrame;
  } else if (word == "connection") {
    term.kind = Kind::kConnection;
  } else if (word == "program") {
    term.kind = Kind::kProgram;
  } else if (word == "procedure") {
    term.kind = Kind::kProcedure;
  } else {
    return Fail(std::string(text) + " is not frame=, connection=, program= or procedure=");
  }
  if (equals == std::string_view::npos || equals + 1 == text.size())
    return Fail(std::string(text) + " has nothing behind the =");
  for (std::string_view rest = text.substr(equals + 1);;) {
    const size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    Item item;
    const size_t dash = one.find('-');
    const auto first = ParseNumber<uint64_t>(one.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber<uint64_t>(one.substr(dash + 1));
    item.first = first.value_or(0);
    item.last = last.value_or(0);
    if (!first || !last || *first > *last) {
      const bool named = term.kind == Kind::kProgram || term.kind == Kind::kProcedure;
      if (!named || one.empty()) return Fail(std::string(text) + " is not a list of numbers and ranges like 1,5-9");
      item.name = UpperCase(one);
    }
    term.items.push_back(std::move(item));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  // Another term of the kind: more alternatives.
  if (const auto it = std::ranges::find(terms_, term.kind, &Term::kind); it != terms_.end()) {
    std::ranges::move(term.items, std::back_inserter(it->items));
  } else {
    terms_.push_back(std::move(term));
  }
  return {};
}

bool Selection::Holds(Kind kind, const Item& item, const recording::RecordedRpc& rpc, fabric::ConnectionId connection,
                      std::span<const uint32_t> operations) {
  const auto in = [&](uint64_t n) { return item.name.empty() && n >= item.first && n <= item.last; };
  const auto called = [&](const char* name) { return name && item.name == name; };
  switch (kind) {
    case Kind::kFrame: return in(rpc.call_frame.number);
    case Kind::kConnection: return in(connection);
    case Kind::kProgram: return rpc.known && (in(rpc.program) || called(rpc::ProgramName(rpc.program, rpc.version)));
    case Kind::kProcedure:
      if (!rpc.known) return false;
      if (in(rpc.procedure) || called(rpc::ProcedureName(rpc.program, rpc.version, rpc.procedure))) return true;
      return IsCompound(rpc) &&
             std::ranges::any_of(operations, [&](uint32_t op) { return called(nfs::OperationName(op)); });
  }
  return false;
}

bool Selection::Matches(const recording::RecordedRpc& rpc, fabric::ConnectionId connection,
                        std::span<const uint32_t> operations) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    return std::ranges::any_of(term.items,
                               [&](const Item& item) { return Holds(term.kind, item, rpc, connection, operations); });
  });
}

}  // namespace stag::replay
