// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/base/check.h"
#define RAPIDJSON_ASSERT(condition) STAG_CHECK(condition)
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace stag {
namespace {

// A RapidJSON handler: false ends the reading.
class Builder {
 public:
  explicit Builder(const std::function<void(const JsonValue&)>& take) : take_(take) {}
  JsonValue Root() { return std::move(root_); }

  bool Null() { return Add({}); }
  bool Bool(bool v) { return Add({v}); }
  bool Int(int v) { return Int64(v); }  // negative, as is Int64
  bool Uint(unsigned v) { return Add({uint64_t{v}}); }
  bool Int64(int64_t v) { return Add({static_cast<double>(v)}); }
  bool Uint64(uint64_t v) { return Add({v}); }
  bool Double(double v) { return Add({v}); }
  bool RawNumber(const char*, size_t, bool) { return false; }
  bool String(const char* text, size_t length, bool) { return Add({std::string(text, length)}); }
  bool Key(const char* text, size_t length, bool) { return name_.assign(text, length), true; }
  bool StartObject() { return Begin({JsonValue::Object{}}); }
  bool EndObject(size_t) { return End(); }
  bool StartArray() { return Begin({JsonValue::List{}}); }
  bool EndArray(size_t) { return End(); }

 private:
  static constexpr size_t kDeepest = 64;

  bool Begin(JsonValue container) {
    open_.push_back({std::move(name_), std::move(container)});
    return open_.size() <= kDeepest;
  }
  bool End() {
    JsonValue ended = std::move(open_.back().value);
    name_ = std::move(open_.back().name);
    open_.pop_back();
    return Add(std::move(ended));
  }
  bool Add(JsonValue v) {
    if (open_.empty()) {
      root_ = std::move(v);
    } else if (auto* const object = std::get_if<JsonValue::Object>(&open_.back().value.value)) {
      object->push_back({std::move(name_), std::move(v)});
    } else if (take_ && open_.size() == 2) {
      take_(v);
    } else {
      std::get<JsonValue::List>(open_.back().value.value).push_back(std::move(v));
    }
    return true;
  }

  const std::function<void(const JsonValue&)>& take_;
  JsonValue root_;
  std::string name_;        // of the next member
  JsonValue::Object open_;  // objects and lists that have not ended, and the names that they have around them
};

template <typename T>
const T* Get(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.Find(name);
  return member ? std::get_if<T>(&member->value) : nullptr;
}

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  const Object* const object = std::get_if<Object>(&value);
  if (!object) return nullptr;
  const auto found = std::find_if(object->rbegin(), object->rend(), [&](const auto& m) { return m.name == name; });
  return found == object->rend() ? nullptr : &found->value;
}

std::string_view JsonValue::Text(std::string_view name) const {
  const auto* const text = Get<std::string>(*this, name);
  return text ? *text : std::string_view{};
}

std::vector<std::string> JsonValue::Texts(std::string_view name) const {
  std::vector<std::string> texts;
  if (const List* const list = Get<List>(*this, name))
    for (const JsonValue& element : *list)
      if (const auto* const text = std::get_if<std::string>(&element.value)) texts.push_back(*text);
  return texts;
}

std::optional<double> JsonValue::Number(std::string_view name) const {
  if (const auto number = Unsigned(name)) return static_cast<double>(*number);
  const auto* const number = Get<double>(*this, name);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<uint64_t> JsonValue::Unsigned(std::string_view name) const {
  const auto* const number = Get<uint64_t>(*this, name);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<JsonValue> ReadJson(std::string_view text, const std::function<void(const JsonValue&)>& take) {
  using namespace rapidjson;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  MemoryStream stream(text.data(), text.size());
  Builder builder(take);
  Reader reader;
  if (!reader.Parse<kParseIterativeFlag | kParseValidateEncodingFlag>(stream, builder)) return std::nullopt;
  if (stream.Tell() != text.size()) return std::nullopt;  // a zero looks like the end
  return builder.Root();
}

Result<void> ForEachJsonLine(std::string_view text, const std::function<std::string(const JsonValue&)>& take) {
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || line[start] == '#') continue;
    const auto read = ReadJson(line);
    const bool is_object = read && std::holds_alternative<JsonValue::Object>(read->value);
    const std::string wrong = is_object ? take(*read) : "not a JSON object";
    if (!wrong.empty()) return Fail(fmt::format("{}: {}", number, wrong));
  }
  return {};
}

}  // namespace stag
