// SPDX-License-Identifier: GPL-2.0-or-later
//
// ScrubbedFrames: where scrubbed frames go. They are appended with their payload zeroed, and what is known of it later
// is put into its place. ScrubbedFile keeps all of them, in a file; ScrubbedWindow the last ones, in memory.
#pragma once

#include <optional>
#include <vector>

#include "analysis/scrub/frame_headers.h"
#include "protocol/base/result.h"

namespace stag::scrub {

// A stretch of the payload of a frame.
struct Place {
  uint64_t frame = 0;
  uint64_t offset = 0;  // in the payload
  uint64_t length = 0;
};

class ScrubbedFrames {
 public:
  virtual ~ScrubbedFrames() = default;

  // Appends a frame that was scrubbed but for its payload, which is zero; `states`: of its checksums (checksums.h).
  // Frames count from 1 over all captures.
  virtual Result<void> Append(const Frame& frame, const FramePayload& payload, uint32_t states) = 0;
  // Appends what is numbered as a frame and is none: with nothing in it.
  virtual Result<void> AppendEmpty(const FrameRef& ref) = 0;
  virtual uint64_t frames() const = 0;

  // Bytes of the payload of a frame; those that the capture does not have are left out.
  virtual void Write(const Place& place, Bytes bytes) = 0;
  // The same stretch of two frames is the same bytes: `to` gets at the end what `from` has then. Both are in order.
  virtual void CopyLater(const Place& from, const Place& to) = 0;
  // `place` repeats other bytes with a change: a byte of it becomes another at the end, when all is copied. `fpdu`: it
  // is one, whole, whose CRC stays right.
  virtual void ChangeLater(const Place& place, bool fpdu) = 0;
  // An FPDU stands in these places, one after the other, whole; its CRC field becomes, at the end, the right one or a
  // wrong one.
  virtual void SealLater(const std::vector<Place>& fpdu, bool right) = 0;
  // Of an RDMA packet; nullopt: there is no such frame, or none any more.
  virtual std::optional<uint32_t> Psn(uint64_t frame) = 0;
};

// Takes the first `length` bytes away.
void SkipPlaces(std::vector<Place>& places, uint64_t length);

// Writes `bytes` to `places`, one after the other.
void WritePlaces(ScrubbedFrames& frames, const std::vector<Place>& places, Bytes bytes);

// Sets the CRC of the FPDU that stands in `parts`, one after the other, whole.
void StoreFpduCrc(const std::vector<MutableBytes>& parts, bool right);

// Changes a byte of what repeats other bytes; of an FPDU, whose CRC is set again unless it is zero, one before it.
void ChangeRepeat(MutableBytes bytes, bool fpdu);

}  // namespace stag::scrub
