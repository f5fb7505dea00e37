// SPDX-License-Identifier: GPL-2.0-or-later
//
// FrameWriter: the file of a recording. Connections write their frames to it in the order of their events.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "capture/file/writer.h"

namespace stag::record {

class FrameWriter {
 public:
  explicit FrameWriter(std::unique_ptr<capture::FileWriter> writer) : writer_(std::move(writer)) {}

  // Of the frames that follow. Time never goes back.
  void set_time(int64_t time_ns) { time_ns_ = std::max(time_ns_, time_ns); }

  // An Ethernet frame, of which the last `cut` bytes are not known. Nothing but a count comes of it once writing
  // failed.
  void Put(Bytes frame, size_t cut = 0) {
    ++frames_;
    const auto written = writer_->Write({{frames_, time_ns_},
                                         LinkType::kEthernet,
                                         frame.first(frame.size() - cut),
                                         static_cast<uint32_t>(frame.size())});
    if (!written && trouble_.empty()) trouble_ = written.error().message;
  }
  // Part of an event has no form as frames.
  void Leave() { ++left_out_; }

  void Close() {
    const auto closed = writer_->Close();
    if (!closed && trouble_.empty()) trouble_ = closed.error().message;
  }
  uint64_t frames() const { return frames_ - writer_->lost(); }
  uint64_t lost() const { return writer_->lost(); }
  uint64_t left_out() const { return left_out_; }
  const std::string& trouble() const { return trouble_; }

 private:
  std::unique_ptr<capture::FileWriter> writer_;
  int64_t time_ns_ = 0;
  uint64_t frames_ = 0, left_out_ = 0;
  std::string trouble_;
};

}  // namespace stag::record
