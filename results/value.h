// SPDX-License-Identifier: GPL-2.0-or-later
//
// Value: one value of a result, as every format is given it. The types of the members of rows: integers, bool,
// std::string, std::string_view, enumerations with names, and the ones below; optionals and vectors of these; records,
// pointers to records.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/base/enum_names.h"

namespace stag::results {

struct Duration {  // written as microseconds with three decimals
  int64_t ns = 0;
};
struct Elapsed {  // written as seconds with nine decimals
  int64_t ns = 0;
};
struct Time {  // since 1970, written as ISO 8601 with nanoseconds
  int64_t ns = 0;
};
struct Xid {  // written as "0x" and eight digits
  uint32_t value = 0;
};
template <int kPlaces>
struct Decimal {  // written with so many decimals
  double value = 0;
};
// A member that some rows do not have: it is left out, where an empty optional is null.
template <typename T>
class Omittable {
 public:
  Omittable() = default;
  Omittable(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): as an optional
  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return *value_; }

 private:
  std::optional<T> value_;
};

// Null, where a text is empty, or a number is 0.
inline std::optional<std::string_view> NotEmpty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
template <std::unsigned_integral T>
std::optional<T> NotZero(T number) {
  return number != 0 ? std::optional(number) : std::nullopt;
}

struct RecordInfo;
template <typename R>
const RecordInfo& InfoOf();  // record.h

enum class Kind : uint8_t {
  kAbsent,
  kNull,
  kBool,
  kUnsigned,
  kSigned,
  kDecimal,
  kDuration,
  kElapsed,
  kTime,
  kXid,
  kText,
  kHex,  // bytes, written as hexadecimal digits
  kRecord,
  kList,
  kMap,  // an object whose names are not known beforehand
};

// Refers to the row that it was taken from: it lives as long as the row stays as it is.
class Value {
 public:
  using At = Value (*)(const void* list, size_t index);
  using NameAt = std::string_view (*)(const void* map, size_t index);

  static Value Absent() { return Value(Kind::kAbsent); }
  static Value Null() { return Value(Kind::kNull); }
  static Value Bool(bool v) { return Value(Kind::kBool, v ? 1 : 0); }
  static Value Unsigned(uint64_t v) { return Value(Kind::kUnsigned, v); }
  // kSigned, kDuration, kElapsed, kTime.
  static Value Signed(Kind kind, int64_t v) { return Value(kind, static_cast<uint64_t>(v)); }
  static Value Decimal(double v, int places) {
    Value value(Kind::kDecimal);
    value.real_ = v;
    value.size_ = static_cast<size_t>(places);
    return value;
  }
  static Value Xid(uint32_t v) { return Value(Kind::kXid, v); }
  static Value Text(std::string_view v) { return Value(Kind::kText, v.data(), v.size()); }
  static Value Hex(Bytes v) { return Value(Kind::kHex, v.data(), v.size()); }
  static Value Record(const void* row, const RecordInfo& info) {
    Value value(Kind::kRecord, row, 0);
    value.info_ = &info;
    return value;
  }
  static Value List(const void* list, size_t size, At at) {
    Value value(Kind::kList, list, size);
    value.at_ = at;
    return value;
  }

  static Value Map(const void* map, size_t size, At at, NameAt name_at) {
    Value value(Kind::kMap, map, size);
    value.at_ = at;
    value.name_at_ = name_at;
    return value;
  }

  Kind kind() const { return kind_; }
  bool known() const { return kind_ != Kind::kAbsent && kind_ != Kind::kNull; }
  // REQUIRES: of the kind that has it.
  bool boolean() const { return number_ != 0; }
  uint64_t number() const { return number_; }
  int64_t signed_number() const { return static_cast<int64_t>(number_); }
  double real() const { return real_; }
  int places() const { return static_cast<int>(size_); }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
  Bytes bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  const void* row() const { return data_; }
  const RecordInfo& info() const { return *info_; }
  size_t size() const { return size_; }
  Value at(size_t index) const { return at_(data_, index); }
  std::string_view name_at(size_t index) const { return name_at_(data_, index); }

 private:
  explicit Value(Kind kind, uint64_t number = 0) : kind_(kind), number_(number) {}
  Value(Kind kind, const void* data, size_t size) : kind_(kind), data_(data), size_(size) {}

  Kind kind_;
  union {
    uint64_t number_;
    double real_;
    const void* data_;
  };
  size_t size_ = 0;
  union {
    const RecordInfo* info_ = nullptr;
    At at_;
  };
  NameAt name_at_ = nullptr;
};

// The type of a member, for the schema and for tables.
struct Type {
  Kind kind = Kind::kNull;
  bool nullable = false, omittable = false;
  const Type* element = nullptr;                 // kList
  const RecordInfo& (*record)() = nullptr;       // kRecord
  std::span<const std::string_view> words = {};  // kText: all that it can be; empty: any text

  constexpr Type OrNull() const {
    Type type = *this;
    type.nullable = true;
    return type;
  }
  constexpr Type OrLeftOut() const {
    Type type = *this;
    type.omittable = true;
    return type;
  }
  bool number() const { return kind >= Kind::kUnsigned && kind <= Kind::kElapsed; }
};

// How a C++ type is a Value.
template <typename T>
struct As;

template <>
struct As<bool> {
  static constexpr Type kType{Kind::kBool};
  static Value Of(bool v) { return Value::Bool(v); }
};
template <std::unsigned_integral T>
struct As<T> {
  static constexpr Type kType{Kind::kUnsigned};
  static Value Of(T v) { return Value::Unsigned(v); }
};
template <std::signed_integral T>
struct As<T> {
  static constexpr Type kType{Kind::kSigned};
  static Value Of(T v) { return Value::Signed(Kind::kSigned, v); }
};
template <>
struct As<Duration> {
  static constexpr Type kType{Kind::kDuration};
  static Value Of(Duration v) { return Value::Signed(Kind::kDuration, v.ns); }
};
template <>
struct As<Elapsed> {
  static constexpr Type kType{Kind::kElapsed};
  static Value Of(Elapsed v) { return Value::Signed(Kind::kElapsed, v.ns); }
};
template <>
struct As<Time> {
  static constexpr Type kType{Kind::kTime};
  static Value Of(Time v) { return Value::Signed(Kind::kTime, v.ns); }
};
template <>
struct As<Xid> {
  static constexpr Type kType{Kind::kXid};
  static Value Of(Xid v) { return Value::Xid(v.value); }
};
template <int kPlaces>
struct As<Decimal<kPlaces>> {
  static constexpr Type kType{Kind::kDecimal};
  static Value Of(Decimal<kPlaces> v) { return Value::Decimal(v.value, kPlaces); }
};
template <>
struct As<std::string> {
  static constexpr Type kType{Kind::kText};
  static Value Of(const std::string& v) { return Value::Text(v); }
};
template <>
struct As<std::string_view> {
  static constexpr Type kType{Kind::kText};
  static Value Of(std::string_view v) { return Value::Text(v); }
};
template <>
struct As<std::vector<std::byte>> {
  static constexpr Type kType{Kind::kHex};
  static Value Of(const std::vector<std::byte>& v) { return Value::Hex(v); }
};
template <size_t kSize>
struct As<std::array<std::byte, kSize>> {
  static constexpr Type kType{Kind::kHex};
  static Value Of(const std::array<std::byte, kSize>& v) { return Value::Hex(v); }
};
template <typename E>
requires std::is_enum_v<E>
struct As<E> {
  static constexpr Type kType{.kind = Kind::kText, .words = EnumNames<E>::kNames};
  static Value Of(E v) { return Value::Text(NameOf(v)); }
};
template <typename T>
struct As<std::optional<T>> {
  static constexpr Type kType = As<T>::kType.OrNull();
  static Value Of(const std::optional<T>& v) { return v ? As<T>::Of(*v) : Value::Null(); }
};
template <typename T>
struct As<Omittable<T>> {
  static constexpr Type kType = As<T>::kType.OrLeftOut();
  static Value Of(const Omittable<T>& v) { return v ? As<T>::Of(*v) : Value::Absent(); }
};
template <typename T>
struct As<std::vector<T>> {
  static constexpr Type kElement = As<T>::kType;
  static constexpr Type kType{.kind = Kind::kList, .element = &kElement};
  static Value Of(const std::vector<T>& v) {
    return Value::List(&v, v.size(), [](const void* list, size_t index) {
      return As<T>::Of((*static_cast<const std::vector<T>*>(list))[index]);
    });
  }
};
template <typename Map, typename T>
struct AsMap {
  static constexpr Type kElement = As<T>::kType;
  static constexpr Type kType{.kind = Kind::kMap, .element = &kElement};
  static const auto& Entry(const void* map, size_t index) {
    return *std::next(static_cast<const Map*>(map)->begin(), static_cast<std::ptrdiff_t>(index));
  }
  static Value Of(const Map& v) {
    return Value::Map(
        &v, v.size(), [](const void* map, size_t index) { return As<T>::Of(Entry(map, index).second); },
        [](const void* map, size_t index) { return std::string_view(Entry(map, index).first); });
  }
};
template <typename Name, typename T>
struct As<std::vector<std::pair<Name, T>>> : AsMap<std::vector<std::pair<Name, T>>, T> {};
template <typename Name, typename T>
struct As<std::map<Name, T>> : AsMap<std::map<Name, T>, T> {};  // a small one
template <typename R>
struct As<const R*> : As<R> {  // a record elsewhere, which outlives the row
  static Value Of(const R* row) { return As<R>::Of(*row); }
};
template <typename R>  // a record
struct As {
  static constexpr Type kType{.kind = Kind::kRecord, .record = InfoOf<R>};
  static Value Of(const R& row) { return Value::Record(&row, InfoOf<R>()); }
};

}  // namespace stag::results
