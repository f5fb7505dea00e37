// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/limit_words.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <tuple>

#include "text/put.h"

namespace stag::analysis {
namespace {

using session::Connection;
using session::ConnectionLimits;
using session::Limit;

constexpr std::array<std::string_view, session::kLimits> kWords{"idle",        "credits used up", "recovery",
                                                                "moving data", "server",          "unknown"};
// What to do where most of the time is this.
constexpr std::array<std::string_view, session::kLimits> kAdvice{
    "The client has no Call outstanding. The wire does not tell why: it has nothing to do, or its Calls wait for a "
    "slot of the session, for a thread, or for data. More parallel I/O shows which.",
    "As many Calls are outstanding as the credits allow. Raise the smaller of the client's request (Linux: "
    "sunrpc.rdma_slot_table_entries) and the server's grant (Linux: sunrpc.svc_rdma.max_requests), mount with "
    "nconnect, or make the server answer sooner.",
    "Packets are lost, or a receiver is not ready. stag transport shows which side repeats what: look for congestion "
    "(PFC, ECN), errors of the link, and RNR timers.",
    "RDMA Reads and Writes take the time: the link, or the memory at its ends. stag latency shows how long each takes; "
    "a larger path MTU and larger rsize and wsize make fewer packets and RPCs of the same data.",
    "The server has Calls that it does not answer and moves no data for. stag latency --slowest shows which. The wire "
    "does not tell its processors from its disks, nor a wait in front of its adapter.",
    "The capture does not show what was outstanding: the packets that would tell are not in it. Capture both "
    "directions "
    "whole, from before the mount, without sampling."};

class Signatures {
 public:
  void Find(const Connection& c, const ConnectionLimits& limits, const transport::Health* health) {
    if (c.info.of_slice)
      Note("the capture is a slice of another: nothing is known of what was left out");
    else if (c.one_sided())
      return Note("the capture has only the {}'s packets", c.coverage[c.client].heard ? "client" : "server");
    if (c.sampled() && !c.info.of_slice)
      return Note("the capture is a sample: of more than a tenth of the packets there is no trace");
    if (limits.untimed > 0) Note("the frames of {} of {} have no times", limits.untimed, Count(limits.calls, "Call"));
    if (limits.not_captured > 0) Note("the answers to {} were not captured", Count(limits.not_captured, "Call"));
    if (limits.quarter_pauses > 0) {
      Note(
          "{} of about 250 ms with all credits used: a Linux client before 7.1 sleeps so long when its slots are used "
          "up; more credits, or a newer client",
          Count(limits.quarter_pauses, "pause"));
    }
    if (limits.longest_rnr_ns >= 600'000'000 && limits.longest_rnr_ns <= 720'000'000) {
      Note(
          "an RNR NAK is followed by a wait of {} ms: the RNR timer of 655 ms, which is what the value 0 means; set "
          "min_rnr_timer of the receiver's queue pair to another one",
          limits.longest_rnr_ns / 1'000'000);
    } else if (limits.rnr_naks > 0) {
      Note("{}: a receiver had no buffer posted; stag credits shows whether credits were overrun",
           Count(limits.rnr_naks, "RNR NAK"));
    }
    if (limits.sequence_naks > 0)
      Note("{}: packets were lost or overtook each other", Count(limits.sequence_naks, "sequence NAK"));
    if (health) {
      FindTimers(limits, *health);
      FindSilences(c, limits, *health);
    }
    if (limits.one_credit) Note("the server never grants more than one credit: one Call at a time");
    if (limits.put_off > 0) {
      Note("{} put off with NFS4ERR_DELAY, NFS4ERR_GRACE or NFS3ERR_JUKEBOX: the client asks again later",
           Count(limits.put_off, "Call"));
    }
    if (limits.copies > limits.offloads_done && limits.copies > 0 && c.backward_calls == 0) {
      Note(
          "{} of which the server makes the copy behind its Reply, and no CB_OFFLOAD: the client waits for it; the "
          "backchannel may be elsewhere",
          Count(limits.copies, "COPY"));
    }
  }

  // Of one connection of several at a time that carries most of the Calls; of the last of many.
  void FindPairs(const PairedConnection& c, const PairCounts& counts) {
    // Halfway from a fair share to all.
    if (counts.together >= 2 && counts.calls >= 20 &&
        2 * c.calls * counts.together >= counts.calls * (counts.together + 1)) {
      Note(
          "it carries {:.0f} % of the Calls of {} connections between the same addresses: nconnect does not spread "
          "them",
          static_cast<double>(c.calls) / static_cast<double>(counts.calls) * 100, counts.together);
    }
    if (counts.before.value_or(0) >= 3) {
      Note("the client connects again and again: {} ended before this one; stag connections says how", *counts.before);
    }
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  // Whether a timer made the sender repeat. A sooner repeat may be for a NAK, or for acknowledgments, that the capture
  // does not have.
  static bool IsTimer(const transport::Episode& e) {
    constexpr int64_t kTimer = 10'000'000, kTcpTimer = 190'000'000;  // ns; TCP's is 200 ms at least in Linux
    const bool tcp = e.kind == transport::Episode::Kind::kSegments;
    return (tcp || e.kind == transport::Episode::Kind::kTimeout) &&
           Elapsed(e.cause, e.first).value_or(0) >= (tcp ? kTcpTimer : kTimer);
  }

  // Packets that were sent again after a silence, and that no NAK had asked for.
  void FindTimers(const ConnectionLimits& limits, const transport::Health& health) {
    uint64_t count = 0;
    int64_t longest = 0, all = 0;
    for (const transport::Episode& e : health.episodes) {
      if (!IsTimer(e)) continue;
      const int64_t silence = Elapsed(e.cause, e.first).value_or(0);
      ++count;
      longest = std::max(longest, silence);
      all += std::min(silence, INT64_MAX - all);
    }
    if (count == 0) return;
    std::string text = Count(count, "retransmission") + " only when the transport's timer ran out: after ";
    if (count > 1) text += "up to ";
    PutDuration(text, longest);
    if (count > 1) {
      text += ", ";
      PutDuration(text, all);
      text += " together";
    }
    const int64_t recovery = limits.ns[static_cast<size_t>(Limit::kRecovery)];
    if (recovery > 0) {
      text += "; the timer is waited for in ";
      PutDuration(text, limits.timed_ns);
      Put(text, " of the recovery, {:.0f} %",
          static_cast<double>(limits.timed_ns) / static_cast<double>(recovery) * 100);
    }
    found_.push_back(text + ": packets were lost, or their acknowledgments");
  }

  // Silences as long as a time-out of the transport's that nothing which was sent again ends.
  void FindSilences(const Connection& c, const ConnectionLimits& limits, const transport::Health& health) {
    std::vector<int64_t> timeouts;
    if (c.info.ack_timeout_ns > 0) timeouts.push_back(c.info.ack_timeout_ns);
    for (const transport::Episode& e : health.episodes)
      if (IsTimer(e)) timeouts.push_back(Elapsed(e.cause, e.first).value_or(0));
    const ConnectionLimits::Silence* longest = nullptr;
    uint64_t count = 0;
    int64_t timeout = 0;
    for (const ConnectionLimits::Silence& silence : limits.silences) {
      const int64_t ns = silence.ns();
      const auto alike =
          std::ranges::find_if(timeouts, [ns](int64_t t) { return ns >= t - t / 20 && ns <= t + t / 10; });
      const bool again = std::ranges::any_of(health.episodes, [&](const transport::Episode& e) {
        return e.first.order() >= silence.since.order() && e.first.order() <= silence.until.order();
      });
      if (alike == timeouts.end() || again) continue;
      ++count;
      if (longest && longest->ns() >= ns) continue;
      longest = &silence;
      timeout = *alike;
    }
    if (!longest) return;
    std::string text = count == 1 ? "a silence of " : Count(count, "silence") + ", of up to ";
    PutDuration(text, longest->ns());
    Put(text, ", before frame {}, with Calls outstanding: as long as the transport's time-out of ",
        longest->until.number);
    PutDuration(text, timeout);
    found_.push_back(text +
                     "; nothing that was sent again ends it: a packet may have been lost between its sender and the "
                     "point of capture, and the server not be slow");
  }

  template <typename... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    found_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<std::string> found_;
};

// Numbers of connections and of their Calls by places, summed up to a place.
class Sums {
 public:
  explicit Sums(size_t places) : sums_(places + 1) {}
  void Add(size_t place, uint64_t calls) {
    for (++place; place < sums_.size(); place += place & (0 - place)) {
      ++sums_[place].together;
      sums_[place].calls += calls;
    }
  }
  // Of the places before `place`.
  PairCounts Before(size_t place) const {
    PairCounts sum;
    for (; place > 0; place -= place & (0 - place)) {
      sum.together += sums_[place].together;
      sum.calls += sums_[place].calls;
    }
    return sum;
  }

 private:
  struct Sum {
    uint64_t together = 0, calls = 0;
  };
  std::vector<Sum> sums_;  // a binary indexed tree
};

// Of the connections `pair`, which are between the same addresses. One is there during at least half of the frames of
// another, `half` at least, where it begins at most `half` before the other's end, ends at least `half` after its
// beginning, and lasts for at least `half`. The middle of the other is in it then: those of the right length that begin
// late enough, less those that end too early. So the connections are taken by length.
void CountPair(std::span<const PairedConnection> all, std::span<size_t> pair, std::vector<PairCounts>& counts) {
  std::vector<uint64_t> firsts, lasts;
  for (const size_t i : pair) {
    firsts.push_back(all[i].first);
    lasts.push_back(all[i].last);
  }
  std::ranges::sort(firsts);
  std::ranges::sort(lasts);
  const auto before = [](const std::vector<uint64_t>& sorted, uint64_t frame) {
    return static_cast<size_t>(std::ranges::lower_bound(sorted, frame) - sorted.begin());
  };
  const auto length = [&](size_t i) { return all[i].last - all[i].first; };
  std::ranges::sort(pair, std::greater{}, length);
  Sums by_first(pair.size()), by_last(pair.size());
  size_t taken = 0;
  for (const size_t i : pair) {
    const PairedConnection& c = all[i];
    PairCounts& of = counts[i];
    if (c.first == firsts.back()) of.before = before(lasts, c.first);
    if (length(i) == 0) continue;
    const uint64_t half = (length(i) + 1) / 2;
    for (; taken < pair.size() && length(pair[taken]) >= half; ++taken) {
      const PairedConnection& other = all[pair[taken]];
      by_first.Add(before(firsts, other.first), other.calls);
      by_last.Add(before(lasts, other.last), other.calls);
    }
    const PairCounts begun = by_first.Before(before(firsts, c.last - half + 1));
    const PairCounts over = by_last.Before(before(lasts, c.first + half));
    of.together = begun.together - over.together;
    of.calls = begun.calls - over.calls;
  }
}

}  // namespace

std::string_view LimitWord(Limit limit) { return kWords[static_cast<size_t>(limit)]; }

std::string_view LimitAdvice(const ConnectionLimits& limits) {
  if (limits.calls == 0) return "No Call was captured.";
  if (limits.untimed == limits.calls)
    return "The frames have no times, and no duration can be told from them. Capture with a tool that writes times: "
           "enhanced packet blocks, not simple ones.";
  return LimitAdvice(limits.verdict());
}

std::string_view LimitAdvice(Limit limit) { return kAdvice[static_cast<size_t>(limit)]; }

std::vector<std::string> LimitSignatures(const Connection& connection, const ConnectionLimits& limits,
                                         const transport::Health* health) {
  Signatures signatures;
  signatures.Find(connection, limits, health);
  return signatures.Take();
}

std::vector<std::string> PairSignatures(const PairedConnection& connection, const PairCounts& counts) {
  Signatures signatures;
  signatures.FindPairs(connection, counts);
  return signatures.Take();
}

PairedConnection::PairedConnection(const Connection& connection, const ConnectionLimits& limits)
    : client(connection.info.endpoint[connection.client].address),
      server(connection.info.endpoint[1 - connection.client].address),
      first(connection.first_frame.number),
      last(std::max(first, connection.last_frame.number)),
      calls(limits.calls) {}

std::vector<PairCounts> CountPairs(std::span<const PairedConnection> all) {
  std::vector<PairCounts> counts(all.size());
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto ends = [&](size_t i) { return std::tie(all[i].client, all[i].server); };
  std::ranges::sort(order, {}, ends);
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && ends(order[end]) == ends(order[begin])) ++end;
    CountPair(all, std::span(order).subspan(begin, end - begin), counts);
  }
  return counts;
}

}  // namespace stag::analysis
