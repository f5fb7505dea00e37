// SPDX-License-Identifier: GPL-2.0-or-later
//
// A ladder as a picture: an SVG element for an HTML page whose style is page/page.css; and as a table, for those who
// cannot see it or want its words.
#pragma once

#include <string>
#include <string_view>

#include "conformance/report/ladder.h"

namespace stag::conformance {

// `id`: the start of ids that are unique in the page; `title`: its accessible name; `client`, `server`: the names over
// the two lines. Everything is escaped.
void AppendLadderSvg(std::string& out, const Ladder& ladder, std::string_view id, std::string_view title,
                     std::string_view client, std::string_view server);
void AppendLadderTable(std::string& out, const Ladder& ladder);

}  // namespace stag::conformance
