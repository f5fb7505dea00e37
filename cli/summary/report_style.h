// SPDX-License-Identifier: GPL-2.0-or-later
//
// The style of what the page of stag report has besides findings.
#pragma once

#include <string>

namespace stag::cli {

// CSS: the rules of the page's own, and those of its pictures.
std::string ReportStyle();

}  // namespace stag::cli
