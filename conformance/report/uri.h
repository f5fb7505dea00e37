// SPDX-License-Identifier: GPL-2.0-or-later
//
// URIs (RFC 3986) of capture files and of the documents that rules rest on.
#pragma once

#include <string>
#include <string_view>

#include "conformance/engine/finding.h"

namespace stag::conformance {

// A reference to a file, percent-encoded: relative for a relative path, "file:///..." for an absolute one. Any bytes.
std::string FileUri(std::string_view path);

// Where the section stands on the web; empty for drafts, which have no lasting place.
std::string SpecificationUri(const Source& source);

}  // namespace stag::conformance
