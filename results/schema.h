// SPDX-License-Identifier: GPL-2.0-or-later
//
// Descriptions of rows: as JSON Schema (2020-12), and in Markdown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "results/record.h"

namespace stag::results {

// The records that a command writes as JSON lines.
struct CommandRecords {
  enum class File : uint8_t { kAlways, kSometimes, kNever };
  struct Written {
    const RecordInfo& (*record)();
    File file = File::kAlways;  // whether it has "file", the name of its capture
    // With which it comes, where the command has several records of this type.
    std::string_view option = {};
  };
  std::string_view command;
  std::span<const Written> records;
};

// Appends a document that a line is valid by if it is one of the records.
void PutSchema(std::string& out, std::span<const CommandRecords> commands);
// Appends a chapter for each command: for each record a table of its members.
void PutMarkdown(std::string& out, std::span<const CommandRecords> commands);

}  // namespace stag::results
