// SPDX-License-Identifier: GPL-2.0-or-later
//
// EnumNames: the words for the values of an enumeration, which stand beside it, once: for JSON, text and Wireshark.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stag {

// Specialised for enumerations whose values count from 0: kNames has a word for each, in their order.
template <typename E>
struct EnumNames;

template <typename E>
constexpr std::string_view NameOf(E value) {
  return EnumNames<E>::kNames[static_cast<size_t>(value)];
}

}  // namespace stag
