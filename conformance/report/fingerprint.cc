// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/fingerprint.h"

#include "conformance/engine/state.h"
#include "conformance/engine/text.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

constexpr std::string_view kDigits = "0123456789", kHexDigits = "0123456789abcdefABCDEF",
                           kLower = "abcdefghijklmnopqrstuvwxyz";

std::string_view Take(std::string_view& text, std::string_view letters) {
  const std::string_view taken = text.substr(0, text.find_first_not_of(letters));
  text.remove_prefix(taken.size());
  return taken;
}

}  // namespace

std::string WithoutNumbers(std::string_view message) {
  std::string out;
  while (!message.empty()) {
    if (message.starts_with("0x")) {
      message.remove_prefix(2);
      Take(message, kHexDigits);
    } else if (Take(message, kDigits).empty()) {
      out.push_back(message.front());
      message.remove_prefix(1);
      continue;
    }
    out.push_back('#');
    if (!message.starts_with(' ')) continue;
    message.remove_prefix(1);
    std::string_view noun = Take(message, kLower);
    if (noun.size() > 1 && noun.ends_with('s')) noun.remove_suffix(1);
    out.append(" ").append(noun);
  }
  return out;
}

std::string Fingerprint(const Finding& finding) {
  std::string text = Text(finding.rule->id, "\n", finding.client_to_server ? "c2s" : "s2c", "\n");
  if (const auto& p = finding.procedure) text.append(Text(p->program, " ", p->version, " ", p->procedure));
  text.append("\n").append(WithoutNumbers(finding.message));
  const uint64_t hash = HashOf(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}", hash);
}

bool IsFingerprint(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace stag::conformance
