// SPDX-License-Identifier: GPL-2.0-or-later
//
// Columns: a record as a flat list of values, for CSV, tables and sorting. Members of members have names with dots.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace stag::results {

struct Column {
  std::string name;                     // "credits.forward.granted"
  std::vector<const MemberInfo*> path;  // from the row to the value
  const MemberInfo& member() const { return *path.back(); }
  // Absent where a record on the way is not there.
  Value Of(const void* row) const;
};

// All values of a record but other records, in order.
std::vector<Column> ColumnsOf(const RecordInfo& info);

// Appends a value as text: as JSON writes it, without quotes; nothing for what is not known; a list's values with
// `between`, and those of lists in it with "-".
void PutText(std::string& out, const Value& value, char between = ';');

// A line of comma-separated values (RFC 4180), without controls; its heading has the names of the columns. `file`: of
// the first column, where there is one.
void PutCsvHeading(std::string& out, const std::vector<Column>& columns, bool with_file);
void PutCsvLine(std::string& out, const std::vector<Column>& columns, const void* row,
                std::optional<std::string_view> file);

// A value that outlives its row and has a place among others of its column.
class SortKey {
 public:
  explicit SortKey(const Value& value);
  // Numbers and times: the largest first; text: A first. Unknown values come last. `reversed`: but for that, the
  // other way round.
  bool ComesBefore(const SortKey& other, bool reversed) const;
  size_t bytes() const { return sizeof *this + text_.capacity(); }

 private:
  bool known_;
  bool is_text_ = false;
  double number_ = 0;
  uint64_t exact_ = 0;  // for numbers that a double cannot tell apart
  std::string text_;
};

}  // namespace stag::results
