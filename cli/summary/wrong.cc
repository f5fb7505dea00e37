// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/wrong.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "analysis/connection_row.h"
#include "cli/transport/transport_report.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {

using analysis::Blame;
using conformance::Severity;
using session::Connection;

std::string_view RankName(Wrong::Rank rank) {
  switch (rank) {
    case Wrong::Rank::kError: return "error";
    case Wrong::Rank::kTrouble: return "trouble";
    case Wrong::Rank::kWarning: return "warning";
    case Wrong::Rank::kNote: return "note";
  }
  return {};
}

std::string_view BadgeOf(const Wrong& wrong) { return wrong.known ? "known" : RankName(wrong.rank); }

Wrong WhatBroke(const BrokenRule& b) {
  Wrong wrong;
  wrong.rank = b.severity == Severity::kError     ? Wrong::Rank::kError
               : b.severity == Severity::kWarning ? Wrong::Rank::kWarning
                                                  : Wrong::Rank::kNote;
  wrong.blames = b.by_client ? Blame::kClient : Blame::kServer;
  wrong.connection = b.connection;
  wrong.frame = b.first_frame;
  wrong.rule = b.rule;
  wrong.known = b.known;
  wrong.count = b.count();
  wrong.text = fmt::format("{} by the {}: {}", b.rule->id, b.by_client ? "client" : "server", b.message);
  const uint64_t as_bad = b.counts[static_cast<size_t>(b.severity)];
  if (as_bad > 1) wrong.text += fmt::format(", the first of {}", as_bad);
  if (b.count() > as_bad) wrong.text += fmt::format(", and {} less severe", b.count() - as_bad);
  wrong.text += '.';
  if (b.known) Put(wrong.text, " It does no harm here: {}", b.rule->known);
  return wrong;
}

Harm HarmOf(const Wrong& wrong) {
  using Rank = Wrong::Rank;
  if (wrong.known) return Harm::kKnown;
  if (wrong.rank == Rank::kNote) return Harm::kNote;
  if (wrong.rule) return wrong.rule->data.empty() ? Harm::kConformance : Harm::kData;
  struct Entry {
    std::string_view kind;
    Harm harm;
  };
  constexpr Entry kHarms[] = {
      {"changed", Harm::kData},
      {"state", Harm::kData},
      {"reset", Harm::kConnection},
      {"refused", Harm::kConnection},
      {"unanswered", Harm::kConnection},
      {"nfs_error", Harm::kRefused},
      {"put_off", Harm::kRefused},
      {"backchannel", Harm::kRefused},
      {"callback", Harm::kRefused},
      {"capture_loss", Harm::kCapture},
      {"capture_sample", Harm::kCapture},
      {"one_direction", Harm::kCapture},
      {"nothing_captured", Harm::kCapture},
      {"cut", Harm::kCapture},
      {"disorder", Harm::kCapture},
      {"captured_twice", Harm::kCapture},
  };
  const auto* const found = std::ranges::find(kHarms, std::string_view(wrong.kind), &Entry::kind);
  return found == std::end(kHarms) ? Harm::kTime : found->harm;
}

namespace {

constexpr size_t kWorst = 3;

// `same`: one kind of trouble of several connections, the worst first.
Wrong Together(std::span<Wrong> same) {
  Wrong all = std::move(same.front());
  std::string numbers;
  for (const Wrong& one : same) {
    if (all.worst.size() < kWorst) {
      all.worst.push_back(one.connection);
      Put(numbers, "{}{}", numbers.empty() ? "" : ", ", one.connection);
    }
    if (&one == &same.front()) continue;
    all.lost_ns += std::min(one.lost_ns, INT64_MAX - all.lost_ns);
    all.count += one.count;
  }
  all.connection_count = same.size();
  std::string text = fmt::format("{} connections, the worst {}", same.size(), numbers);
  if (all.lost_ns > 0) {
    text += ", for ";
    PutDuration(text, all.lost_ns);
    text += " together";
  }
  all.text = text + ". " + all.text;
  return all;
}

bool IsWorse(const Wrong& a, const Wrong& b) {
  const auto key = [](const Wrong& wrong) {
    return std::tuple(HarmOf(wrong), wrong.rank, -wrong.lost_ns, ~wrong.count);
  };
  return key(a) < key(b);
}

}  // namespace

void PutInOrder(std::vector<Wrong>& all) {
  std::ranges::stable_sort(all, IsWorse);
  // One of each connection; what a connection has twice is in a group of its own.
  struct Group {
    std::vector<Wrong> same;
    std::unordered_set<fabric::ConnectionId> connections;
  };
  using Key = std::tuple<Harm, std::string, std::optional<Blame>, std::string>;
  std::vector<Group> groups;
  std::map<Key, std::vector<size_t>> by_key;
  for (Wrong& wrong : all) {
    const auto into = [&](size_t at) {
      groups[at].connections.insert(wrong.connection);
      groups[at].same.push_back(std::move(wrong));
    };
    if (wrong.rule || wrong.connection == 0) {
      groups.emplace_back().same.push_back(std::move(wrong));
      continue;
    }
    std::vector<size_t>& of_key = by_key[Key(HarmOf(wrong), wrong.kind, wrong.blames, wrong.status)];
    const auto room =
        std::ranges::find_if(of_key, [&](size_t at) { return !groups[at].connections.contains(wrong.connection); });
    if (room != of_key.end()) {
      into(*room);
      continue;
    }
    of_key.push_back(groups.size());
    groups.emplace_back();
    into(of_key.back());
  }
  all.clear();
  for (Group& group : groups)
    all.push_back(group.same.size() > 1 ? Together(group.same) : std::move(group.same.front()));
  std::ranges::stable_sort(all, IsWorse);
}

std::string NextStep(const Wrong& wrong, std::string_view file) {
  std::string name = file.starts_with('-') && file.size() > 1 ? "./" : "";
  PutShellWord(name, file);
  std::string of;
  for (const fabric::ConnectionId id : wrong.worst) Put(of, "{}{}", of.empty() ? "" : ",", id);
  if (of.empty() && wrong.connection != 0) of = std::to_string(wrong.connection);
  if (!of.empty()) of = " --connection " + of;
  if (wrong.rule) return fmt::format("stag check --select {}{} {}", wrong.rule->id, of, name);
  const std::string_view kind = wrong.kind;
  const auto is = [kind](std::initializer_list<std::string_view> kinds) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  if (kind == "unanswered" || kind == "waiting") return fmt::format("stag transactions --status none{} {}", of, name);
  if (kind == "nfs_error") return fmt::format("stag transactions --status {} {}", wrong.status, name);
  if (kind == "put_off")
    return fmt::format("stag transactions --status NFS4ERR_DELAY,NFS4ERR_GRACE,NFS3ERR_JUKEBOX{} {}", of, name);
  if (kind == "credits") return fmt::format("stag credits{} {}", of, name);
  if (kind == "slow") return fmt::format("stag limits{} {}", of, name);
  if (kind == "disorder") return fmt::format("reordercap {} ordered.pcapng", name);
  if (kind == "captured_twice") return fmt::format("stag summary --copies keep {}", name);
  if (is({"one_direction", "capture_sample", "nothing_captured", "cut"})) return "stag capture --help";
  if (is({"refused", "reset", "foreign"}) && of.empty()) return fmt::format("stag connections {}", name);
  if (is({"refused", "reset", "foreign"})) return fmt::format("stag connections{} {}", of, name);
  if (is({"state", "backchannel", "callback"}) && wrong.frame != 0)
    return fmt::format("stag slice --around {} -w slice.pcapng {}", wrong.frame, name);
  return fmt::format("stag transport{} {}", of, name);
}

Wrong WhatIsUnclear(uint64_t copies, uint64_t first_frame) {
  return {.rank = Wrong::Rank::kNote,
          .kind = "captured_twice",
          .blames = Blame::kCapture,
          .text = fmt::format("The capture holds many packets twice, and of {} nothing tells whether {} captured twice "
                              "or sent again: left out as {}. --copies keep takes each for a packet of its own.",
                              Count(copies, "more packet"), copies == 1 ? "it was" : "they were",
                              copies == 1 ? "a copy" : "copies"),
          .frame = first_frame};
}

namespace {

// A status flag of SEQUENCE, by bit (RFC 8881 section 18.46).
struct FlagMeaning {
  std::string_view kind;
  std::string_view text;
  std::optional<Blame> blames = std::nullopt;
  bool may_mend = false;  // with its end all is well
  Wrong::Rank rank = Wrong::Rank::kTrouble;
};
constexpr FlagMeaning kFlagMeanings[] = {
    {"backchannel", "no backchannel of the client works, and what it holds may be revoked", {}, true},
    {"backchannel", "the security contexts of the backchannel expire soon", {}, true, Wrong::Rank::kNote},
    {"backchannel", "the security contexts of the backchannel have expired", {}, true},
    {"state", "the lease ran out, and all locks and opens of the client are gone"},
    {"state", "the lease ran out, and some locks of the client are gone"},
    {"state", "locks of the client were revoked at the server", Blame::kServer},
    {"state", "a delegation or layout was revoked that had not been returned when it was recalled"},
    {"state", "another server has a part of the client's state now", {}, true, Wrong::Rank::kNote},
    {"state", "the server restarted, and the client has to reclaim what it held", Blame::kServer, true},
    {"backchannel", "the session has no backchannel that works, and what the client holds may be revoked", {}, true},
    {"backchannel", "the server has lost track of the backchannel, and the client has to destroy the session",
     Blame::kServer},
    {"state", "the server has changed a device of pNFS", {}, true, Wrong::Rank::kNote},
    {"state", "the server has deleted a device of pNFS", {}, true, Wrong::Rank::kNote},
};
static_assert(std::size(kFlagMeanings) == nfs::kStatusFlagCount);

std::string Refusal(const Endpoint& server) { return fmt::format("nobody listens on port {}.", server.number); }

class Troubles {
 public:
  explicit Troubles(const SummarizedConnection& one) : one_(one), c_(one.connection) {}

  std::vector<Wrong> Find() {
    if (c_.foreign)
      Add("foreign", std::nullopt,
          "it carries GlusterFS, which borrows the header of RPC-over-RDMA and does not keep its rules: not judged.",
          c_.first_frame.number, Wrong::Rank::kNote);
    FindWhatIsMissing();
    // A sample, or one direction, tells nothing else.
    if (c_.one_sided() || c_.sampled()) return std::move(all_);
    FindRefusal();
    if (c_.close_reason == fabric::CloseReason::kReset && !c_.rejected)
      Add("reset", std::nullopt, "it was reset.", c_.close_frame.number);
    FindUnanswered();
    FindUnansweredCallbacks();
    FindStatusFlags();
    if (one_.credits) FindCredits(*one_.credits);
    if (one_.limits) FindLimits(*one_.limits);
    if (one_.health)
      for (TransportTrouble& trouble : TransportTroubles(c_, *one_.health))
        Add(trouble.kind, trouble.blames, std::move(trouble.text), trouble.frame, Wrong::Rank::kTrouble,
            trouble.lost_ns);
    FindMissedAnswers();
    return std::move(all_);
  }

 private:
  void Add(std::string_view kind, std::optional<Blame> blames, std::string text, uint64_t frame,
           Wrong::Rank rank = Wrong::Rank::kTrouble, int64_t lost_ns = 0) {
    all_.push_back({.rank = rank,
                    .kind = std::string(kind),
                    .blames = blames,
                    .connection = c_.info.id,
                    .text = fmt::format("Connection {}: {}", c_.info.id, text),
                    .frame = frame,
                    .lost_ns = lost_ns});
  }
  int64_t TimeOf(session::Limit limit) const { return one_.limits ? one_.limits->ns[static_cast<size_t>(limit)] : 0; }

  bool lost_nothing() const {
    return c_.setup_seen &&
           c_.coverage[0].gaps + c_.coverage[0].unclear + c_.coverage[1].gaps + c_.coverage[1].unclear == 0;
  }

  void FindWhatIsMissing() {
    if (c_.info.of_slice) return;
    if (c_.one_sided()) {
      const bool client = c_.coverage[c_.client].heard;
      Add("one_direction", Blame::kCapture,
          fmt::format("the capture has only the packets of the {}: nothing tells what was answered, or when.",
                      client ? "client" : "server"),
          0);
      return;
    }
    if (c_.sampled())
      Add("capture_sample", Blame::kCapture,
          "the capture is a sample: of more than a tenth of the packets there is no trace.", 0);
    if (c_.setup_seen && !c_.rejected && c_.packets == 0 && c_.info.fabric != fabric::FabricKind::kIwarp)
      Add("nothing_captured", Blame::kCapture,
          "it was set up, and none of its packets is in the capture: none was sent, or the adapter kept them from the "
          "capture, or a filter did.",
          c_.first_frame.number);
    const uint64_t messages = c_.counters[0].messages + c_.counters[1].messages;
    if (c_.truncated_messages > 0)
      Add("cut", Blame::kCapture,
          fmt::format(
              "{} of {} cut short: what they say is not known. A longer snap length shows it.", c_.truncated_messages,
              c_.truncated_messages == 1 && messages == 1 ? "1 message is" : Count(messages, "message") + " are"),
          0);
  }

  // Calls without an answer: the server is blamed where nothing of the connection is missing, and none that it answered
  // took as long.
  void FindUnanswered() {
    const auto& none = one_.UnansweredOf(session::Answer::kNone);
    if (none.count > 0)
      Add("unanswered", lost_nothing() ? std::optional(Blame::kServer) : std::nullopt,
          fmt::format("{} without an answer when it ended, the first {}.", Count(none.count, "RPC"),
                      none.first_subject),
          none.first_frame, Wrong::Rank::kTrouble, none.longest_ns);
    const auto& pending = one_.UnansweredOf(session::Answer::kPending);
    if (pending.count == 0) return;
    const int64_t answered = one_.limits ? one_.limits->longest_answer_ns : 0;
    const bool late = lost_nothing() && answered > 0 && pending.longest_ns > answered;
    std::string text =
        fmt::format("{} under way when the capture ended, the first {}, for up to {}", Count(pending.count, "RPC"),
                    pending.first_subject, DurationText(pending.longest_ns));
    if (late) text += fmt::format(": longer than any that was answered, {}", DurationText(answered));
    Add("waiting", late ? std::optional(Blame::kServer) : std::nullopt, text + '.', pending.first_frame,
        late ? Wrong::Rank::kTrouble : Wrong::Rank::kNote, pending.longest_ns);
  }

  // The same of the Calls of the server.
  void FindUnansweredCallbacks() {
    const auto& none = one_.UnansweredOf(session::Answer::kNone, true);
    if (none.count > 0)
      Add("unanswered", lost_nothing() ? std::optional(Blame::kClient) : std::nullopt,
          fmt::format("{} of the server without an answer when it ended, the first {}.", Count(none.count, "Call"),
                      none.first_subject),
          none.first_frame);
    const auto& pending = one_.UnansweredOf(session::Answer::kPending, true);
    if (pending.count > 0)
      Add("waiting", std::nullopt,
          fmt::format("{} of the server without an answer when the capture ended, the first {}, for up to {}.",
                      Count(pending.count, "Call"), pending.first_subject, DurationText(pending.longest_ns)),
          pending.first_frame, Wrong::Rank::kNote);
  }

  void FindRefusal() {
    if (c_.rejected) {
      // TCP alone, without an MPA request: a RST for the SYN.
      const bool tcp = c_.info.fabric == fabric::FabricKind::kIwarp && !c_.setup[0].seen && !c_.setup[1].seen;
      std::string text = "the server rejected it.";
      if (tcp)
        text = fmt::format("the server refused the TCP connection: {}", Refusal(c_.info.endpoint[1 - c_.client]));
      if (c_.reject_reason != 0) text = fmt::format("the server rejected it, reason {}.", analysis::RejectText(c_));
      if (!tcp && c_.reject_reason == 0 && c_.info.fabric == fabric::FabricKind::kIwarp)
        text = "the server rejected it, in its MPA Reply.";
      return Add("refused", Blame::kServer, std::move(text), c_.close_frame.number);
    }
    const bool asked = c_.setup[c_.client].seen && !c_.setup[1 - c_.client].seen;
    if (asked && !c_.opened && c_.counters[0].messages + c_.counters[1].messages == 0)
      Add("refused", std::nullopt, "no answer to the request to connect is in the capture.", c_.first_frame.number);
  }

  void FindStatusFlags() {
    for (const session::FlagSpan& span : one_.status_flags) {
      const FlagMeaning& meaning = kFlagMeanings[static_cast<size_t>(std::countr_zero(span.flag))];
      const bool mended = meaning.may_mend && span.ended.number != 0;
      Add(meaning.kind, meaning.blames,
          fmt::format("the server says {} in {}, from frame {} {}: {}.", nfs::StatusFlagName(span.flag),
                      span.replies == 1 ? "1 Reply" : fmt::format("{} Replies", span.replies), span.first.number,
                      span.ended.number != 0 ? fmt::format("until frame {}", span.ended.number) : "on", meaning.text),
          span.first.number, mended ? Wrong::Rank::kNote : meaning.rank);
    }
  }

  void FindCredits(const session::CreditSummary& credits) {
    if (credits.overruns > 0)
      Add("credits", Blame::kClient,
          fmt::format("the client sent {} over the server's grant.", Count(credits.overruns, "Call")),
          credits.first_overrun.number);
    if (credits.zero_grants > 0)
      Add("credits", Blame::kServer,
          fmt::format("the server granted no credits, {}.", Count(credits.zero_grants, "time")),
          credits.first_zero_grant.number);
    if (credits.granted.any && credits.granted.max == 1 && credits.calls > 1)
      Add("credits", Blame::kServer, "the server grants one credit: one Call at a time.", 0);
  }

  void FindLimits(const session::ConnectionLimits& limits) {
    if (limits.verdict() == session::Limit::kCreditLimited)
      Add("credits", std::nullopt,
          fmt::format("all credits are used {:.0f} % of its time; stag limits says what to do.",
                      limits.percent(session::Limit::kCreditLimited)),
          0, Wrong::Rank::kTrouble, TimeOf(session::Limit::kCreditLimited));
    if (limits.quarter_pauses > 0)
      Add("slow", Blame::kClient,
          fmt::format("{} of about 250 ms with all credits used.", Count(limits.quarter_pauses, "pause")), 0,
          Wrong::Rank::kTrouble, static_cast<int64_t>(limits.quarter_pauses) * 250'000'000);
    if (limits.put_off > 0)
      Add("put_off", Blame::kServer,
          fmt::format("the server put off {} (NFS4ERR_DELAY, NFS4ERR_GRACE, NFS3ERR_JUKEBOX).",
                      Count(limits.put_off, "Call")),
          0);
  }

  // Something of the connection is missing, and answers with it: one sentence.
  void FindMissedAnswers() {
    if (c_.info.of_slice) return;
    const auto& missed = one_.UnansweredOf(session::Answer::kNotCaptured);
    const auto loss = std::ranges::find(all_, "capture_loss", &Wrong::kind);
    if (loss == all_.end()) {
      if (missed.count > 0 || c_.coverage[0].gaps + c_.coverage[1].gaps > 0)
        Add("capture_loss", Blame::kCapture,
            missed.count > 0
                ? fmt::format("the {} of {} not in the capture, nor what would tell whether there was one.",
                              missed.count == 1 ? "answer" : "answers",
                              missed.count == 1 ? "1 RPC is" : Count(missed.count, "RPC") + " are")
                : std::string("packets of it are not in the capture."),
            missed.first_frame);
      return;
    }
    if (missed.count == 0) return;
    loss->frame = missed.first_frame;
    loss->text += fmt::format(" The {} of {} may be among them.", missed.count == 1 ? "answer" : "answers",
                              Count(missed.count, "RPC"));
  }

  const SummarizedConnection& one_;
  const Connection& c_;
  std::vector<Wrong> all_;
};

}  // namespace

std::vector<Wrong> WhatIsWrongWith(const SummarizedConnection& one) { return Troubles(one).Find(); }

std::optional<Wrong> WhatFailed(const analysis::NfsErrors::Kind& kind) {
  if (!kind.harmful) return std::nullopt;
  const double percent = kind.percent();
  return Wrong{
      .kind = "nfs_error",
      .blames = kind.blames,
      .connection = kind.connection,
      .text = fmt::format("{}: {} of {} with {} ({} %): {}.", kind.operation, kind.count, Count(kind.of, "result"),
                          kind.status, percent < 1 ? "under 1" : fmt::format("{:.0f}", percent), kind.meaning),
      .frame = kind.first.number,
      .count = kind.count,
      .status = std::string(kind.status)};
}

Wrong WhatIsOpen(const session::Promises::Open& open, const FrameRef& end, bool broken) {
  // Servers give leases of about so long (Linux: 90 s), and revoke what is not returned meanwhile.
  constexpr int64_t kLease = 90'000'000'000;
  const std::optional<int64_t> waited = Elapsed(open.frame, end);
  const bool copy = open.kind == session::PromiseKind::kOffload;
  const std::string time = waited ? fmt::format(", {} later", DurationText(*waited)) : std::string();
  return {.rank = broken || waited.value_or(0) >= kLease ? Wrong::Rank::kTrouble : Wrong::Rank::kNote,
          .kind = "callback",
          .connection = open.connection,
          .text = copy ? fmt::format("Connection {}: the server copies behind its Reply, and the client waits for its "
                                     "CB_OFFLOAD: none came until the capture ended{}.",
                                     open.connection, time)
                       : fmt::format("Connection {}: the server recalled a delegation, and the client did not return "
                                     "it until the capture ended{}.",
                                     open.connection, time),
          .frame = open.frame.number};
}

Wrong WhatWasRefused(const fabric::Aside& aside) {
  const bool refused = aside.kind == fabric::Aside::Kind::kRefused;
  const auto text = [](const Endpoint& end) { return fabric::EndpointText(end, fabric::FabricKind::kIwarp); };
  const Endpoint &client = refused ? aside.to : aside.from, &server = refused ? aside.from : aside.to;
  // Others may be about something else.
  constexpr uint32_t kNfsPort = 2049;
  const bool nfs = server.number == rpcrdma::kServicePort || server.number == kNfsPort;
  return {.kind = "refused",
          .blames = refused && nfs ? std::optional(Blame::kServer) : std::nullopt,
          .text = refused ? fmt::format("{} refused the TCP connection of {}: {}", text(server), text(client),
                                        Refusal(server))
                          : fmt::format("No answer of {} to the SYN of {} is in the capture: nobody is there, or "
                                        "something between drops it.",
                                        text(server), text(client)),
          .frame = aside.frame.number};
}

}  // namespace stag::cli
