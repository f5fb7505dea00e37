// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditPlot: the course of the credits of one connection and direction, as far as a picture of it can show: per
// stretch of time (bin) the least, greatest and last of each number, and what happened. There are always few bins: when
// time goes past the last one, or there is no room for more, neighbours are merged. WriteSvg draws several plots into
// one file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/output.h"
#include "cli/base/svg.h"
#include "cli/base/time_bins.h"
#include "protocol/base/budget.h"
#include "session/rpcrdma/credit_history.h"

namespace stag::cli {

class CreditPlot {
 public:
  static constexpr size_t kBins = 1024;

  // How one number went in a bin.
  struct Course {
    bool any = false;      // it was known in the bin: the others are valid
    bool unknown = false;  // at the end of the bin it is not known
    uint32_t min = 0, max = 0, first = 0, last = 0;
    void Add(std::optional<uint32_t> value);
    void Append(const Course& later);
  };
  // Events of one kind in a bin.
  struct Marks {
    uint32_t count = 0;
    uint64_t frame = 0;  // of the first
    int64_t time_ns = 0;
    void Add(const FrameRef& at);
    void Append(const Marks& later);
  };
  struct Bin {
    Course requested, granted, outstanding;
    Marks overruns, rnr_naks, zero_grants, gaps, lost;
    void Append(const Bin& later);
  };

  explicit CreditPlot(Budget& budget) : bins_(budget) {}
  void Add(const session::CreditChange& change);

  // Which direction of which connection, its ends, and figures; filled in by the owner of the plot. Plots of one
  // connection are drawn over the same time.
  fabric::ConnectionId connection = 0;
  std::string title, ends, figures;

  bool empty() const { return bins_.bins().empty(); }
  int64_t start_ns() const { return bins_.start_ns(); }
  int64_t end_ns() const { return bins_.end_ns(); }              // of the last change
  uint64_t bin_ns() const { return bins_.width_ns(); }           // width of a bin
  const std::vector<Bin>& bins() const { return bins_.bins(); }  // from start_ns() on

 private:
  TimeBins<Bin, kBins> bins_;
};

// Times are shown from `origin_ns` on (the first frame of the capture). `name`: of the capture.
void WriteSvg(std::string& out, const std::vector<const CreditPlot*>& plots, int64_t origin_ns, const std::string& name,
              const SvgPlace& place = {});
extern const SvgStyle kCreditsStyle;

}  // namespace stag::cli
