// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/row_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "text/parse.h"

namespace stag::cli {
namespace {

// Columns of the terminal that the results go to; 0: to none, or nobody knows.
size_t TerminalWidth(const CommonOptions& options) {
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const auto width = ParseNumber<size_t>(columns)) return *width;
  }
  winsize size{};
  const bool known = options.output.empty() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

}  // namespace

void SetDocument(Output& output, const CommonOptions& options, const results::RecordInfo& info, bool of_captures) {
  if (options.format == Format::kJson) return output.set_document("[\n", ",\n", "\n]\n");
  if (options.format != Format::kCsv) return;
  std::string heading;
  results::PutCsvHeading(heading, results::ColumnsOf(info), of_captures);
  output.set_document(heading, "", "");
}

RowFormatter::RowFormatter(const CommonOptions& options, const results::RecordInfo& info,
                           std::optional<std::string> file)
    : format_(options.format), file_(std::move(file)) {
  if (format_ == Format::kCsv) columns_ = results::ColumnsOf(info);
  if (format_ == Format::kTable) columns_ = results::TableColumns(info, options.wide);
  if (options.sort.empty()) return;
  std::vector<results::Column> all = results::ColumnsOf(info);
  const auto found = std::ranges::find(all, options.sort, &results::Column::name);
  if (found != all.end()) sort_column_ = std::move(*found);
}

std::string_view RowFormatter::Format(const void* row, const results::RecordInfo& info) {
  line_.clear();
  switch (format_) {
    case Format::kCsv: results::PutCsvLine(line_, columns_, row, file_); break;
    case Format::kTable: results::PutCells(line_, columns_, row); break;
    default: results::PutRow(line_, row, info, file_); line_.push_back('\n');
  }
  return line_;
}

results::SortKey RowFormatter::KeyOf(const void* row) const {
  return results::SortKey(sort_column_ ? sort_column_->Of(row) : results::Value::Null());
}

RowOutput::RowOutput(Output& output, const CommonOptions& options, const results::RecordInfo& info,
                     std::optional<std::string> file)
    : output_(output), options_(options), formatter_(options, info, std::move(file)) {
  if (options.format != Format::kTable) return;
  const Style& style = output.style();
  table_.emplace(formatter_.columns(), options.wide ? 0 : TerminalWidth(options), style.bold, style.reset);
}

bool RowOutput::ComesBefore(const Waiting& a, const Waiting& b) const {
  if (a.key.ComesBefore(b.key, options_.sort_reversed)) return true;
  return !b.key.ComesBefore(a.key, options_.sort_reversed) && a.number < b.number;
}

void RowOutput::Write(std::string_view row, results::SortKey key, uint64_t number) {
  const auto last_on_top = [this](const Waiting& a, const Waiting& b) { return ComesBefore(a, b); };
  waiting_.push_back({std::move(key), number, std::string(row)});
  waiting_bytes_ += waiting_.back().key.bytes() + waiting_.back().text.capacity() + sizeof(Waiting);
  std::ranges::push_heap(waiting_, last_on_top);
  const auto drop = [&] {
    std::ranges::pop_heap(waiting_, last_on_top);
    waiting_bytes_ -= waiting_.back().key.bytes() + waiting_.back().text.capacity() + sizeof(Waiting);
    waiting_.pop_back();
  };
  if (options_.limit != 0 && waiting_.size() > options_.limit) drop();
  for (; waiting_bytes_ > options_.memory / 8; ++left_out_) drop();
}

void RowOutput::Write(std::string_view rows) {
  if (options_.limit == 0) return Pass(rows);
  // A line each.
  while (!rows.empty() && written_ < options_.limit) {
    const size_t end = rows.find('\n');
    Pass(rows.substr(0, end + 1));
    rows.remove_prefix(end + 1);
    ++written_;
  }
}

void RowOutput::Pass(std::string_view rows) {
  if (table_) {
    table_->Add(output_.buffer(), rows);
  } else {
    output_.buffer() += rows;
  }
  output_.Commit();
}

void RowOutput::Finish() {
  std::ranges::sort(waiting_, [this](const Waiting& a, const Waiting& b) { return ComesBefore(a, b); });
  for (const Waiting& row : waiting_) {
    if (&row != &waiting_.front()) output_.buffer() += between_;
    Pass(row.text);
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  if (table_) table_->Finish(output_.buffer());
}

void RowOutput::Complain(std::string_view file) const {
  output_.diagnostics().OverMemory(file, left_out_, "row", " that sort last left out");
  if (table_ && table_->left_out() > 0 && !options_.quiet)
    output_.diagnostics().Complain("{} left out: the terminal has no room for them; --wide shows all",
                                   Count(table_->left_out(), "column"));
}

}  // namespace stag::cli
