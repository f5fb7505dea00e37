// SPDX-License-Identifier: GPL-2.0-or-later
//
// Text for terminals: colours, lines of a given width, and nothing that drives the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stag {

enum class TextStyle : uint8_t { kBold, kDim, kError, kWarning, kNote };
// `text`, in colour when `color`.
std::string Styled(std::string_view text, TextStyle style, bool color);

// Control characters of names and messages as '?', so that no file name can drive a terminal.
std::string Printable(std::string_view text);

// Prose in lines of at most `width` columns, each line after `indent` spaces; keeps the text's own line breaks.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace stag
