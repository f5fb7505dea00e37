// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionLister: a line per RPC: as text a table for people, else a row (analysis/transaction_row.h). A
// LineSink takes the lines: in order of the Calls, or at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/transaction_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/ordered_lines.h"
#include "cli/base/row_output.h"

namespace stag::cli {

// A Call opens a place for its line; its end closes it with the line, or drops it. Places are known by the order of
// the Call's frame and the transaction's serial. `key`: the place of the line among others, where they are sorted.
class LineSink {
 public:
  virtual ~LineSink() = default;
  virtual void Open(uint64_t frame, uint64_t serial) = 0;
  virtual void Close(uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey& key) = 0;
  virtual void Drop(uint64_t frame, uint64_t serial) = 0;
};

class TransactionLister : public session::Observer {
 public:
  // `file`: its name goes to every row. `phases`: text has columns for them. `options`, `style`, `clock` and `lines`
  // must outlive the lister.
  TransactionLister(const CommonOptions& options, const Style& style, const Clock& clock, LineSink& lines,
                    std::optional<std::string> file, bool phases);
  // The line above the others; empty but for text.
  static std::string Heading(Format format, const Style& style, bool phases);

  bool WantsDeliveries() const override { return true; }
  void OnMessage(const session::Connection&, const session::Message& message, const session::Transaction* t) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;

  uint64_t count() const { return count_; }
  uint64_t cut() const { return cut_; }  // left out, for the capture has too little of the Call
  // Answered, but not all phases are known.
  uint64_t phases_missing() const { return phases_missing_; }

 private:
  const CommonOptions& options_;
  const Style& style_;
  const Clock& clock_;
  LineSink& lines_;
  const bool phases_;
  analysis::TransactionRows rows_;
  RowFormatter formatter_;
  std::string text_;
  uint64_t count_ = 0, cut_ = 0, phases_missing_ = 0;
};

// Lines as they come.
class LinesAtOnce final : public LineSink {
 public:
  LinesAtOnce(Output& output, std::string heading) : output_(output), heading_(std::move(heading)) {}
  void Open(uint64_t, uint64_t) override {}
  void Close(uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey& key) override;
  void Drop(uint64_t, uint64_t) override {}

 private:
  Output& output_;
  std::string heading_;
};

// Lines in order of the Calls, late where a Call stays without an answer; or sorted. `clock`: of what is taken from
// here on.
class LinesByCall final : public LineSink {
 public:
  // `memory`: of --memory. The others must outlive this.
  LinesByCall(Output& output, RowOutput& rows, const Clock& clock, std::string heading, uint64_t memory)
      : output_(output),
        rows_(rows),
        clock_(clock),
        heading_(std::move(heading)),
        lines_(OrderedLines::Limits::Of(memory)) {}
  void Open(uint64_t frame, uint64_t serial) override;
  void Close(uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey& key) override;
  void Drop(uint64_t frame, uint64_t serial) override;
  // Writes what still waits.
  void Finish();
  uint64_t given_up() const { return lines_.given_up(); }  // lines out of order

 private:
  void PassOn();
  Output& output_;
  RowOutput& rows_;
  const Clock& clock_;
  std::string heading_;
  OrderedLines lines_;
  std::string released_;
};

}  // namespace stag::cli
