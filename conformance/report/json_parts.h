// SPDX-License-Identifier: GPL-2.0-or-later
//
// Lists in JSON.
#pragma once

#include <functional>
#include <string_view>

#include "text/json.h"

namespace stag::conformance {

// An array of what `text_of` makes of each element.
template <typename List, typename Fn = std::identity>
void PutList(JsonWriter& json, std::string_view key, const List& list, Fn text_of = {}) {
  json.Key(key).BeginArray();
  for (const auto& element : list) json.Value(text_of(element));
  json.EndArray();
}

}  // namespace stag::conformance
