// SPDX-License-Identifier: GPL-2.0-or-later
//
// UTF-8 (RFC 3629) in text from files and from the wire, which may hold any bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace stag {

// U+FFFD, which stands for bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The length in bytes of the UTF-8 sequence at the start of `text` (not empty); 0 when there is none. Overlong forms
// and surrogates are not UTF-8.
size_t Utf8Length(std::string_view text);

// Whether a character (one UTF-8 sequence) drives a terminal, or moves the text around it: the controls C0, DEL and C1,
// the separators of lines and paragraphs, and the controls of direction (Unicode's Bidi_Control).
bool IsControl(std::string_view character);

}  // namespace stag
