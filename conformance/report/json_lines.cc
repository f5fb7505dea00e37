// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/json_lines.h"

#include "conformance/engine/text.h"

namespace stag::conformance {

Result<void> ForEachJsonLine(std::string_view text, const std::function<std::string(const nlohmann::json&)>& take) {
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || line[start] == '#') continue;
    const auto value = nlohmann::json::parse(line, nullptr, false);
    const std::string wrong = value.is_object() ? take(value) : "not a JSON object";
    if (!wrong.empty()) return Fail(Text(number, ": ", wrong));
  }
  return {};
}

std::string StringMember(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

bool IsFingerprint(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace stag::conformance
