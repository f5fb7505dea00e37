// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/limit_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::ConnectionLimits;
using session::Limit;

constexpr std::array<std::string_view, session::kLimits> kWords{"idle", "credits used up", "recovery", "moving data",
                                                                "server"};
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
    "does not tell its processors from its disks, nor a wait in front of its adapter."};

// For at least half of the frames of `a`.
bool Overlap(const Connection& a, const Connection& b) {
  const uint64_t begin = std::max(a.first_frame.number, b.first_frame.number);
  const uint64_t end = std::min(a.last_frame.number, b.last_frame.number);
  return end > begin && 2 * (end - begin) >= a.last_frame.number - a.first_frame.number;
}

class Signatures {
 public:
  // `pair`: the connections of the same client and server, in order of their beginnings.
  explicit Signatures(const std::vector<const LimitedConnection*>& pair) : pair_(pair) {}

  void Find(const Connection& c, const ConnectionLimits& limits, const transport::Health* health) {
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
    if (health) FindTimers(*health);
    if (limits.one_credit) Note("the server never grants more than one credit: one Call at a time");
    if (limits.put_off > 0) {
      Note("{} put off with NFS4ERR_DELAY, NFS4ERR_GRACE or NFS3ERR_JUKEBOX: the client asks again later",
           Count(limits.put_off, "Call"));
    }
    if (limits.copies > limits.offloads_done && limits.copies > 0 && c.backward_calls == 0) {
      Note(
          "{}, and no CB_OFFLOAD: where the server copies in the background, the client waits for it; the backchannel "
          "may be elsewhere",
          Count(limits.copies, "COPY"));
    }
    FindUneven(c, limits);
    FindReconnects(c);
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  // What was sent again after a silence, and no NAK had asked for it.
  void FindTimers(const transport::Health& health) {
    // What comes sooner may be for a NAK, or for acknowledgments, that the capture does not have.
    constexpr int64_t kTimer = 10'000'000, kTcpTimer = 190'000'000;  // ns; TCP's is 200 ms at least in Linux
    uint64_t count = 0;
    int64_t longest = 0, all = 0;
    for (const transport::Episode& e : health.episodes) {
      const bool tcp = e.kind == transport::Episode::Kind::kSegments;
      const int64_t silence = Elapsed(e.cause, e.first).value_or(0);
      if ((!tcp && e.kind != transport::Episode::Kind::kTimeout) || silence < (tcp ? kTcpTimer : kTimer)) continue;
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
    found_.push_back(text + "; packets were lost, or their acknowledgments, and that time is not in recovery");
  }

  // One connection of several at a time carries most of the Calls.
  void FindUneven(const Connection& c, const ConnectionLimits& limits) {
    uint64_t calls = 0, together = 0;
    for (const LimitedConnection* other : pair_) {
      if (!Overlap(c, *other->connection)) continue;
      ++together;
      calls += other->limits->calls;
      if (calls >= 2 * limits.calls) return;  // whatever else there is
    }
    // Halfway from a fair share to all.
    if (together < 2 || calls < 20 || 2 * limits.calls * together < calls * (together + 1)) return;
    Note("it carries {:.0f} % of the Calls of {} connections between the same addresses: nconnect does not spread them",
         static_cast<double>(limits.calls) / static_cast<double>(calls) * 100, together);
  }

  // Told of the last of them.
  void FindReconnects(const Connection& c) {
    if (pair_.back()->connection->first_frame.number > c.first_frame.number) return;
    const auto before = std::ranges::count_if(pair_, [&](const LimitedConnection* other) {
      return other->connection->last_frame.number < c.first_frame.number;
    });
    if (before >= 3)
      Note("the client connects again and again: {} ended before this one; stag connections says how", before);
  }

  template <typename... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    found_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const std::vector<const LimitedConnection*>& pair_;
  std::vector<std::string> found_;
};

}  // namespace

std::string_view LimitWord(Limit limit) { return kWords[static_cast<size_t>(limit)]; }

std::string_view LimitAdvice(Limit limit) { return kAdvice[static_cast<size_t>(limit)]; }

LimitSignatures::LimitSignatures(std::vector<LimitedConnection> all) : all_(std::move(all)) {
  std::map<std::pair<Address, Address>, size_t> known;  // client, server
  for (const LimitedConnection& one : all_) {
    const Connection& c = *one.connection;
    const auto [at, fresh] =
        known.try_emplace({c.info.endpoint[c.client].address, c.info.endpoint[1 - c.client].address}, pairs_.size());
    if (fresh) pairs_.emplace_back();
    pairs_[at->second].push_back(&one);
    pair_of_.push_back(at->second);
  }
  for (Pair& pair : pairs_)
    std::ranges::stable_sort(pair, {},
                             [](const LimitedConnection* one) { return one->connection->first_frame.number; });
}

std::vector<std::string> LimitSignatures::Of(size_t index, const transport::Health* health) const {
  Signatures signatures(pairs_[pair_of_[index]]);
  signatures.Find(*all_[index].connection, *all_[index].limits, health);
  return signatures.Take();
}

}  // namespace stag::cli
