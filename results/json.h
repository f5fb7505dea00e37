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

void PutValue(JsonWriter& json, const Value& value);
// The members of a row, without the braces.
void PutMembers(JsonWriter& json, const void* row, const RecordInfo& info);
// An object: "type", "file" where the row is of one, and the members.
void PutRow(JsonWriter& json, const void* row, const RecordInfo& info, std::optional<std::string_view> file);
// A row as a line of its own.
template <typename R>
void PutLine(std::string& out, const R& row, std::optional<std::string_view> file = std::nullopt) {
  JsonWriter json(out);
  PutRow(json, &row, InfoOf<R>(), file);
  json.EndLine();
}
template <typename R>
void PutRow(JsonWriter& json, const R& row, std::optional<std::string_view> file = std::nullopt) {
  PutRow(json, &row, InfoOf<R>(), file);
}

}  // namespace stag::results
