// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/connection_rows.h"

#include "text/put.h"

namespace stag::cli {

void ConnectionRows::Begin(fabric::ConnectionId id) {
  if (id <= last_) return;
  last_ = id;
  lines_.Open(id, id);
  Release();
}

void ConnectionRows::Put(fabric::ConnectionId id, std::string_view row) {
  row_ = between_;
  row_ += row;
  lines_.Close(id, id, row_);
  Release();
}

void ConnectionRows::Drop(fabric::ConnectionId id) {
  lines_.Drop(id, id);
  Release();
}

void ConnectionRows::Release() {
  lines_.Release(~uint64_t{0}, released_);
  PassOn();
  output_.Commit();
}

void ConnectionRows::Finish() {
  lines_.Finish(released_);
  PassOn();
}

void ConnectionRows::PassOn() {
  if (released_.empty()) return;
  output_.buffer().append(released_, any_ ? 0 : between_.size());
  any_ = true;
  released_.clear();
}

void ConnectionRows::Complain(std::string_view file) const {
  if (lines_.given_up() == 0) return;
  output_.diagnostics().Complain(
      "{}: up to {} out of order: more connections were open at a time than may wait; --memory raises the cap", file,
      Count(lines_.given_up(), "row"));
}

}  // namespace stag::cli
