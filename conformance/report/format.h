// SPDX-License-Identifier: GPL-2.0-or-later
//
// How the reporters write values: JSON strings, times, colours, wrapped prose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/bytes.h"

namespace stag::conformance {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJson(std::string& out, std::string_view text);

// Appends `text` as character data or attribute value of XML 1.0 and HTML. What is not UTF-8, or no character of XML,
// becomes U+FFFD; line feeds and tabs become references, so that they stay what they are.
void AppendMarkup(std::string& out, std::string_view text);
std::string Markup(std::string_view text);

// Lowercase hexadecimal digits without separators.
void AppendHex(std::string& out, Bytes bytes);

// "2024-05-01T12:00:00.123456789Z".
void AppendTime(std::string& out, int64_t time_ns);

enum class Style : uint8_t { kBold, kDim, kError, kWarning, kNote };
// `text`, in colour when `color`.
std::string Styled(std::string_view text, Style style, bool color);

// Control characters of names and messages as '?', so that no file name can drive a terminal.
std::string Printable(std::string_view text);

// Prose in lines of at most `width` columns, each line after `indent` spaces; keeps the text's own line breaks.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace stag::conformance
