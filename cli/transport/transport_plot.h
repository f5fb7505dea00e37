// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransportPlot: the PSNs (TCP: bytes) of one side of a connection over time, as far as a picture can show them: per
// stretch of time (bin) what was sent and acknowledged first, and marks for what went wrong. There are always few bins
// and marks, and as few as the Budget has room for. TransportPlotter keeps the plots of the first connections;
// WriteTransportSvg draws them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/base/svg.h"
#include "cli/base/time_bins.h"
#include "protocol/base/budget.h"
#include "session/rpcrdma/connection.h"
#include "session/transport/transport.h"

namespace stag::cli {

class TransportPlot {
 public:
  static constexpr size_t kBins = 1024, kMostMarks = 1500;

  struct Bin {
    uint64_t begin = UINT64_MAX, end = 0;  // of what is new
    uint64_t acknowledged = 0;             // the highest
    void Append(const Bin& later);
  };
  struct Mark {
    transport::Note note;
    uint64_t position = 0;
  };

  explicit TransportPlot(Budget& budget) : bins_(budget), charge_(budget) {}

  // A note about this side's requests, or about their answers.
  void Add(const transport::Note& note);

  bool empty() const { return bins_.bins().empty(); }
  int64_t start_ns() const { return bins_.start_ns(); }
  int64_t end_ns() const { return bins_.end_ns(); }
  uint64_t bin_ns() const { return bins_.width_ns(); }  // width of a bin
  const std::vector<Bin>& bins() const { return bins_.bins(); }
  const std::vector<Mark>& marks() const { return marks_; }
  uint64_t marks_left_out() const { return marks_left_out_; }
  uint64_t first() const { return first_; }  // the lowest position
  uint64_t last() const { return last_; }    // one past the highest

  // Filled in by the owner of the plot. Plots of one connection are drawn over the same time.
  fabric::ConnectionId connection = 0;
  std::string title, ends, figures;
  bool bytes = false;  // positions are bytes, not PSNs

 private:
  bool HasRoomForMark();

  TimeBins<Bin, kBins> bins_;
  Charge charge_;  // of the marks
  std::vector<Mark> marks_;
  uint64_t marks_left_out_ = 0;
  uint64_t first_ = UINT64_MAX, last_ = 0;
};

// Times are shown from `origin_ns` on (the first frame of the capture). `name`: of the capture.
void WriteTransportSvg(std::string& out, const std::vector<const TransportPlot*>& plots, int64_t origin_ns,
                       const std::string& name, const SvgPlace& place = {});
extern const SvgStyle kTransportStyle;

class TransportPlotter final : public transport::NoteSink {
 public:
  static constexpr size_t kMost = 20;  // connections

  // `only`: the number of a connection; 0: the first ones. `memory`: bytes that plots may take.
  TransportPlotter(fabric::ConnectionId only, uint64_t memory) : budget_(memory), only_(only) {}

  void OnNote(const fabric::ConnectionInfo& info, const transport::Note& note) override;
  // The connection is to be drawn.
  void Draw(const session::Connection& connection, const transport::Health& health);
  bool empty() const { return drawn_.empty(); }
  uint64_t connections() const { return connections_; }  // that are drawn
  // Connections that were to be drawn, and that there was no room for.
  uint64_t left_out() const { return left_out_; }
  // Writes the picture; false, with a complaint, when the file cannot be written. `origin_ns`: time 0. `capture`: its
  // name.
  bool Write(const std::string& file, int64_t origin_ns, const std::string& capture) const;
  // The same picture, in a page.
  void Put(std::string& out, int64_t origin_ns, const std::string& capture, const SvgPlace& place) const {
    WriteTransportSvg(out, drawn_, origin_ns, capture, place);
  }

 private:
  using Key = std::pair<fabric::ConnectionId, fabric::Side>;
  struct Kept {
    explicit Kept(Charge&& held, Budget& budget) : charge(std::move(held)), plot(budget) {}
    Charge charge;
    TransportPlot plot;
  };
  static constexpr size_t kMostKept = 64;   // some may turn out not to be RPC-over-RDMA
  static constexpr uint64_t kBeside = 512;  // bytes: of the map, and the texts of a plot

  Budget budget_;
  std::map<Key, Kept> plots_;
  fabric::ConnectionId only_;
  std::vector<const TransportPlot*> drawn_;
  uint64_t connections_ = 0, left_out_ = 0;
};

}  // namespace stag::cli
