// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/report.h"

#include <algorithm>

namespace stag::generate {
namespace {

constexpr size_t kKinds = 64;  // of failures of an operation, and of troubles, that are told apart

template <typename Map>
auto& Entry(Map& map, std::string key) {
  const bool room = map.size() < kKinds || map.contains(key);
  return map[room ? std::move(key) : std::string("others")];
}

}  // namespace

void OperationReport::Fail(const std::string& what, std::string sample) {
  Failure& failure = Entry(failures, what);
  if (failure.calls++ == 0) failure.sample = std::move(sample);
}

void LoadReport::Trouble(std::string text) { ++Entry(troubles, std::move(text)); }

void LoadReport::Merge(const LoadReport& other) {
  for (size_t i = 0; i < kOperations; ++i) {
    OperationReport& mine = operations[i];
    const OperationReport& theirs = other.operations[i];
    mine.calls += theirs.calls;
    mine.ok += theirs.ok;
    mine.bytes += theirs.bytes;
    mine.latency.Merge(theirs.latency);
    for (const auto& [what, failure] : theirs.failures) {
      Failure& entry = Entry(mine.failures, what);
      if (entry.calls == 0) entry.sample = failure.sample;
      entry.calls += failure.calls;
    }
  }
  for (uint64_t LoadReport::*count :
       {&LoadReport::lost, &LoadReport::resent, &LoadReport::unsent, &LoadReport::wrong, &LoadReport::short_transfers,
        &LoadReport::verified_bytes, &LoadReport::unknown_bytes, &LoadReport::range_waits, &LoadReport::credit_stalls,
        &LoadReport::connections, &LoadReport::connections_lost, &LoadReport::reconnects, &LoadReport::abandoned,
        &LoadReport::backward_calls})
    this->*count += other.*count;
  credit_stalled += other.credit_stalled;
  max_outstanding = std::max(max_outstanding, other.max_outstanding);
  if (grant == 0 || (other.grant > 0 && other.grant < grant)) grant = other.grant;
  for (const auto& [text, times] : other.troubles) Entry(troubles, text) += times;
  seconds = std::max(seconds, other.seconds);
  interrupted |= other.interrupted;
}

OperationReport LoadReport::Total() const {
  OperationReport total;
  for (const OperationReport& operation : operations) {
    total.calls += operation.calls;
    total.ok += operation.ok;
    total.bytes += operation.bytes;
    total.latency.Merge(operation.latency);
  }
  return total;
}

bool LoadReport::fine() const {
  return lost == 0 && wrong == 0 && abandoned == 0 &&
         std::ranges::all_of(operations, [](const OperationReport& o) { return o.failures.empty(); });
}

}  // namespace stag::generate
