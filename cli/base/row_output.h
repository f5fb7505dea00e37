// SPDX-License-Identifier: GPL-2.0-or-later
//
// RowOutput: the rows that a command makes of one capture, in the format that is asked for, in their order or sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/common_options.h"
#include "cli/base/output.h"
#include "results/columns.h"
#include "results/json.h"
#include "results/table.h"

namespace stag::cli {

// Writes around the rows of all captures: the names of the columns, or the brackets of an array.
// `of_captures`: rows have the name of theirs.
void SetDocument(Output& output, const CommonOptions& options, const results::RecordInfo& info,
                 bool of_captures = true);

// Rows in the format that is asked for, which is not text. Not for two threads.
class RowFormatter {
 public:
  RowFormatter(const CommonOptions& options, const results::RecordInfo& info, std::optional<std::string> file);
  // Valid until the next call.
  template <typename R>
  std::string_view Format(const R& row) {
    return Format(&row, results::InfoOf<R>());
  }
  std::string_view Format(const void* row, const results::RecordInfo& info);
  // The place of a row among others, where they are sorted.
  results::SortKey KeyOf(const void* row) const;
  const std::vector<results::Column>& columns() const { return columns_; }

 private:
  const stag::cli::Format format_;
  const std::optional<std::string> file_;
  std::vector<results::Column> columns_;  // CSV, tables
  std::optional<results::Column> sort_column_;
  std::string line_;
};

class RowOutput {
 public:
  // `info`: of the rows of the list; other records go to JSON alone. `file`: the name of the capture; nullopt: the rows
  // are of none. The others must outlive this.
  RowOutput(Output& output, const CommonOptions& options, const results::RecordInfo& info,
            std::optional<std::string> file);

  // As text for people, rows are what the command makes of them.
  bool as_text() const { return options_.format == Format::kText; }
  bool as_json() const { return options_.format == Format::kJsonl || options_.format == Format::kJson; }
  // Appends a row, not as text.
  template <typename R>
  void Format(std::string& out, const R& row) {
    out += formatter_.Format(row);
  }

  // The text between rows of Write with a key; empty to begin with.
  void set_between(std::string_view text) { between_ = text; }
  // Whether rows wait for the last one, because they are sorted or text of which only some is wanted.
  bool sorts() const { return !options_.sort.empty() || (options_.limit != 0 && as_text()); }
  // The place of a row among others.
  results::SortKey KeyOf(const void* row) const { return formatter_.KeyOf(row); }
  // Rows as text or of Format, in their order. REQUIRES: !sorts().
  void Write(std::string_view rows);
  // A row in any order; rows that sort as equal are in that of `number`. REQUIRES: sorts().
  void Write(std::string_view row, results::SortKey key, uint64_t number);
  // All of that, for a row that comes in its order: as it is written, or not as text.
  template <typename R>
  void Put(const R& row, std::string_view text) {
    sorts() ? Write(text, KeyOf(&row), ++number_) : Write(text);
  }
  template <typename R>
  void Put(const R& row) {
    Put(row, formatter_.Format(row));
  }
  // A record that is no row of the list: written where the format has a place for it.
  template <typename R>
  void PutOther(const R& row) {
    if (!as_json()) return;
    Format(output_.buffer(), row);
    output_.Commit();
  }
  // The same, of the capture `file`.
  template <typename R>
  void PutOther(const R& row, std::optional<std::string_view> file) {
    if (!as_json()) return;
    results::PutLine(output_.buffer(), row, file);
    output_.Commit();
  }
  // Those rows of a whole list that are asked for, in their order.
  template <typename R>
  void Choose(std::vector<R>& list) const {
    std::ranges::stable_sort(
        list, [this](const R& a, const R& b) { return KeyOf(&a).ComesBefore(KeyOf(&b), options_.sort_reversed); });
    if (options_.limit != 0 && list.size() > options_.limit) list.resize(options_.limit);
  }
  // The rest, and for a table its heading, also where there was no row.
  void Finish();
  // Tells the user of rows that memory had no room for. `file`: the name of the capture.
  void Complain(std::string_view file) const;

 private:
  struct Waiting {
    results::SortKey key;
    uint64_t number;
    std::string text;
  };
  bool ComesBefore(const Waiting& a, const Waiting& b) const;
  void Pass(std::string_view rows);

  Output& output_;
  const CommonOptions& options_;
  RowFormatter formatter_;
  std::string between_;
  std::optional<results::Table> table_;
  uint64_t written_ = 0;          // rows, where there is a limit
  std::vector<Waiting> waiting_;  // a heap: the last to come is on top
  size_t waiting_bytes_ = 0;
  uint64_t number_ = 0;  // of Put
  uint64_t left_out_ = 0;
};

// Writes a list that is of no capture; as text, text(out, list, style) does. The exit status.
template <typename R, typename Fn>
int WriteList(const CommonOptions& options, std::vector<R> list, const Fn& text) {
  Output output(options);
  const results::RecordInfo& info = results::InfoOf<R>();
  SetDocument(output, options, info, false);
  RowOutput rows(output, options, info, std::nullopt);
  rows.Choose(list);
  if (rows.as_text()) {
    text(output.buffer(), list, output.style());
  } else {
    for (const R& row : list) rows.Put(row);
  }
  rows.Finish();
  output.EndDocument();
  rows.Complain("");
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace stag::cli
