// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/table.h"

#include <algorithm>

#include "text/put.h"
#include "text/terminal.h"
#include "text/utf8.h"

namespace stag::results {
namespace {

constexpr size_t kMostShown = 64;  // characters of a cell before the last

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// "client sent", of a member of a member; empty: it is in no table but of all columns.
std::string WordsOf(const Column& column) {
  std::string words;
  for (const MemberInfo* member : column.path) {
    if (member->name.empty()) continue;
    if (member->heading.empty()) return {};
    words += (words.empty() ? "" : " ") + std::string(member->heading);
  }
  return words;
}

// "rtt us"; the unit of a number in the heading.
std::string HeadingOf(const Column& column) {
  const MemberInfo& member = column.member();
  std::string heading = WordsOf(column);
  if (heading.empty()) return column.name;
  std::string_view unit = member.unit == "bytes" ? "B" : member.unit;
  if (member.type.kind == Kind::kDuration) unit = "us";
  if (member.type.kind == Kind::kElapsed) unit = "s";
  if (!unit.empty()) stag::Put(heading, " {}", unit);
  return heading;
}

template <typename Fn>
void ForEachCell(std::string_view line, const Fn& fn) {
  for (size_t i = 0;; ++i) {
    const size_t tab = line.find('\t');
    fn(i, line.substr(0, tab));
    if (tab == std::string_view::npos) return;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

std::vector<Column> TableColumns(const RecordInfo& info, bool all) {
  std::vector<Column> columns = ColumnsOf(info);
  if (!all) std::erase_if(columns, [](const Column& column) { return WordsOf(column).empty(); });
  return columns;
}

void PutCells(std::string& out, const std::vector<Column>& columns, const void* row) {
  std::string cell;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out.push_back('\t');
    cell.clear();
    const Value value = columns[i].Of(row);
    if (value.known()) {
      PutText(cell, value);
    } else {
      cell = "-";
    }
    cell = Printable(cell);  // a tab in a name is no new cell
    if (i + 1 < columns.size() && Characters(cell) > kMostShown) {
      size_t end = 0;
      for (size_t n = 1; n < kMostShown - 2; ++n) end += Utf8Length(std::string_view(cell).substr(end));
      cell.resize(end);
      cell += "...";
    }
    out += cell;
  }
  out.push_back('\n');
}

Table::Table(std::vector<Column> columns, size_t width, std::string_view bold, std::string_view reset)
    : columns_(std::move(columns)), width_(width), bold_(bold), reset_(reset), shown_(columns_.size()) {}

void Table::Add(std::string& out, std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    if (widths_.empty()) {
      waiting_.emplace_back(line);
      if (waiting_.size() == kWaiting) Begin(out);
    } else {
      PutLine(out, line);
    }
    if (end == std::string_view::npos) return;
    lines.remove_prefix(end + 1);
  }
}

void Table::Finish(std::string& out) {
  if (widths_.empty()) Begin(out);
}

void Table::Begin(std::string& out) {
  std::string heading;
  for (const Column& column : columns_) {
    const std::string text = HeadingOf(column);
    heading += (widths_.empty() ? "" : "\t") + text;
    widths_.push_back(Characters(text));
  }
  for (const std::string& line : waiting_) {
    ForEachCell(line, [this](size_t i, std::string_view cell) { widths_[i] = std::max(widths_[i], Characters(cell)); });
  }
  size_t taken = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    taken += widths_[i] + (i > 0 ? 2 : 0);
    if (width_ != 0 && taken > width_ && i > 0) {
      shown_ = i;
      break;
    }
  }
  out += bold_;
  PutLine(out, heading);
  out.insert(out.size() - 1, reset_);
  for (const std::string& line : waiting_) PutLine(out, line);
  waiting_.clear();
}

void Table::PutLine(std::string& out, std::string_view line) const {
  ForEachCell(line, [&](size_t i, std::string_view cell) {
    if (i >= shown_) return;
    const size_t length = Characters(cell), blanks = widths_[i] > length ? widths_[i] - length : 0;
    if (i > 0) out += "  ";
    const bool right = columns_[i].member().type.number();
    if (right) out.append(blanks, ' ');
    out += cell;
    if (!right && i + 1 < shown_) out.append(blanks, ' ');
  });
  out.push_back('\n');
}

}  // namespace stag::results
