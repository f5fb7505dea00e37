// SPDX-License-Identifier: GPL-2.0-or-later
//
// FrameWriter: the file of a recording. Connections write their frames to it in the order of their events.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/file/writer.h"

namespace stag::record {

class FrameWriter {
 public:
  explicit FrameWriter(std::unique_ptr<capture::FileWriter> writer) : writer_(std::move(writer)) {}

  // Of the frames that follow. Time never goes back.
  void set_time(int64_t time_ns) { time_ns_ = std::max(time_ns_, time_ns); }

  // Of the next frame. A view of what lasts.
  void set_comment(std::string_view comment) { comment_ = comment; }

  // An Ethernet frame, of which the last `cut` bytes are not known. Nothing but a count comes of it while the file
  // can't be written.
  void Put(Bytes frame, size_t cut = 0) { Put(std::span(&frame, 1), cut); }
  // The same of its pieces, one after the other. Large ones are not copied.
  void Put(std::span<const Bytes> pieces, size_t cut = 0) {
    ++frames_;
    size_t size = 0;
    for (const Bytes piece : pieces) size += piece.size();
    pieces_.assign(pieces.begin(), pieces.end());
    for (size_t left = cut; left > 0;) {
      Bytes& last = pieces_.back();
      const size_t n = std::min(left, last.size());
      last = last.first(last.size() - n);
      left -= n;
      if (last.empty()) pieces_.pop_back();
    }
    const auto written =
        writer_->WritePieces({{frames_, time_ns_}, LinkType::kEthernet, {}, static_cast<uint32_t>(size)}, pieces_,
                             std::exchange(comment_, {}));
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
  std::string_view comment_;
  std::vector<Bytes> pieces_;  // scratch
  std::string trouble_;
};

}  // namespace stag::record
