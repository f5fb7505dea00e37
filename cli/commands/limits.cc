// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag limits: per connection, what its time is spent on, and what to do about it.
#include <algorithm>
#include <map>
#include <memory>

#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "session/limits/connection_limits.h"
#include "text/json.h"
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

// A connection that has closed. The signatures of one look at all connections of its file.
struct Ended {
  Connection connection;
  ConnectionLimits limits;
};

class Collector final : public session::LimitsSink {
 public:
  const std::map<fabric::ConnectionId, Ended>& ended() const { return ended_; }

 private:
  void OnLimits(const Connection& connection, const ConnectionLimits& limits) override {
    ended_.insert_or_assign(connection.info.id, Ended{connection, limits});
  }
  std::map<fabric::ConnectionId, Ended> ended_;
};

int64_t Of(const ConnectionLimits& limits, Limit limit) { return limits.ns[static_cast<size_t>(limit)]; }

// Connections between the same client and server.
bool ArePaired(const Connection& a, const Connection& b) {
  return a.info.endpoint[a.client].address == b.info.endpoint[b.client].address &&
         a.info.endpoint[1 - a.client].address == b.info.endpoint[1 - b.client].address;
}
// For at least half of the frames of `a`.
bool Overlap(const Connection& a, const Connection& b) {
  const uint64_t begin = std::max(a.first_frame.number, b.first_frame.number);
  const uint64_t end = std::min(a.last_frame.number, b.last_frame.number);
  return end > begin && 2 * (end - begin) >= a.last_frame.number - a.first_frame.number;
}

// Says what is known to make mounts slow, a line each.
class Signatures {
 public:
  Signatures(std::string& out, const std::map<fabric::ConnectionId, Ended>& all, const Style& style)
      : out_(out), all_(all), style_(style) {}

  void Put(const Connection& c, const ConnectionLimits& limits) {
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
    PutUneven(c, limits);
    PutReconnects(c);
  }

 private:
  // One connection of several at a time carries most of the Calls.
  void PutUneven(const Connection& c, const ConnectionLimits& limits) {
    uint64_t calls = 0, together = 0;
    for (const auto& [id, other] : all_) {
      if (!ArePaired(c, other.connection) || !Overlap(c, other.connection)) continue;
      ++together;
      calls += other.limits.calls;
    }
    // Halfway from a fair share to all.
    if (together < 2 || calls < 20 || 2 * limits.calls * together < calls * (together + 1)) return;
    Note("it carries {:.0f} % of the Calls of {} connections between the same addresses: nconnect does not spread them",
         static_cast<double>(limits.calls) / static_cast<double>(calls) * 100, together);
  }

  // Told of the last of them.
  void PutReconnects(const Connection& c) {
    size_t before = 0;
    for (const auto& [id, other] : all_) {
      if (id == c.info.id || !ArePaired(c, other.connection)) continue;
      if (other.connection.first_frame.number > c.first_frame.number) return;
      before += other.connection.last_frame.number < c.first_frame.number ? 1 : 0;
    }
    if (before >= 3)
      Note("the client connects again and again: {} ended before this one; stag connections says how", before);
  }

  template <typename... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    stag::Put(out_, "    {}{:<16}{}{}", style_.dim, "seen", style_.reset, style_.yellow);
    stag::Put(out_, format, std::forward<Args>(args)...);
    stag::Put(out_, "{}\n", style_.reset);
  }

  std::string& out_;
  const std::map<fabric::ConnectionId, Ended>& all_;
  const Style& style_;
};

void PutText(std::string& out, const Ended& one, const std::map<fabric::ConnectionId, Ended>& all, const Style& style) {
  const ConnectionLimits& limits = one.limits;
  PutConnectionHead(out, one.connection, style);
  const auto label = [&](std::string_view text) { Put(out, "    {}{:<16}{}", style.dim, text, style.reset); };
  label("span");
  PutDuration(out, limits.span_ns);
  Put(out, ", {}, {} answered{}\n", Count(limits.calls, "Call"), limits.replies,
      limits.unanswered ? "; to the last frame, for a Call stays unanswered" : "");
  for (size_t i = 0; i < session::kLimits; ++i) {
    if (limits.ns[i] == 0) continue;
    label(kWords[i]);
    Put(out, "{:5.1f} %  ", limits.percent(static_cast<Limit>(i)));
    PutDuration(out, limits.ns[i]);
    Put(out, "\n");
  }
  if (const auto verdict = limits.verdict()) {
    label("verdict");
    Put(out, "{}{}{}: {}\n", style.bold, kWords[static_cast<size_t>(*verdict)], style.reset,
        kAdvice[static_cast<size_t>(*verdict)]);
  }
  Signatures(out, all, style).Put(one.connection, limits);
}

void PutJson(std::string& out, const Ended& one, const std::optional<std::string>& file) {
  const ConnectionLimits& limits = one.limits;
  JsonWriter json(out);
  json.BeginObject().Member("type", "limits");
  if (file) json.Member("file", *file);
  json.Member("connection", one.connection.info.id).Key("span_us").Thousandths(limits.span_ns);
  json.Key("idle_us").Thousandths(Of(limits, Limit::kIdle));
  json.Key("credit_limited_us").Thousandths(Of(limits, Limit::kCreditLimited));
  json.Key("recovery_us").Thousandths(Of(limits, Limit::kRecovery));
  json.Key("moving_data_us").Thousandths(Of(limits, Limit::kMovingData));
  json.Key("server_us").Thousandths(Of(limits, Limit::kServer));
  const auto verdict = limits.verdict();
  json.Member("verdict", verdict ? session::kLimitNames[static_cast<size_t>(*verdict)] : std::string_view("no_calls"));
  json.EndObject().EndLine();
}

FileOutcome ReportFile(const std::string& file, const CommonOptions& options, Output& output) {
  Collector collector;
  session::LimitsObserver observer(collector);
  Clock clock;
  FileOutcome outcome = Analyze(file, options, false, clock, output, {&observer}, &observer);
  const auto name = options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  bool first = true;
  for (const auto& [id, one] : collector.ended()) {
    if (options.format == Format::kJsonl) {
      PutJson(output.buffer(), one, name);
    } else {
      if (!first) output.buffer().push_back('\n');
      PutText(output.buffer(), one, collector.ended(), output.style());
    }
    first = false;
    output.Commit();
  }
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed() && collector.ended().empty())
    output.diagnostics().Complain("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame"));
  return outcome;
}

int RunLimits(const CommonOptions& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return ReportFile(file, options, of_file);
  });
}

}  // namespace

void AddLimits(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "limits",
      "What each connection's time is spent on: idle, credits, recovery, data, the server; what to do about it");
  AddCaptureOptions(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "From the first Call of a connection to its last Reply (to its last frame, where a Call stays unanswered), at "
      "each\n"
      "moment the first of these that holds: recovery, from an RNR NAK or sequence NAK to the packet that mends it; "
      "idle,\n"
      "without a Call outstanding; credits used up, with as many as min(granted, requested); moving data, during an "
      "RPC's\n"
      "RDMA Reads or its RDMA Writes; the server. The verdict is the largest part; but recovery, where that is a tenth "
      "of\n"
      "the time that is not idle, or more. Calls of the server are left out.\n"
      "\nExamples:\n"
      "  stag limits mount.pcapng\n"
      "  stag limits --format jsonl mount.pcapng | jq '{connection, verdict}'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunLimits); }; });
}

}  // namespace stag::cli
