// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/uri.h"

namespace stag::conformance {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string FileUri(std::string_view path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (IsUnreserved(c) || c == '/') {
      uri.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return uri;
}

std::string SpecificationUri(const Source& source) {
  const std::string text = SourceText({source.document, ""});  // "RFC 8166"
  if (!text.starts_with("RFC ") || text.size() > 8) return {};
  std::string uri = "https://www.rfc-editor.org/rfc/rfc" + text.substr(4);
  if (source.section.empty()) return uri;
  return uri.append(IsDigit(source.section.front()) ? "#section-" : "#appendix-").append(source.section);
}

}  // namespace stag::conformance
