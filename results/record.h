// SPDX-License-Identifier: GPL-2.0-or-later
//
// A record is a plain struct, a row, that is described once, beside it:
//
//   template <>
//   struct Record<LimitsRow> {
//     static constexpr std::string_view kType = "limits", kDoc = "How the time of a connection is spent.";
//     static constexpr std::array kMembers = {
//         Member<&LimitsRow::connection>("connection", "Number of the connection in its file.").Column("conn"),
//         Member<&LimitsRow::span>("span_us", "From the first Call to the last Reply.").Column("span"),
//     };
//   };
//
// All that is written of rows is written by this description: JSON, tables, CSV, the schema, its documentation.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

#include "results/value.h"

namespace stag::results {

struct MemberInfo {
  std::string_view name;  // the JSON member; it never changes its meaning. Empty: the members of a record, in its place
  std::string_view doc;   // a sentence, or more
  Type type;
  Value (*get)(const void* row) = nullptr;
  std::string_view unit = {};         // of a number; empty: it has none, or the type tells
  std::string_view heading = {};      // in tables; empty: not in them, but of all columns
  std::string_view replacement = {};  // the member to use instead: this one goes with version 1.0

  constexpr MemberInfo In(std::string_view of_numbers) const {
    MemberInfo m = *this;
    m.unit = of_numbers;
    return m;
  }
  constexpr MemberInfo Column(std::string_view text) const {
    MemberInfo m = *this;
    m.heading = text;
    return m;
  }
  constexpr MemberInfo Use(std::string_view instead) const {
    MemberInfo m = *this;
    m.replacement = instead;
    return m;
  }
};

struct RecordInfo {
  std::string_view type;  // the member "type" of a row; empty: a part of other records
  std::string_view doc;
  std::span<const MemberInfo> members;
};

// Specialised beside each row.
template <typename R>
struct Record;

// The base of the specialisations: the row has a short name in them.
template <typename R>
struct Of {
  using Row = R;
};
// That for a part of other records.
template <typename R>
struct Part : Of<R> {
  static constexpr std::string_view kType = "", kDoc = "";
};

template <typename R>
const RecordInfo& InfoOf() {
  static constexpr RecordInfo kInfo{Record<R>::kType, Record<R>::kDoc, Record<R>::kMembers};
  return kInfo;
}

template <typename P>
struct PointerToMember;
template <typename R, typename T>
struct PointerToMember<T R::*> {
  using Row = R;
  using Of = T;
};
template <typename R, typename T>
struct PointerToMember<T (R::*)() const> : PointerToMember<std::remove_cvref_t<T> R::*> {};
template <typename R, typename T>
struct PointerToMember<T (*)(const R&)> : PointerToMember<std::remove_cvref_t<T> R::*> {};

// A member of the row; or what a member function or a function of the row gives. `T`: the type of members that its
// value becomes.
template <auto kPointer, typename T = typename PointerToMember<decltype(kPointer)>::Of>
constexpr MemberInfo Member(std::string_view name, std::string_view doc) {
  using Row = typename PointerToMember<decltype(kPointer)>::Row;
  return {name, doc, As<T>::kType, [](const void* row) {
            decltype(auto) value = std::invoke(kPointer, *static_cast<const Row*>(row));
            constexpr bool kAsItIs = std::is_same_v<std::remove_cvref_t<decltype(value)>, T>;
            // A value that refers to what it shows shows what stays.
            static_assert((kAsItIs && std::is_reference_v<decltype(value)>) ||
                          (std::is_trivially_destructible_v<T> && As<T>::kType.kind != Kind::kRecord));
            if constexpr (kAsItIs) {
              return As<T>::Of(value);
            } else {
              return As<T>::Of(T{value});
            }
          }};
}
// A text, which is null where it is empty.
template <auto kPointer>
constexpr MemberInfo TextOrNull(std::string_view name, std::string_view doc) {
  using Row = typename PointerToMember<decltype(kPointer)>::Row;
  return {name, doc, As<std::optional<std::string_view>>::kType, [](const void* row) {
            const std::string_view text = static_cast<const Row*>(row)->*kPointer;
            return text.empty() ? Value::Null() : Value::Text(text);
          }};
}
// The members of a record that is a member of the row, in its place; none where it is an optional that is empty.
template <auto kPointer>
constexpr MemberInfo Inline() {
  return Member<kPointer>("", "");
}

// Calls fn(member, value) for the members of a row, in their order; for those of records in their place, too.
template <typename Fn>
void ForEachMember(const void* row, const RecordInfo& info, const Fn& fn) {
  for (const MemberInfo& member : info.members) {
    const Value value = member.get(row);
    if (!member.name.empty()) {
      fn(member, value);
    } else if (value.known()) {
      ForEachMember(value.row(), value.info(), fn);
    }
  }
}

}  // namespace stag::results
