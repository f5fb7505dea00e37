// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top/top_observer.h"

#include <algorithm>

#include "cli/analysis/transaction_facts.h"
#include "session/rpcrdma/phases.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::Transaction;

// RDMA_ERROR, an RPC that was denied or not executed, or an NFS status other than OK.
bool Failed(const Transaction& t) {
  if (t.reply.form == session::ReplyForm::kError) return true;
  const rpc::ReplyHeader& reply = t.reply.rpc;
  if (reply.status == ParseStatus::kOk && !reply.success()) return true;
  return t.reply.walk.has_status && t.reply.walk.nfs_status != 0;
}

}  // namespace

void TopObserver::OnMessage(const Connection& c, const session::Message& message, const Transaction* t) {
  if (message.frame.timed) Tick(message.frame.time_ns);
  if (t && message.role == session::Role::kCall) Assign(c, *t);
}

void TopObserver::OnCallComplete(const Connection& c, const Transaction& t) { Assign(c, t); }

// Which row an outstanding Call belongs to may show late.
void TopObserver::Assign(const Connection& c, const Transaction& t) {
  if (c.proof != session::Proof::kRpcRdma) return;
  const auto known = open_.find(t.serial);
  if (known == open_.end() && open_.size() == kMostOpen) return;
  subject_.clear();
  PutSubject(subject_, t);
  keys_.Take(c, t, subject_, key_);
  const TopTable::Key key = table_.Find(key_);
  if (known == open_.end()) {
    open_.emplace(t.serial, key);
    table_.Begin(key);
  } else if (known->second != key) {
    table_.End(known->second);
    table_.Begin(key);
    known->second = key;
  }
}

void TopObserver::OnTransaction(const Connection& c, const Transaction& t) {
  const bool answered = t.reply.frame.number != 0;
  // What the capture's end leaves open stays outstanding.
  if (const auto known = open_.find(t.serial); known != open_.end() && (answered || !clock_.over)) {
    table_.End(known->second);
    open_.erase(known);
  }
  if (!answered || IsCut(t) || c.proof != session::Proof::kRpcRdma) return;
  subject_.clear();
  PutSubject(subject_, t);
  keys_.Take(c, t, subject_, key_);
  const DataSummary data = SummarizeData(t);
  table_.Add(table_.Find(key_), session::RoundTrip(t), data.known ? data.bytes : 0, Failed(t));
}

void TopObserver::Tick(int64_t now_ns) {
  if (!begun_) {
    begun_ = true;
    first_ns_ = start_ns_ = latest_ns_ = clock_.frame > 0 ? std::min(clock_.first_time_ns, now_ns) : now_ns;
  }
  latest_ns_ = std::max(latest_ns_, now_ns);
  if (interval_ns_ == 0 || now_ns <= start_ns_) return;
  const auto length = static_cast<uint64_t>(interval_ns_);
  const auto passed = [&] { return static_cast<uint64_t>(now_ns) - static_cast<uint64_t>(start_ns_); };
  if (passed() < length) return;
  Give(interval_ns_);
  if (const uint64_t quiet = passed() / length; quiet > 0)
    Give(static_cast<int64_t>(std::min<uint64_t>(quiet * length, INT64_MAX / length * length)));
}

void TopObserver::Give(int64_t length_ns) {
  TopBlock block;
  block.start_ns = start_ns_;
  block.length_ns = length_ns;
  block.outstanding = table_.outstanding();
  block.rows = Named(table_.TakeInterval());
  start_ns_ = static_cast<int64_t>(static_cast<uint64_t>(start_ns_) + static_cast<uint64_t>(length_ns));
  sink_.OnBlock(std::move(block));
}

void TopObserver::Finish(int64_t last_ns) {
  if (!begun_) return;
  latest_ns_ = std::max(latest_ns_, last_ns);
  const auto until = [&](int64_t from) {
    return static_cast<int64_t>(std::min<uint64_t>(
        latest_ns_ > from ? static_cast<uint64_t>(latest_ns_) - static_cast<uint64_t>(from) : 0, INT64_MAX));
  };
  if (interval_ns_ != 0) {
    Tick(latest_ns_);
    Give(until(start_ns_));
  }
  TopBlock whole;
  whole.whole = true;
  whole.start_ns = first_ns_;
  whole.length_ns = until(first_ns_);
  whole.outstanding = table_.outstanding();
  whole.rows = Named(table_.Total());
  sink_.OnBlock(std::move(whole));
}

// Files have names in place of handles, where they are known; those with the same name become one row.
std::vector<TopRow> TopObserver::Named(std::vector<TopRow> rows) const {
  if (keys_.names().empty()) return rows;
  std::vector<TopRow> named;
  std::unordered_map<std::string, size_t> at;
  for (TopRow& row : rows) {
    if (const auto name = keys_.names().find(row.key); name != keys_.names().end()) row.key = name->second.name;
    const auto [known, is_new] = at.try_emplace(row.key, named.size());
    if (is_new) {
      named.push_back(std::move(row));
    } else {
      named[known->second].counts.Merge(row.counts);
      named[known->second].outstanding += row.outstanding;
    }
  }
  return named;
}

}  // namespace stag::cli
