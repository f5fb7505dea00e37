// SPDX-License-Identifier: GPL-2.0-or-later
//
// ErspanReader: frames of another Reader, with the times that ERSPAN type III gives them (draft-foschiano-erspan-03):
// when the switch saw the frame, not when its mirror arrived. Such a time counts from where the switch wants, in units
// that the header names, and goes round (32 bits of 100 ns: every 429 s). So the first frame of each switch keeps its
// time of the capture, and the others are as far from it as the switch says; how often the count went round in between
// is what brings them nearest to the time of the capture. Frames without a time that can be used keep that of the
// capture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capture/file/reader_around.h"
#include "protocol/link/packet.h"

namespace stag::capture {

class ErspanReader final : public ReaderAround {
 public:
  // `reader` must outlive this.
  explicit ErspanReader(Reader& reader, const link::TunnelPorts& ports = link::kTunnelPorts)
      : ReaderAround(reader), ports_(ports) {}

  Next ReadFrame(Frame& frame) override;
  const Lasting* lasting() const override { return reader_.lasting(); }

  // Frames whose time is ERSPAN's.
  uint64_t stamped() const { return stamped_; }

 private:
  // What a header says.
  struct Stamp {
    uint64_t count = 0;
    int64_t unit_ns = 1;
    bool goes_round = false;  // after 32 bits
  };
  // The clock of a switch that sends its mirror from `source`.
  struct Clock {
    Address source;
    Stamp first;
    int64_t began_ns = 0;  // time of the capture of the first frame
  };
  static constexpr size_t kMostClocks = 64;

  static std::optional<Stamp> StampOf(Bytes header);
  Clock* ClockOf(const Address& source, const Stamp& stamp, int64_t time_ns);

  const link::TunnelPorts ports_;
  link::Packet packet_;
  std::vector<link::Header> headers_;
  std::vector<Clock> clocks_;
  uint64_t stamped_ = 0;
};

}  // namespace stag::capture
