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

void ConnectionRows::Put(fabric::ConnectionId id, std::string_view text, const results::SortKey& key) {
  if (rows_.sorts()) {
    rows_.Write(text, key, id);
    return Drop(id);
  }
  row_ = between_;
  row_ += text;
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
}

void ConnectionRows::Finish() {
  lines_.Finish(released_);
  PassOn();
  rows_.Finish();
}

void ConnectionRows::PassOn() {
  if (released_.empty()) return;
  rows_.Write(std::string_view(released_).substr(any_ ? 0 : between_.size()));
  any_ = true;
  released_.clear();
}

void ConnectionRows::Complain(std::string_view file, Diagnostics& diagnostics) const {
  rows_.Complain(file);
  if (lines_.given_up() == 0) return;
  diagnostics.Complain(
      "{}: up to {} out of order: more connections were open at a time than may wait; --memory raises the cap", file,
      Count(lines_.given_up(), "row"));
}

}  // namespace stag::cli
