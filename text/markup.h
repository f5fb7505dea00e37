// SPDX-License-Identifier: GPL-2.0-or-later
//
// Text in XML 1.0 and HTML documents.
#pragma once

#include <string>
#include <string_view>

namespace stag {

// Appends `text` as character data or attribute value. What is not UTF-8, no character of XML, or a control (IsControl)
// becomes U+FFFD; line feeds and tabs become references, so that they stay what they are.
void PutMarkup(std::string& out, std::string_view text);
std::string Markup(std::string_view text);

}  // namespace stag
