// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditTable: the changes of one connection and direction that people look at, a row each: where requests or grants
// change, more Calls than ever are outstanding, a Call is over the grant, and everything that is not a Call or an
// answer. Keeps the first and the last rows when there are too many.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/base/output.h"
#include "protocol/base/budget.h"
#include "session/rpcrdma/credit_history.h"

namespace stag::cli {

class CreditTable {
 public:
  // `rows`: how many to keep (0: all). `budget`: of all tables together. The owner charges the table itself.
  CreditTable(size_t rows, Budget& budget)
      : all_(rows == 0),
        head_room_(all_ ? SIZE_MAX : rows - rows / 2),
        tail_room_(all_ ? 0 : rows / 2),
        charge_(budget) {}
  CreditTable(const CreditTable&) = delete;
  CreditTable& operator=(const CreditTable&) = delete;

  void Add(const session::CreditChange& change);
  bool empty() const { return head_.empty(); }
  // The table, with its head line. `origin_ns`: time 0. `bars`: draws outstanding Calls.
  void Put(std::string& out, int64_t origin_ns, const Style& style, bool bars) const;

 private:
  struct Row {
    session::CreditChange change;
    bool by_client = false;
    bool changed = false;  // the request or the grant
    bool most = false;     // more outstanding than before
    bool first = false;
    bool known = false;  // the numbers were not known before
  };
  static std::string TextOf(const Row& row);
  bool MakeRoom(std::vector<Row>& rows, size_t most);
  void Keep(const Row& row);

  const bool all_;
  const size_t head_room_, tail_room_;
  Charge charge_;  // of the rows
  std::vector<Row> head_;
  std::vector<Row> tail_;  // a ring, where rows are left out
  size_t oldest_ = 0;      // of tail_
  uint64_t left_out_ = 0;
  std::optional<uint32_t> requested_, granted_, outstanding_;
  uint32_t most_ = 0;
  bool any_ = false;
};

}  // namespace stag::cli
