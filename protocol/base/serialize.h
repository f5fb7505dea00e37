// SPDX-License-Identifier: GPL-2.0-or-later
//
// Serialize: values as bytes, between processes of one version of the program, never in a file. A struct can be
// serialized when STAG_MEMBERS names all its members, or there is a function Members(value, fn) that calls fn with
// those that count. Packing and unpacking use the same function. Numbers are LEB128.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// In the namespace of the struct, or in stag. When the struct gains a member, this does not compile until it is named.
#define STAG_MEMBERS(Struct, ...)  \
  template <typename Fn>           \
  void Members(Struct& v, Fn fn) { \
    auto& [__VA_ARGS__] = v;       \
    fn(__VA_ARGS__);               \
  }

namespace stag {

// Appends to a string.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  void Number(uint64_t& v) {
    uint64_t left = v;
    for (; left >= 0x80; left >>= 7) out_.push_back(static_cast<char>(left | 0x80));
    out_.push_back(static_cast<char>(left));
  }
  void Text(std::string& v) {
    uint64_t size = v.size();
    Number(size);
    out_.append(v);
  }
  void Count(uint64_t& v) { Number(v); }

 private:
  std::string& out_;
};

// The counterpart. What does not fit fails for good, and leaves zeros.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}

  void Number(uint64_t& v) {
    v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (in_.empty()) return Fail();
      const auto byte = static_cast<unsigned char>(in_.front());
      in_.remove_prefix(1);
      v |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return;
    }
    Fail();
  }
  void Text(std::string& v) {
    uint64_t size = 0;
    Count(size);
    v = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  // Of what follows: at least a byte each.
  void Count(uint64_t& v) {
    Number(v);
    if (v <= in_.size()) return;
    v = 0;
    Fail();
  }
  // Everything was there, and nothing else.
  bool done() const { return ok_ && in_.empty(); }

 private:
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  std::string_view in_;
  bool ok_ = true;
};

// --- Any value. `archive` is a Packer or an Unpacker, which decides the direction.

template <typename Archive, typename T>
void Serialize(Archive& archive, T& v) {
  if constexpr (std::integral<T> || std::is_enum_v<T>) {
    auto number = static_cast<uint64_t>(v);
    archive.Number(number);
    v = static_cast<T>(number);
  } else if constexpr (std::same_as<T, double>) {
    auto bits = std::bit_cast<uint64_t>(v);
    archive.Number(bits);
    v = std::bit_cast<double>(bits);
  } else if constexpr (std::same_as<T, std::string>) {
    archive.Text(v);
  } else {
    Members(v, [&](auto&... members) { (Serialize(archive, members), ...); });
  }
}
template <typename Archive, typename T>
void Serialize(Archive& archive, std::optional<T>& v) {
  bool there = v.has_value();
  Serialize(archive, there);
  if (there && !v) v.emplace();
  if (there) Serialize(archive, *v);
}
template <typename Archive, typename T, size_t N>
void Serialize(Archive& archive, std::array<T, N>& v) {
  for (T& member : v) Serialize(archive, member);
}
template <typename Archive, typename T>
void Serialize(Archive& archive, std::vector<T>& v) {
  uint64_t count = v.size();
  archive.Count(count);
  v.resize(static_cast<size_t>(count));
  for (T& member : v) Serialize(archive, member);
}

template <typename Archive, typename First, typename Second>
void Serialize(Archive& archive, std::pair<First, Second>& v) {
  Serialize(archive, v.first);
  Serialize(archive, v.second);
}
template <typename Archive, typename Key, typename T>
void Serialize(Archive& archive, std::map<Key, T>& v) {
  std::vector<std::pair<Key, T>> entries(v.begin(), v.end());
  Serialize(archive, entries);
  v = {entries.begin(), entries.end()};
}
// All of `values` as bytes; and back. False: the bytes are not just these.
template <typename... Values>
std::string Pack(Values... values) {
  std::string bytes;
  Packer packer(bytes);
  (Serialize(packer, values), ...);
  return bytes;
}
template <typename... Values>
[[nodiscard]] bool Unpack(std::string_view bytes, Values&... values) {
  Unpacker unpacker(bytes);
  (Serialize(unpacker, values), ...);
  return unpacker.done();
}

}  // namespace stag
