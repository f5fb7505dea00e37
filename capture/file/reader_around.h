// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReaderAround: a Reader that takes its frames from another one, and is in all else as that one, but for what only it
// knows of the frame that it read last: a reader that delivers frames as they come passes on more.
#pragma once

#include <string>

#include "capture/file/reader.h"

namespace stag::capture {

class ReaderAround : public Reader {
 public:
  const FrameMemory& memory() const override { return reader_.memory(); }
  const std::string& error() const override { return reader_.error(); }
  std::string comment() const override { return reader_.comment(); }
  bool has_comments() const override { return reader_.has_comments(); }
  bool is_slice() const override { return reader_.is_slice(); }
  bool Waits(std::chrono::milliseconds patience) override { return reader_.Waits(patience); }
  uint64_t position() const override { return reader_.position(); }
  uint64_t size() const override { return reader_.size(); }

 protected:
  // `reader` must outlive this.
  explicit ReaderAround(Reader& reader) : reader_(reader) {}

  Reader& reader_;
};

}  // namespace stag::capture
