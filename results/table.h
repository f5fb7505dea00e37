// SPDX-License-Identifier: GPL-2.0-or-later
//
// Table: rows as aligned text, a line each. Cells are made where a row is known, lines where they are written: between
// the two they can be kept, sorted and sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/columns.h"

namespace stag::results {

// The columns of `info` that a table has: those with a heading; with `all`, every one.
std::vector<Column> TableColumns(const RecordInfo& info, bool all);
// Appends the cells of a row, with a tab between and a line feed behind.
void PutCells(std::string& out, const std::vector<Column>& columns, const void* row);

// Lines of cells to aligned columns. The first lines wait, up to a number, and set the widths.
class Table {
 public:
  // `width`: of the terminal, in columns; the last columns that it has no room for are left out. 0: there is room.
  // `bold` and `reset` go around the heading.
  Table(std::vector<Column> columns, size_t width, std::string_view bold, std::string_view reset);

  // `lines`: whole ones, of PutCells. Appends what can be written.
  void Add(std::string& out, std::string_view lines);
  // Appends the rest: the heading alone, where there was no row.
  void Finish(std::string& out);
  // Columns that are left out.
  size_t left_out() const { return columns_.size() - shown_; }

 private:
  static constexpr size_t kWaiting = 500;
  void Begin(std::string& out);
  void PutLine(std::string& out, std::string_view line) const;

  const std::vector<Column> columns_;
  const size_t width_;
  const std::string bold_, reset_;
  std::vector<std::string> waiting_;
  std::vector<size_t> widths_;  // empty: not yet known
  size_t shown_;                // columns
};

}  // namespace stag::results
