// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rows as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/record.h"
#include "text/json.h"

namespace stag::results {

// Each appends JSON to a string, or to what a JsonWriter has begun.
void PutValue(std::string& out, const Value& value);
inline void PutValue(JsonWriter& json, const Value& value) { PutValue(json.RawValue(), value); }
// The members of a row, within an object that the caller has begun.
void PutMembers(JsonWriter& json, const void* row, const RecordInfo& info);
// An object: "type", "file" where the row is of one, and the members.
void PutRow(std::string& out, const void* row, const RecordInfo& info, std::optional<std::string_view> file);
// A row as a line of its own.
template <typename R>
void PutLine(std::string& out, const R& row, std::optional<std::string_view> file = std::nullopt) {
  PutRow(out, &row, InfoOf<R>(), file);
  out.push_back('\n');
}
template <typename R>
void PutRow(JsonWriter& json, const R& row, std::optional<std::string_view> file = std::nullopt) {
  PutRow(json.RawValue(), &row, InfoOf<R>(), file);
}

}  // namespace stag::results
