// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transport statistics for people: a table with the columns that say something, the episodes that cost time, and what
// the numbers mean.
#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <span>

#include "cli/analysis/connection_head.h"
#include "cli/transport/transport_report.h"
#include "protocol/ib/transport.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::FabricKind;
using fabric::Side;
using session::Connection;
using transport::Counters;
using transport::Episode;
using transport::Health;
using Kind = transport::Note::Kind;

constexpr int64_t kLongSilence = 10'000'000;  // ns before a retransmission, that is worth a word

constexpr TransportColumn kPackets[] = {
    {"sent again", [](const Counters& n) { return n.retransmitted; }, true, true},
    {"repeated responses", [](const Counters& n) { return n.repeated_responses; }, false, true},
    {"go-back-N", [](const Counters& n) { return n.go_back_n; }, false, true},
    {"time-outs", [](const Counters& n) { return n.timeouts; }, false, true},
    {"out of order", [](const Counters& n) { return n.out_of_order; }, false, false},
    {"not captured", [](const Counters& n) { return n.lost_from_capture; }, true, false},
    {"NAKs", [](const Counters& n) { return n.naks(); }, true, true},
    {"CE", [](const Counters& n) { return n.ce; }, false, true},
    {"FECN", [](const Counters& n) { return n.fecn; }, false, true},
    {"CNP", [](const Counters& n) { return n.cnp; }, false, true},
    {"changed", [](const Counters& n) { return n.changed; }, false, true},
};
constexpr TransportColumn kSegments[] = {
    {"sent again", [](const Counters& n) { return n.retransmitted; }, true, true},
    {"out of order", [](const Counters& n) { return n.out_of_order; }, false, false},
    {"bytes not captured", [](const Counters& n) { return n.lost_from_capture; }, true, false},
    {"zero windows", [](const Counters& n) { return n.zero_windows; }, false, true},
    {"resets", [](const Counters& n) { return n.resets; }, false, true},
    {"CRC errors", [](const Counters& n) { return n.crc_errors; }, false, true},
    {"damaged", [](const Counters& n) { return uint64_t{n.damaged}; }, false, true},
    {"changed", [](const Counters& n) { return n.changed; }, false, true},
};

std::string_view Who(const Connection& c, Side side) { return side == c.client ? "client" : "server"; }

std::string Duration(int64_t ns) { return DurationText(std::max<int64_t>(ns, 0)); }

std::string Frames(const FrameRef& first, const FrameRef& last) {
  return first.number == last.number || last.number == 0 ? fmt::format("frame {}", first.number)
                                                         : fmt::format("frames {} to {}", first.number, last.number);
}

void PutTable(std::string& out, const Connection& c, const Health& health, const Style& style) {
  const bool iwarp = c.info.fabric == FabricKind::kIwarp;
  const std::vector<const TransportColumn*> shown = TransportColumns(c, health);
  Put(out, "    {}{:<13}{:>9}  {:>9}", style.bold, "sent by", iwarp ? "segments" : "packets", "bytes");
  for (const TransportColumn* column : shown) Put(out, "  {}", column->name);
  Put(out, "{}\n", style.reset);
  for (const Side side : {c.client, transport::Other(c.client)}) {
    const Counters& n = health.sent[side];
    Put(out, "    {:<13}{:>9}  {:>9}", Who(c, side), n.packets, SizeText(n.bytes));
    for (const TransportColumn* column : shown) {
      const uint64_t value = column->value(n);
      const std::string_view color = value == 0 ? std::string_view{} : column->bad ? style.red : style.yellow;
      Put(out, "  {}{:>{}}{}", color, value, column->name.size(), color.empty() ? std::string_view{} : style.reset);
    }
    Put(out, "\n");
  }
}

void Label(std::string& out, std::string_view label, const Style& style) {
  Put(out, "    {}{:<13}{}", style.dim, label, style.reset);
}

void PutFigures(std::string& out, const Connection& c, const Health& health, const Style& style) {
  const Counters &client = health.sent[c.client], &server = health.sent[transport::Other(c.client)];
  if (c.info.fabric == FabricKind::kIwarp) {
    Label(out, "largest", style);
    Put(out, "segments of {} by the client, {} by the server\n", SizeText(client.largest), SizeText(server.largest));
  } else {
    Label(out, "path MTU", style);
    Put(out, "{}\n", health.path_mtu == 0 ? "not known" : std::to_string(health.path_mtu));
  }
  Label(out, "in flight", style);
  Put(out, "at most {} of the client, {} of the server\n", SizeText(client.max_in_flight),
      SizeText(server.max_in_flight));
  for (const Side side : {c.client, transport::Other(c.client)}) {
    const Counters& n = health.sent[side];
    if (n.naks() == 0) continue;
    Label(out, side == c.client ? "NAKs, client" : "NAKs, server", style);
    std::string_view separator;
    const auto put = [&](uint64_t count, std::string_view what) {
      if (count == 0) return;
      Put(out, "{}{} {}", separator, count, what);
      separator = ", ";
    };
    put(n.nak_sequence, "sequence error");
    put(n.nak_rnr, "receiver not ready");
    put(n.nak_invalid_request, "invalid request");
    put(n.nak_remote_access, "remote access error");
    put(n.nak_remote_operation, "remote operational error");
    Put(out, "\n");
  }
}

// When, what, and where to look.
std::string Sentence(const Connection& c, const Episode& e) {
  const std::string_view who = Who(c, e.side), peer = Who(c, transport::Other(e.side));
  const std::string again = Count(e.packets, c.info.fabric == FabricKind::kIwarp ? "segment" : "packet");
  const std::string cost = Duration(e.cost_ns()), frames = Frames(e.first, e.last);
  switch (e.kind) {
    case Episode::Kind::kGoBackN:
      return fmt::format(
          "the {} missed a packet and said so in frame {}; the {} went back: {} again from PSN {} on, {}, "
          "{} after the NAK",
          peer, e.cause.number, who, again, e.number, frames, cost);
    case Episode::Kind::kTimeout:
      return fmt::format(
          "the {} sent {} again from PSN {} on, {}, with no NAK before: a time-out, or answers that it "
          "missed; {} since frame {}",
          who, again, e.number, frames, cost, e.cause.number);
    case Episode::Kind::kAfterNak:
      return fmt::format("the {} sent {} again from PSN {} on, {}, after the NAK in frame {}", who, again, e.number,
                         frames, e.cause.number);
    case Episode::Kind::kRnr: {
      const std::string timer = Duration(ib::RnrTimerNs(e.syndrome));
      if (e.last.number == 0)
        return fmt::format(
            "the {} had no receive ready for PSN {} (RNR NAK in frame {}, timer {}); the {} did not "
            "send it again",
            peer, e.number, e.cause.number, timer, who);
      return fmt::format(
          "the {} had no receive ready for PSN {} (RNR NAK in frame {}, timer {}): the {} waited {}, "
          "until frame {}",
          peer, e.number, e.cause.number, timer, who, cost, e.last.number);
    }
    case Episode::Kind::kSegments:
      return fmt::format("the {} sent {} again, {}, up to {} after frame {}", who, again, frames, cost, e.cause.number);
    case Episode::Kind::kZeroWindow:
      if (e.last.number == 0)
        return fmt::format("the {} closed its window in frame {}, and did not open it again", peer, e.cause.number);
      return fmt::format("the {} closed its window in frame {}: the {} waited {}, until frame {}", peer, e.cause.number,
                         who, cost, e.last.number);
  }
  return {};
}

void PutEpisodes(std::string& out, const Connection& c, const Health& health, int64_t origin_ns, size_t most,
                 const Style& style) {
  if (health.episodes.empty()) return;
  std::vector<const Episode*> shown;
  for (const Episode& episode : health.episodes) shown.push_back(&episode);
  if (most != 0 && shown.size() > most) {
    std::ranges::stable_sort(shown, std::greater{}, [](const Episode* e) { return e->cost_ns(); });
    shown.resize(most);
    std::ranges::sort(shown);
  }
  for (const Episode* episode : shown) {
    const FrameRef& when = episode->cause.number != 0 ? episode->cause : episode->first;
    const int64_t since = Elapsed({1, origin_ns}, when).value_or(0);
    Put(out, "    {}{:>5}.{:06}{}  {}\n", style.cyan, since / 1'000'000'000, since % 1'000'000'000 / 1000, style.reset,
        Sentence(c, *episode));
  }
  const uint64_t left = health.episodes.size() - shown.size() + health.episodes_left_out;
  if (left > 0)
    Put(out, "    {}{:>12}  {} left out, which cost less{}{}\n", style.dim, "...", Count(left, "episode"),
        health.episodes_left_out == 0 ? "; --episodes all shows them" : "", style.reset);
}

}  // namespace

std::vector<const TransportColumn*> TransportColumns(const Connection& c, const Health& health) {
  const bool iwarp = c.info.fabric == FabricKind::kIwarp;
  const auto all = iwarp ? std::span<const TransportColumn>(kSegments) : std::span<const TransportColumn>(kPackets);
  std::vector<const TransportColumn*> shown;
  for (const TransportColumn& column : all)
    if (column.always || column.value(health.sent[0]) + column.value(health.sent[1]) > 0) shown.push_back(&column);
  return shown;
}

std::vector<TransportTrouble> TransportTroubles(const Connection& c, const Health& health) {
  using analysis::Blame;
  std::vector<TransportTrouble> out;
  const bool iwarp = c.info.fabric == FabricKind::kIwarp;
  const std::string_view packet = iwarp ? "segment" : "packet";
  // Calls tell(side, counters, who, the other).
  const auto for_each = [&](const auto& tell) {
    for (const Side side : {c.client, transport::Other(c.client)})
      tell(side, health.sent[side], Who(c, side), Who(c, transport::Other(side)));
  };
  // The first of the frames of `side` with a note of one of these kinds.
  const auto first = [&](Side side, std::initializer_list<Kind> kinds) {
    uint64_t frame = 0;
    for (const Kind kind : kinds)
      if (const uint64_t at = health.FirstOf(side, kind); at != 0 && (frame == 0 || at < frame)) frame = at;
    return frame;
  };
  const auto add = [&out](std::string_view kind, std::optional<Blame> blames, std::string text, uint64_t frame,
                          int64_t lost_ns = 0) {
    out.push_back({kind, blames, std::move(text), frame, lost_ns});
  };
  for_each([&](Side side, const Counters& n, std::string_view who, std::string_view peer) {
    if (n.rnr_stall_ns > 0)
      add("rnr", analysis::BlameOf(c, transport::Other(side)),
          fmt::format("the {} waited {} because the {} had no receive ready: it posts too few, or too late.", who,
                      Duration(n.rnr_stall_ns), peer),
          first(side, {Kind::kRnrEnd}), n.rnr_stall_ns);
  });
  for_each([&](Side side, const Counters& n, std::string_view who, std::string_view peer) {
    const uint64_t requests = n.retransmitted - n.after_rnr;
    if (requests + n.repeated_responses == 0) return;
    std::string text = fmt::format("the {} sent {} again", who, Count(requests + n.repeated_responses, packet));
    if (n.repeated_responses > 0)
      text += requests > 0 ? fmt::format(", {} of them Read Responses", n.repeated_responses)
                           : ", all of them Read Responses that were asked for again";
    const uint64_t spurious = std::min(c.spurious[side], requests), needed = requests + n.repeated_responses - spurious;
    if (needed > 0)
      text += fmt::format(": the wire or the adapter of the {} lost some, or their acknowledgments", peer);
    if (spurious > 0)
      text += fmt::format("{} for nothing: the {} had {}", needed > 0 ? "; " + Count(spurious, packet) : std::string(),
                          peer, spurious == 1 ? "it" : "them");
    text += ".";
    int64_t longest = 0, all = 0;
    for (const Episode& e : health.episodes) {
      using enum Episode::Kind;
      if (e.side != side || e.kind == kRnr || e.kind == kZeroWindow) continue;
      all += std::min(e.cost_ns(), INT64_MAX - all);
      if (e.kind == kTimeout || e.kind == kSegments) longest = std::max(longest, e.cost_ns());
    }
    if (longest >= kLongSilence) text += fmt::format(" It waited up to {} before it did.", Duration(longest));
    // A receiver that says so missed a packet; else nothing tells a lost one from a lost acknowledgement.
    const bool missed = needed > 0 && health.sent[transport::Other(side)].nak_sequence > 0;
    add("retransmission", missed ? std::optional(Blame::kNetwork) : std::nullopt, std::move(text),
        first(side, {Kind::kRetransmission, Kind::kRepeatedResponse}), all);
  });
  for_each([&](Side side, const Counters& n, std::string_view who, std::string_view peer) {
    if (n.zero_windows > 0)
      add("zero_window", analysis::BlameOf(c, side),
          fmt::format("the {} closed its TCP window {}: it did not take what the {} sent.", who,
                      Count(n.zero_windows, "time"), peer),
          first(side, {Kind::kZeroWindow}));
    if (n.crc_errors > 0)
      add("damage", std::nullopt,
          fmt::format("{} of the {} arrived with a wrong CRC.", Count(n.crc_errors, "FPDU"), who),
          first(side, {Kind::kCrcError}));
    if (n.damaged > 0)
      add("damage", std::nullopt,
          fmt::format("{} of the {} had a wrong checksum and numbers that fit nothing: the wire damaged {}.",
                      Count(n.damaged, "segment"), who, n.damaged == 1 ? "it" : "them"),
          0);
    if (n.resets > 0 && !c.rejected)
      add("reset", analysis::BlameOf(c, side), fmt::format("the {} reset the TCP connection.", who),
          first(side, {Kind::kReset}));
    if (n.nak_invalid_request + n.nak_remote_access + n.nak_remote_operation > 0)
      add("refused", std::nullopt,
          fmt::format("the {} refused requests of the {}, which ends the connection.", who, peer),
          first(side, {Kind::kNak}));
    if (n.changed > 0)
      add("changed", analysis::BlameOf(c, side),
          fmt::format("{} of the {} came with other bytes than the first copy.", Count(n.changed, "retransmission"),
                      who),
          first(side, {Kind::kRetransmission}));
  });
  for_each([&](Side side, const Counters& n, std::string_view who, std::string_view) {
    if (n.ce + n.fecn > 0)
      add("congestion", Blame::kNetwork,
          fmt::format("{} of the {} passed through congestion.", Count(n.ce + n.fecn, "packet"), who),
          first(side, {Kind::kCongestion}));
    if (n.cnp > 0)
      add("congestion", Blame::kNetwork,
          fmt::format("the {} asked for a lower rate {} (congestion notification packets).", who, Count(n.cnp, "time")),
          first(side, {Kind::kNotification}));
  });
  for_each([&](Side, const Counters& n, std::string_view who, std::string_view peer) {
    if (n.lost_from_capture > 0)
      add("capture_loss", Blame::kCapture,
          fmt::format("{} of the {} reached the {} and {} not in the capture: the capture lost {}, not the wire.",
                      Count(n.lost_from_capture, iwarp ? "byte" : "packet"), who, peer,
                      n.lost_from_capture == 1 ? "is" : "are", n.lost_from_capture == 1 ? "it" : "them"),
          0);
  });
  return out;
}

void PutTransportText(std::string& out, const Connection& c, const Health& health, int64_t origin_ns, size_t episodes,
                      const Style& style) {
  PutConnectionHead(out, c, style);
  PutTable(out, c, health, style);
  PutFigures(out, c, health, style);
  PutEpisodes(out, c, health, origin_ns, episodes, style);
  for (TransportTrouble& trouble : TransportTroubles(c, health)) {
    if (trouble.text[0] >= 'a' && trouble.text[0] <= 'z') trouble.text[0] = static_cast<char>(trouble.text[0] - 32);
    Put(out, "    {}{}{}\n", style.yellow, trouble.text, style.reset);
  }
}

}  // namespace stag::cli
