// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/layout.h"

#include <algorithm>

namespace stag::rpcrdma {

namespace {

using rpcrdma::Header;
using rpcrdma::ReadSegment;

class Layouter {
 public:
  Layouter(const Header& header, uint64_t payload, uint64_t limit, CallLayout& out)
      : header_(header), payload_(payload), limit_(limit), out_(out) {}

  bool Run() {
    const bool nomsg = header_.proc == rpcrdma::kNomsg;
    uint64_t total = nomsg ? 0 : payload_;
    for (const ReadSegment& read : header_.reads) {
      total += read.target.length;
      if (nomsg && read.position == 0) stream_ += read.target.length;
      if (!nomsg && read.position == 0) return Fail("a Position-zero chunk in an RDMA_MSG");
      if (read.position % 4 != 0) return Fail("a Position that is no multiple of four");
    }
    if (total > limit_) return Fail("a Call that is too large");
    if (nomsg && stream_ == 0) return Fail("an RDMA_NOMSG without a Position-zero chunk");
    if (!nomsg) stream_ = payload_;

    uint32_t position = 0;
    while (NextPosition(position)) {
      if (position < out_.length) return Fail("Read chunks that overlap");
      if (!Stream(position - out_.length)) return Fail("a Position behind the end of the payload");
      uint64_t chunk = 0;
      for (uint32_t i = 0; i < header_.reads.size(); ++i) {
        if (header_.reads[i].position != position) continue;
        Add(Extent::From::kSegment, i, 0, header_.reads[i].target.length);
        chunk += header_.reads[i].target.length;
      }
      Add(Extent::From::kZero, 0, 0, RoundUp4(chunk) - chunk);
    }
    Stream(stream_ - taken_);
    return true;
  }

 private:
  bool Fail(std::string_view why) {
    out_.defect = why;
    return false;
  }

  // The smallest Position above `position`.
  bool NextPosition(uint32_t& position) const {
    uint32_t next = 0;
    for (const ReadSegment& read : header_.reads)
      if (read.position > position && (next == 0 || read.position < next)) next = read.position;
    position = next;
    return next != 0;
  }

  void Add(Extent::From from, uint32_t segment, uint64_t offset, uint64_t length) {
    if (length == 0) return;
    out_.extents.push_back({from, segment, offset, out_.length, length});
    out_.length += length;
  }

  // The next `length` bytes of the reduced stream: inline, or of the Position-zero segments.
  bool Stream(uint64_t length) {
    if (length > stream_ - taken_) return false;
    if (header_.proc != rpcrdma::kNomsg) {
      Add(Extent::From::kInline, 0, taken_, length);
      taken_ += length;
      return true;
    }
    uint64_t start = 0;  // of the segment in the stream
    for (uint32_t i = 0; i < header_.reads.size() && length > 0; ++i) {
      if (header_.reads[i].position != 0) continue;
      const uint64_t size = header_.reads[i].target.length;
      if (taken_ < start + size) {
        const uint64_t n = std::min(length, start + size - taken_);
        Add(Extent::From::kSegment, i, taken_ - start, n);
        taken_ += n;
        length -= n;
      }
      start += size;
    }
    return true;
  }

  const Header& header_;
  const uint64_t payload_, limit_;
  CallLayout& out_;
  uint64_t stream_ = 0, taken_ = 0;  // bytes of the reduced stream, and of it that have their place
};

}  // namespace

bool LayOut(const Header& header, uint64_t payload, uint64_t limit, CallLayout& out) {
  out.length = 0;
  out.extents.clear();
  out.defect = {};
  return Layouter(header, payload, limit, out).Run();
}

}  // namespace stag::rpcrdma
