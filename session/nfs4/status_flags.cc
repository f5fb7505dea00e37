// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/nfs4/status_flags.h"

#include <algorithm>

namespace stag::session {

void StatusFlagsObserver::OnMessage(const Connection& connection, const Message& message, const Transaction* of) {
  if (!of || message.role != Role::kReply) return;
  const Transaction& t = *of;
  if (!t.facts.status_flags || (*t.facts.status_flags == 0 && spans_.empty())) return;
  const uint32_t flags = *t.facts.status_flags;
  auto known = spans_.find(connection.info.id);
  if (known == spans_.end()) {
    if (flags == 0) return;
    known = spans_.try_emplace(connection.info.id).first;
  }
  std::vector<FlagSpan>& spans = known->second;
  for (FlagSpan& span : spans)
    if ((flags & span.flag) == 0 && span.ended.number == 0) span.ended = t.reply.frame;
  for (size_t bit = 0; bit < nfs::kStatusFlagCount; ++bit) {
    const uint32_t flag = 1u << bit;
    if ((flags & flag) == 0) continue;
    auto span = std::ranges::find(spans, flag, &FlagSpan::flag);
    if (span == spans.end()) span = spans.insert(spans.end(), {.flag = flag, .first = t.reply.frame});
    ++span->replies;
    span->last = t.reply.frame;
    span->ended = {};
  }
}

void StatusFlagsObserver::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  if (spans_.empty()) return;
  const auto known = spans_.find(connection.info.id);
  if (known == spans_.end()) return;
  if (!known->second.empty()) sink_.OnStatusFlags(connection, known->second);
  spans_.erase(known);
}

}  // namespace stag::session
