// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/capture_watch.h"

#include "cli/analysis/connection_head.h"
#include "cli/base/common_options.h"
#include "session/fabric/names.h"
#include "text/parse.h"
#include "text/put.h"

namespace stag::cli {
namespace {

constexpr size_t kMaxComment = 4096;

std::string Head(const session::Connection& connection) {
  std::string out;
  Put(out, "connection ");
  PutConnectionHead(out, connection, Style{});
  return {out.data(), out.size() - 1};  // without its line end
}

std::string DurationText(int64_t ns) {
  std::string out;
  PutDuration(out, ns);
  return {out.data(), out.size()};
}

}  // namespace

Result<Trigger> ParseTrigger(std::string_view text) {
  if (text == "finding") return Trigger{Trigger::On::kFinding, 0};
  if (text == "error") return Trigger{Trigger::On::kError, 0};
  if (text == "rnr") return Trigger{Trigger::On::kRnr, 0};
  constexpr std::string_view kLatency = "latency>";
  if (text.starts_with(kLatency)) {
    if (const auto limit = ParseDuration(text.substr(kLatency.size()))) return Trigger{Trigger::On::kLatency, *limit};
  }
  return Fail(fmt::format("{} is not finding, error, rnr or latency>TIME, latency>20ms for example", text));
}

template <typename Fn>
void CaptureWatch::Fire(Trigger::On on, Fn why) {
  if (fired_) return;
  for (const Trigger& trigger : triggers_) {
    if (trigger.on != on) continue;
    if (std::string text = why(trigger); !text.empty()) {
      Say("trigger: " + text);
      fired_ = std::move(text);
      return;
    }
  }
}

CaptureWatch::Counts& CaptureWatch::At(const session::Connection& connection) {
  const auto [at, fresh] = connections_.try_emplace(connection.info.id);
  if (fresh) {
    const auto bytes = [](std::optional<uint32_t> threshold) {
      return threshold ? std::to_string(*threshold) : std::string("unknown");
    };
    Say(fmt::format("{}; inline thresholds: Calls {}, Replies {}", Head(connection),
                    bytes(connection.threshold(connection.client)),
                    bytes(connection.threshold(static_cast<fabric::Side>(1 - connection.client)))));
  }
  return at->second;
}

void CaptureWatch::OnFinding(const conformance::Finding& finding) {
  if (const auto at = connections_.find(finding.connection); at != connections_.end()) ++at->second.findings;
  std::string text =
      fmt::format("{} {}: {}", conformance::SeverityName(finding.severity), finding.rule->id, MessageText(finding));
  Say(text);
  Fire(Trigger::On::kFinding, [&](const Trigger&) { return text; });
  if (next_) next_->OnFinding(finding);
}

void CaptureWatch::OnMessage(const session::Connection& connection, const session::Message& message,
                             const session::Transaction* /*transaction*/) {
  if (connection.proof != session::Proof::kRpcRdma || message.again) return;
  At(connection);
  if (message.role == session::Role::kError) {
    Fire(Trigger::On::kError, [&](const Trigger&) {
      return fmt::format("RDMA_ERROR for xid 0x{:08x} on connection {}", message.header.xid, connection.info.id);
    });
  }
}

void CaptureWatch::OnNak(const session::Connection& connection, const fabric::Event& event) {
  if (event.nak().kind == fabric::NakKind::kSequence) return;
  const bool rnr = event.nak().kind == fabric::NakKind::kRnr;
  Fire(rnr ? Trigger::On::kRnr : Trigger::On::kError, [&](const Trigger&) {
    return fmt::format("{} on connection {}", fabric::NakName(event.nak().kind), connection.info.id);
  });
}

void CaptureWatch::OnTransaction(const session::Connection& connection, const session::Transaction& transaction) {
  if (connection.proof != session::Proof::kRpcRdma) return;
  ++At(connection).transactions;
  if (transaction.reply.frame.number == 0) return;
  const std::optional<int64_t> took = Elapsed(transaction.call.frame, transaction.reply.frame);
  Fire(Trigger::On::kLatency, [&](const Trigger& trigger) {
    return took > trigger.longer_than_ns ? fmt::format("the RPC with xid 0x{:08x} on connection {} took {}",
                                                       transaction.xid, connection.info.id, DurationText(*took))
                                         : std::string{};
  });
}

void CaptureWatch::OnConnectionClosed(const session::Connection& connection, const fabric::Event& /*event*/) {
  const auto at = connections_.find(connection.info.id);
  if (at == connections_.end()) return;
  Say(fmt::format("connection {} {}: {}{}", connection.info.id, fabric::CloseName(connection.close_reason),
                  Count(at->second.transactions, "RPC"), judged_ ? ", " + Count(at->second.findings, "finding") : ""));
  connections_.erase(at);
}

void CaptureWatch::Say(std::string_view text) {
  if (comment_.size() + text.size() > kMaxComment) return;
  if (!comment_.empty()) comment_ += '\n';
  comment_ += text;
}

std::string_view CaptureWatch::TakeComment() {
  taken_.swap(comment_);
  comment_.clear();
  return taken_;
}

}  // namespace stag::cli
