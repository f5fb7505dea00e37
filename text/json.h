// SPDX-License-Identifier: GPL-2.0-or-later
//
// JsonWriter: JSON (RFC 8259), appended to a string value by value. Keys stand in the order in which they are given.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/bytes.h"

namespace stag {

// A JSON string. Bytes that are not UTF-8 become U+FFFD; controls (IsControl) are escaped, for it may go to a terminal.
void PutJsonString(std::string& out, std::string_view text);

class JsonWriter {
 public:
  // `out` must outlive the writer. Its owner may take what is there at any time, also within a document.
  explicit JsonWriter(std::string& out);
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  // `key`: printable ASCII without quotes and backslashes.
  JsonWriter& Key(std::string_view key);
  JsonWriter& AnyKey(std::string_view key);  // any text

  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const std::string& text) { return Value(std::string_view(text)); }
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(bool value);
  template <std::unsigned_integral T>
  JsonWriter& Value(T value) {
    return Unsigned(value);
  }
  template <std::signed_integral T>
  JsonWriter& Value(T value) {
    return Signed(value);
  }
  JsonWriter& Value(std::nullptr_t);
  // The value, or null.
  template <typename T>
  JsonWriter& Value(const std::optional<T>& value) {
    return value ? Value(*value) : Value(nullptr);
  }
  template <typename T>
  JsonWriter& Member(std::string_view key, const T& value) {
    return Key(key).Value(value);
  }
  // A string; null when it is empty.
  JsonWriter& TextOrNull(std::string_view key, std::string_view text) {
    return text.empty() ? Key(key).Value(nullptr) : Key(key).Value(text);
  }

  // A number with so many decimals.
  JsonWriter& Fixed(double value, int decimals);
  // A thousandth of `value`, with three decimals: -1234567 -> -1234.567.
  JsonWriter& Thousandths(int64_t value);
  // A billionth of `value`, with nine decimals.
  JsonWriter& Billionths(int64_t value);
  // Strings: hexadecimal digits without separators; "0x" and eight digits, or null; a time (PutTime).
  JsonWriter& Hex(Bytes bytes);
  JsonWriter& Xid(std::optional<uint32_t> xid);
  JsonWriter& Time(int64_t time_ns);
  // A value that is JSON already.
  JsonWriter& Raw(std::string_view json);
  // Where the caller appends such a value, before the next call.
  std::string& RawValue();

  // A document ends: what follows begins on a new line, as a document of its own.
  void EndLine();
  // Within a document: the next value, or the end of the array, stands on a line of its own.
  JsonWriter& NewLine();

 private:
  JsonWriter& Unsigned(uint64_t value);
  JsonWriter& Signed(int64_t value);

  class Structure;
  std::string& out_;
  std::unique_ptr<Structure> structure_;
};

}  // namespace stag
