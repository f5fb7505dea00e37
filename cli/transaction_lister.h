// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionLister: a line per RPC. As text a table for people; as JSON lines with digests of the rebuilt messages.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/analysis.h"
#include "cli/ordered_lines.h"

namespace stag::cli {

class TransactionLister : public session::Observer {
 public:
  // kByCall: in order of the Calls, late where a Call stays without an answer. kAsTheyEnd: at once.
  enum class Order : uint8_t { kByCall, kAsTheyEnd };
  // kJsonl or kText. `file`: its name goes to every JSON line. `output` and `clock` must outlive the lister.
  static std::unique_ptr<TransactionLister> Make(Format format, Order order, Output& output, const Clock& clock,
                                                 std::optional<std::string> file);

  void OnMessage(const session::Connection&, const session::Message& message, const session::Transaction* t) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;
  // Writes what still waits.
  void Finish();

  uint64_t count() const { return count_; }
  uint64_t cut() const { return cut_; }                    // left out, for the capture has too little of the Call
  uint64_t given_up() const { return lines_.given_up(); }  // lines out of order

 protected:
  TransactionLister(Output& output, const Clock& clock) : output_(output), clock_(clock) {}
  virtual void PutLine(Buffer& out, const session::Transaction& t) = 0;

  Output& output_;
  const Clock& clock_;

 private:
  Order order_ = Order::kByCall;
  OrderedLines lines_;
  Buffer line_;
  uint64_t count_ = 0, cut_ = 0;
};

}  // namespace stag::cli
