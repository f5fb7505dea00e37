// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the JSON formats share: lists, a finding's members and a summary's.
#pragma once

#include <functional>
#include <string_view>

#include "conformance/report/reporter.h"
#include "text/json.h"

namespace stag::conformance {

// An array of what `text_of` makes of each element.
template <typename List, typename Fn = std::identity>
void PutList(JsonWriter& json, std::string_view key, const List& list, Fn text_of = {}) {
  json.Key(key).BeginArray();
  for (const auto& element : list) json.Value(text_of(element));
  json.EndArray();
}

// The members of a finding that JSON lines and the JSON document have in common, from "type" to "see_also".
void PutFindingMembers(JsonWriter& json, const Finding& finding, std::string_view file);

// The members of a summary from "frames" to "suppressed". `counts`: findings, by Severity.
void PutSummaryMembers(JsonWriter& json, const Summary& summary, const std::array<uint64_t, 3>& counts,
                       const Suppressed& suppressed);

}  // namespace stag::conformance
