// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rows of connections, finished and written while a capture is read. RowMemory: what they may take, in parts of
// --memory. LateRows: connections that have ended and whose late packets still count. ConnectionRows: puts rows out in
// order of the numbers of connections.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "cli/analysis/ordered_lines.h"
#include "cli/base/row_output.h"
#include "session/fabric/fabric_event.h"

namespace stag::cli {

// Together less than the quarter of --memory that a command may take beside Decoder and Session (docs/security.md).
struct RowMemory {
  explicit RowMemory(uint64_t memory)
      : transport(memory / 8),
        rows(memory / 32),
        pictures(memory / 32),
        late(static_cast<size_t>(std::max<uint64_t>(rows / 2 / kLateRow, 16))),
        text{static_cast<size_t>(memory / 2048), static_cast<size_t>(memory / 16)} {}
  static constexpr uint64_t kLateRow = 2048;  // bytes, of a connection and its transport::Health

  uint64_t transport;         // bytes, of TransportStatistics
  uint64_t rows;              // bytes, of connections that have ended
  uint64_t pictures;          // bytes, of what a picture is drawn of
  size_t late;                // connections whose late packets count
  OrderedLines::Limits text;  // of rows that wait for their turn
};

// `Row` has the number of its connection, `id`. Every connection that ends makes a row, so that as many have ended
// since as TransportStatistics knows (StatisticsOptions::late).
template <typename Row>
class LateRows {
 public:
  explicit LateRows(size_t late) : late_(late) {}
  // Calls finish(row) for rows that no packet changes any more.
  template <typename Fn>
  void Add(Row row, Fn finish) {
    rows_.push_back(std::move(row));
    if (rows_.size() <= late_) return;
    finish(rows_.front());
    rows_.pop_front();
  }
  // End of capture: the rest, in order of their numbers.
  template <typename Fn>
  void Finish(Fn finish) {
    std::ranges::sort(rows_, {}, &Row::id);
    for (; !rows_.empty(); rows_.pop_front()) finish(rows_.front());
  }

 private:
  const size_t late_;
  std::deque<Row> rows_;
};

class ConnectionRows {
 public:
  // `between`: what stands between rows.
  ConnectionRows(RowOutput& rows, const OrderedLines::Limits& limits, std::string_view between = "")
      : rows_(rows), lines_(limits), between_(between) {
    rows.set_between(between);
  }

  // Something of a connection was seen; its row is known, as text or of RowOutput::Format; it has none.
  void Begin(fabric::ConnectionId id);
  void Put(fabric::ConnectionId id, std::string_view text, const results::SortKey& key);
  void Drop(fabric::ConnectionId id);
  // Writes what still waits.
  void Finish();
  // Tells the user where rows are out of order. `file`: its name.
  void Complain(std::string_view file, Diagnostics& diagnostics) const;

 private:
  void Release();
  void PassOn();

  RowOutput& rows_;
  OrderedLines lines_;
  const std::string between_;
  std::string released_, row_;
  bool any_ = false;  // row was written
  fabric::ConnectionId last_ = 0;
};

}  // namespace stag::cli
