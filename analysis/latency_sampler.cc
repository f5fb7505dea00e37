// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency_sampler.h"

#include <algorithm>

#include "analysis/transaction_facts.h"
#include "text/put.h"

namespace stag::analysis {
namespace {

using session::Connection;
using session::Transaction;

constexpr int64_t kSilent = 10'000;  // ns: shorter ones are not worth a place in the ring

}  // namespace

// A packet of the connection, and how long there was none before it.
LatencySampler::Watch& LatencySampler::Seen(const Connection& connection, const FrameRef& frame) {
  if (connection.info.slot >= watches_.size()) watches_.resize(connection.info.slot + 1);
  Watch& watch = watches_[connection.info.slot];
  if (!frame.timed) return watch;
  if (watch.last_packet != kNever && frame.time_ns > watch.last_packet && frame.time_ns - watch.last_packet >= kSilent)
    watch.silences[watch.next_silence++ % kSilences] = {watch.last_packet, frame.time_ns};
  watch.last_packet = std::max(watch.last_packet, frame.time_ns);
  return watch;
}

void LatencySampler::Note(const Connection& connection, const fabric::Event& event, Meanwhile what) {
  Seen(connection, event.frame).last[static_cast<size_t>(what)] = event.frame.time_ns;
}

void LatencySampler::OnMessage(const Connection& connection, const session::Message& message, const Transaction* t) {
  Watch& watch = Seen(connection, message.frame);
  const auto used_up_at = [&] { watch.last[static_cast<size_t>(Meanwhile::kCredits)] = message.frame.time_ns; };
  if (!t || t->backward) return;
  // Credits are those from before this message; what was used up until now counts, too.
  if (watch.used_up) used_up_at();
  const session::CreditState& credits = connection.credits[t->requester];
  if (message.role == session::Role::kCall) {
    const uint32_t most = std::min(credits.granted.last, message.header.credit);
    watch.used_up = credits.granted.any && credits.outstanding + 1 >= most;
    if (watch.used_up) used_up_at();
  } else {
    watch.used_up = false;
  }
}

void LatencySampler::OnRdma(const Connection& connection, const session::RdmaOperation& operation) {
  Seen(connection, operation.event->frame);
}

void LatencySampler::OnNak(const Connection& connection, const fabric::Event& event) {
  if (event.nak().kind == fabric::NakKind::kRnr) Note(connection, event, Meanwhile::kRnrNak);
  if (event.nak().kind == fabric::NakKind::kSequence) Note(connection, event, Meanwhile::kSequenceNak);
}

void LatencySampler::OnGap(const Connection& connection, const fabric::Event& event) {
  Note(connection, event, Meanwhile::kGap);
}

void LatencySampler::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  if (connection.info.slot < watches_.size()) watches_[connection.info.slot] = {};
}

void LatencySampler::OnTransaction(const Connection& connection, const Transaction& t) {
  if (connection.proof != session::Proof::kRpcRdma || t.reply.frame.number == 0) return;
  const bool wanted = filter_.HasConnection(connection) && filter_.HasRpc(t, origin_ns_);
  if (session::IsCut(t)) {
    cut_ += wanted ? 1 : 0;
    return;
  }
  sample_.name.clear();
  PutSubject(sample_.name, t);
  // Also of those that are not wanted, and of those without a time: they may name files.
  keys_.Take(connection, t, sample_.name, sample_.key,
             [this](const std::string& key, FileNames::Name&& name) { names_.Take(key, std::move(name)); });
  if (!wanted) return;
  const std::optional<int64_t> round_trip = session::RoundTrip(t);
  if (!round_trip) {
    ++untimed_;
    return;
  }
  sample_.connection = t.connection;
  sample_.number = t.number;
  sample_.xid = t.xid;
  sample_.call_frame = t.call.frame.number;
  sample_.reply_frame = t.reply.frame.number;
  sample_.backward = t.backward;
  sample_.call_ns = t.call.frame.time_ns;
  sample_.reply_ns = t.answered_in().time_ns;
  sample_.since_start_ns = sample_.call_ns - origin_ns_;
  sample_.rtt_ns = *round_trip;
  sample_.phases = session::PhasesOf(t);
  if (!sample_.phases.complete) ++phases_missing_;

  constexpr size_t kMostWaits = 16;
  sample_.waits.clear();
  for (const session::Wait& wait : std::span(t.waits).first(std::min(t.waits.size(), kMostWaits)))
    sample_.waits.push_back({wait.until.number, wait.until.time_ns - wait.since.time_ns, wait.cause});

  const Watch& watch = Seen(connection, t.answered_in());
  const int64_t begin = t.call.frame.time_ns, end = sample_.reply_ns;
  for (size_t i = 0; i < kMeanwhiles; ++i) sample_.meanwhile[i] = watch.last[i] != kNever && watch.last[i] >= begin;
  sample_.silence_ns = 0;
  for (const Silence& silence : watch.silences)
    sample_.silence_ns = std::max(sample_.silence_ns, std::min(silence.end, end) - std::max(silence.begin, begin));
  OnSample(sample_);
}

}  // namespace stag::analysis
