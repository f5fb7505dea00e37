// SPDX-License-Identifier: GPL-2.0-or-later
//
// From cases to files: the captures, the expected findings and the README of each rule's folder.
#pragma once

#include <map>
#include <string>

#include "pcaps/generator/cases.h"
#include "protocol/base/result.h"

namespace stag::evidence {

// Contents by path ("HDR-003/breaks.pcap") of everything that belongs in pcaps/rules. The same on every run.
std::map<std::string, Buffer> AllFiles();

// Writes them into `directory` and removes the folders of rules and the files in them that no case makes any more.
Result<void> WriteAll(const std::string& directory);

}  // namespace stag::evidence
