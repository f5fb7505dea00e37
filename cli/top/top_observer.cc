// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top/top_observer.h"

#include <algorithm>

#include "analysis/transaction_facts.h"
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

void TopShard::OnMessage(const Connection& c, const session::Message& message, const Transaction* t) {
  if (message.frame.timed) {
    Tell([this](int64_t now_ns, int64_t first_ns) { intervals_.Tick(now_ns, first_ns); }, message.frame.time_ns,
         clock().first_time_ns);
  }
  if (t && message.role == session::Role::kCall) Assign(c, *t);
}

void TopShard::OnCallComplete(const Connection& c, const Transaction& t) { Assign(c, t); }

// Which row an outstanding Call belongs to may show late.
void TopShard::Assign(const Connection& c, const Transaction& t) {
  if (c.proof != session::Proof::kRpcRdma || t.answer_may_be_missing || !Wants(c, t)) return;
  Tell([this](uint64_t call, const std::string& key) { intervals_.Open(call, key); }, CallOf(t), KeyOf(c, t));
}

// A Call that nobody knows to be outstanding does not count.
void TopShard::OnAnswerInDoubt(const Connection&, const Transaction& t) {
  Tell([this](uint64_t call) { intervals_.Close(call); }, CallOf(t));
}

void TopShard::OnTransaction(const Connection& c, const Transaction& t) {
  const bool answered = t.reply.frame.number != 0;
  // What the capture's end leaves open stays outstanding.
  if (t.answer != session::Answer::kPending || !clock().over)
    Tell([this](uint64_t call) { intervals_.Close(call); }, CallOf(t));
  if (!answered || session::IsCut(t) || c.proof != session::Proof::kRpcRdma) return;
  const std::string& key = KeyOf(c, t);  // which may name a file, also where the RPC is not wanted
  if (!Wants(c, t)) return;
  const analysis::DataSummary data = analysis::SummarizeData(t);
  Tell([this](const std::string& of, std::optional<int64_t> rtt_ns, uint64_t bytes,
              bool failed) { intervals_.Add(of, rtt_ns, bytes, failed); },
       key, session::RoundTrip(t), data.known ? data.bytes : 0, Failed(t));
}

const std::string& TopShard::KeyOf(const Connection& c, const Transaction& t) {
  subject_.clear();
  analysis::PutSubject(subject_, t);
  keys_.Take(c, t, subject_, key_, [this](const std::string& key, analysis::FileNames::Name&& name) {
    Tell([this](const std::string& of, analysis::FileNames::Name told) { intervals_.Name(of, std::move(told)); }, key,
         name);
  });
  return key_;
}

void TopIntervals::Open(uint64_t call, const std::string& key) {
  const auto known = open_.find(call);
  if (known == open_.end() && open_.size() == kMostOpen) return;
  const analysis::TopTable::Key row = table_.Find(key);
  if (known == open_.end()) {
    open_.emplace(call, row);
    table_.Begin(row);
  } else if (known->second != row) {
    table_.End(known->second);
    table_.Begin(row);
    known->second = row;
  }
}

void TopIntervals::Close(uint64_t call) {
  const auto known = open_.find(call);
  if (known == open_.end()) return;
  table_.End(known->second);
  open_.erase(known);
}

void TopIntervals::Add(const std::string& key, std::optional<int64_t> rtt_ns, uint64_t data, bool failed) {
  table_.Add(table_.Find(key), rtt_ns, data, failed);
}

void TopIntervals::Tick(int64_t now_ns, std::optional<int64_t> first_ns) {
  if (!begun_) {
    begun_ = true;
    first_ns_ = start_ns_ = latest_ns_ = std::min(first_ns.value_or(now_ns), now_ns);
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

void TopIntervals::Give(int64_t length_ns) {
  TopBlock block;
  block.interval = {start_ns_, first_ns_, length_ns};
  block.outstanding = table_.outstanding();
  block.rows = Named(table_.TakeInterval());
  start_ns_ = static_cast<int64_t>(static_cast<uint64_t>(start_ns_) + static_cast<uint64_t>(length_ns));
  sink_.OnBlock(std::move(block));
}

void TopIntervals::Finish(int64_t last_ns) {
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
  whole.interval = {first_ns_, first_ns_, until(first_ns_)};
  whole.outstanding = table_.outstanding();
  whole.rows = Named(table_.Total());
  sink_.OnBlock(std::move(whole));
}

// Files have names in place of handles, where they are known; those with the same name become one row.
std::vector<analysis::TopEntry> TopIntervals::Named(std::vector<analysis::TopEntry> rows) const {
  if (names_.all().empty()) return rows;
  std::vector<analysis::TopEntry> named;
  std::unordered_map<std::string, size_t> at;
  for (analysis::TopEntry& row : rows) {
    if (const auto name = names_.all().find(row.key); name != names_.all().end()) row.key = name->second.name;
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
