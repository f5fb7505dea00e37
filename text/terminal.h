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

// Names and messages with '?' for each control character (IsControl) and each byte that is not UTF-8, so that nothing
// that a capture or a path says can drive a terminal.
std::string Printable(std::string_view text);
// The same for text of several lines: their ends (LF, or CR and LF) and tabs stay; with `styled`, so do sequences that
// set colours.
void MakePrintable(std::string& text, bool styled = false);

// Prose in lines of at most `width` columns, each line after `indent` spaces; keeps the text's own line breaks.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace stag
