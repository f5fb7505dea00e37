// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reading JSON (RFC 8259) that others may have written: it is UTF-8, and its nesting is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/base/result.h"

namespace stag {

struct JsonMember;
struct JsonValue {
  using List = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;

  // Of an object: the member (of several with one name, the last); nullptr: there is none.
  const JsonValue* Find(std::string_view name) const;
  // The member of that type; empty where there is none. Valid as long as this.
  std::string_view Text(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;  // those in a list
  std::optional<double> Number(std::string_view name) const;
  std::optional<uint64_t> Unsigned(std::string_view name) const;

  // Null, or a value; numbers are double where they are no uint64_t.
  std::variant<std::monostate, bool, uint64_t, double, std::string, List, Object> value;
};
struct JsonMember {
  std::string name;
  JsonValue value;
};

// A document; nullopt: it is none, or nested more than 64 deep. `take`: gets the elements of lists that are members of
// the document, which is left without them: it may be large.
std::optional<JsonValue> ReadJson(std::string_view text, const std::function<void(const JsonValue&)>& take = nullptr);

// Gives each line that is neither empty nor a comment (its first letter is #) to `take`, which returns what is wrong
// with the object there, or an empty string. The error is "LINE: what is wrong"; the names of files are the caller's.
Result<void> ForEachJsonLine(std::string_view text, const std::function<std::string(const JsonValue&)>& take);

}  // namespace stag
