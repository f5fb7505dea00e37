// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/transport/transport_plot.h"

#include <algorithm>

#include "cli/base/svg.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {

namespace {

using fabric::Side;
using transport::Note;
using Kind = transport::Note::Kind;

// Notes of the side that answers, which are about the requests of the other.
bool IsAnswer(Kind kind) {
  return kind == Kind::kResponse || kind == Kind::kRepeatedResponse || kind == Kind::kAcknowledgment ||
         kind == Kind::kNak || kind == Kind::kNotification || kind == Kind::kZeroWindow;
}

}  // namespace

void TransportPlot::Bin::Append(const Bin& later) {
  begin = std::min(begin, later.begin);
  end = std::max(end, later.end);
  acknowledged = std::max(acknowledged, later.acknowledged);
}

void TransportPlot::Add(const Note& note) {
  const auto mark = [&] {
    const uint64_t position = note.end != 0 ? note.begin : std::max(last_, uint64_t{1}) - 1;
    if (HasRoomForMark()) {
      marks_.push_back({note, position});
    } else {
      ++marks_left_out_;
    }
  };
  Bin& bin = bins_.At(note.frame.time_ns);
  switch (note.kind) {
    case Kind::kOutOfOrder: mark(); [[fallthrough]];
    case Kind::kNew:
      bin.begin = std::min(bin.begin, note.begin);
      bin.end = std::max(bin.end, note.end);
      first_ = std::min(first_, note.begin);
      last_ = std::max(last_, note.end);
      return;
    case Kind::kResponse: bin.acknowledged = std::max(bin.acknowledged, note.end); return;
    case Kind::kAcknowledgment: bin.acknowledged = std::max(bin.acknowledged, note.begin); return;
    default: mark();
  }
}

bool TransportPlot::HasRoomForMark() {
  if (marks_.size() < marks_.capacity()) return true;
  const size_t room = std::min(kMostMarks, std::max<size_t>(2 * marks_.capacity(), 4));
  if (marks_.size() == room || !charge_.TrySet(room * sizeof(Mark))) return false;
  marks_.reserve(room);
  return true;
}

void TransportPlotter::OnNote(const fabric::ConnectionInfo& info, const Note& note) {
  if (only_ != 0 && info.id != only_) return;
  const Side requester = IsAnswer(note.kind) ? transport::Other(note.from) : note.from;
  auto plot = plots_.find({info.id, requester});
  if (plot == plots_.end()) {
    Charge charge(budget_);
    if (plots_.size() >= 2 * kMostKept || !charge.TrySet(sizeof(Kept) + kBeside)) return;
    plot = plots_.try_emplace({info.id, requester}, std::move(charge), budget_).first;
  }
  plot->second.plot.Add(note);
}

void TransportPlotter::Draw(const session::Connection& c, const transport::Health& health) {
  const bool kept = plots_.contains({c.info.id, 0}) || plots_.contains({c.info.id, 1});
  if (connections_ == kMost || !kept) {
    left_out_ += health.sent[0].packets + health.sent[1].packets > 0 ? 1 : 0;
    return;
  }
  ++connections_;
  for (const Side side : {c.client, transport::Other(c.client)}) {
    const auto found = plots_.find({c.info.id, side});
    if (found == plots_.end() || found->second.plot.first() > found->second.plot.last()) continue;
    TransportPlot& plot = found->second.plot;
    const transport::Counters& n = health.sent[side];
    const bool iwarp = c.info.fabric == fabric::FabricKind::kIwarp;
    plot.connection = c.info.id;
    plot.bytes = iwarp;
    plot.title = fmt::format("Connection {}, {} of the {}", c.info.id, iwarp ? "TCP bytes" : "PSNs",
                             side == c.client ? "client" : "server");
    plot.ends = fmt::format("{} {} \u2192 {}", fabric::FabricName(c.info.fabric),
                            fabric::EndpointText(c.info.endpoint[side], c.info.fabric),
                            fabric::EndpointText(c.info.endpoint[1 - side], c.info.fabric));
    plot.figures = fmt::format("{}, {} sent again", Count(n.packets, iwarp ? "segment" : "packet"), n.retransmitted);
    const uint64_t naks = health.sent[1 - side].naks();
    if (naks > 0) plot.figures += fmt::format(", {} by the other side", Count(naks, "NAK"));
    if (plot.marks_left_out() > 0)
      plot.figures += fmt::format("; the last {} left out", Count(plot.marks_left_out(), "mark"));
    drawn_.push_back(&plot);
  }
}

bool TransportPlotter::Write(const std::string& file, int64_t origin_ns, const std::string& capture) const {
  std::string out;
  WriteTransportSvg(out, drawn_, origin_ns, capture);
  return WriteSvgFile(file, out);
}

}  // namespace stag::cli
