// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the JSON formats share: lists, a finding's members and a summary's.
#pragma once

#include <string>
#include <utility>

#include "conformance/report/format.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

// Appends "[...]"; `append` writes one value to `out`.
template <typename List, typename Fn>
void AppendList(std::string& out, const List& list, Fn append) {
  out.push_back('[');
  bool first = true;
  for (const auto& value : list) {
    if (!std::exchange(first, false)) out.push_back(',');
    append(value);
  }
  out.push_back(']');
}

// "0x1a2b3c4d" with its quotes, or null.
void AppendXid(std::string& out, std::optional<uint32_t> xid);

// The members of a finding that JSON lines and the JSON document have in common, from "type" to "see_also"; no braces.
void AppendFindingMembers(std::string& out, const Finding& finding, std::string_view file);

// The members of a summary from "frames" to "suppressed"; no braces. `counts`: findings, by Severity.
void AppendSummaryMembers(std::string& out, const Summary& summary, const std::array<uint64_t, 3>& counts,
                          const Suppressed& suppressed);

}  // namespace stag::conformance
