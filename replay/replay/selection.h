// SPDX-License-Identifier: GPL-2.0-or-later
//
// Selection: which Calls of a recording are meant. Terms of one kind are alternatives, all kinds that are there must
// hold: frame=100-900, connection=1, program=NFS, procedure=READ,WRITE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "replay/recording/recorded_rpc.h"

namespace stag::replay {

class Selection {
 public:
  // Adds a term: KIND=ITEM[,ITEM...]; items are numbers and ranges of them, or names. The error says what is wrong.
  Result<void> Add(std::string_view text);
  bool empty() const { return terms_.empty(); }
  // `operations`: of a COMPOUND; procedure=NAME means them, too.
  bool Matches(const recording::RecordedRpc& rpc, fabric::ConnectionId connection,
               std::span<const uint32_t> operations) const;

 private:
  enum class Kind : uint8_t { kFrame, kConnection, kProgram, kProcedure };
  struct Item {
    uint64_t first = 0, last = 0;  // both included
    std::string name;              // not empty: a name, in upper case
  };
  struct Term {
    Kind kind = Kind::kFrame;
    std::vector<Item> items;
  };
  static bool Holds(Kind kind, const Item& item, const recording::RecordedRpc& rpc, fabric::ConnectionId connection,
                    std::span<const uint32_t> operations);

  std::vector<Term> terms_;
};

}  // namespace stag::replay
