// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency_keys.h"

#include <algorithm>
#include <bit>

#include "analysis/transaction_facts.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::analysis {
namespace {

using session::Connection;
using session::Transaction;

void PutHandle(std::string& out, Bytes handle) {
  Put(out, "handle ");
  PutHex(out, handle);
}

}  // namespace

// The newest one. A longer one for which there is no room does not replace the one that is known.
void FileNames::Take(const std::string& key, Name&& name) {
  constexpr uint64_t kNode = 128;  // of the table, and what the allocator takes
  const auto known = names_.find(key);
  const bool is_new = known == names_.end();
  const uint64_t more = name.name.size() + (is_new ? kNode + key.size() : 0);
  const uint64_t less = is_new ? 0 : known->second.name.size();
  if ((is_new && names_.size() >= kMost) || !charge_.TrySet(charge_.bytes() + more - less)) {
    ++left_out_;
  } else if (is_new) {
    names_.emplace(key, std::move(name));
  } else {
    known->second = std::move(name);
  }
}

void LatencyKeys::Take(const Connection& connection, const Transaction& t, std::string_view subject, std::string& key,
                       const OnName& on_name) {
  key.clear();
  const auto put_address = [&](fabric::Side side) {
    Put(key, connection.client_known ? fabric::AddressText(connection.info.endpoint[side].address) : std::string("?"));
  };
  switch (by_) {
    case LatencyKey::kProcedure: key = subject; break;
    case LatencyKey::kConnection:
      if (file_) Put(key, "{}:", *file_);
      PutNumber(key, t.connection);
      break;
    case LatencyKey::kClient: put_address(connection.client); break;
    case LatencyKey::kServer: put_address(fabric::Side(1 - connection.client)); break;
    case LatencyKey::kFile: TakeFile(t, key, on_name); break;
    case LatencyKey::kSize: TakeSize(t, subject, key); break;
  }
}

void LatencyKeys::TakeFile(const Transaction& t, std::string& key, const OnName& on_name) {
  accesses_.Collect(t);
  for (const session::NamedHandle& named : accesses_.names()) {
    if (named.handle.empty() || named.name.empty()) continue;
    PutHandle(key, named.handle);
    on_name(key, {t.reply.frame.order(), {reinterpret_cast<const char*>(named.name.data()), named.name.size()}});
    key.clear();
  }
  if (accesses_.accesses().empty()) {
    Put(key, "no file data");
  } else if (const Bytes handle = accesses_.accesses().front().handle; handle.empty()) {
    Put(key, "unknown file");
  } else {
    PutHandle(key, handle);
  }
}

// By powers of two.
void LatencyKeys::TakeSize(const Transaction& t, std::string_view subject, std::string& key) {
  const DataSummary data = SummarizeData(t);
  if (!data.known) return Put(key, "size not known");
  if (!data.any || data.bytes == 0) return Put(key, "no data");
  Put(key, subject);
  const uint64_t most = std::bit_ceil(std::max<uint64_t>(data.bytes, 512));
  if (most < 1024) {
    Put(key, ", up to {} B", most);
  } else if (most < 1024 * 1024) {
    Put(key, ", up to {} KiB", most / 1024);
  } else {
    Put(key, ", up to {} MiB", most / 1024 / 1024);
  }
}

}  // namespace stag::analysis
