// SPDX-License-Identifier: GPL-2.0-or-later
//
// What many tests need: captures as frames that own their bytes, the pipeline from frames to observers in one call, and
// the damage that networks and disks do to captures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "protocol/base/frame.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::test {

struct OwnedFrame {
  FrameRef ref;
  LinkType link = LinkType::kUnsupported;
  std::vector<std::byte> bytes;
  uint32_t wire_length = 0;

  // A view, valid as long as this frame is not changed.
  Frame view() const { return {ref, link, bytes, wire_length}; }
};

// Tests that damage a capture at each of many places do so at every kStride-th with sanitizers, which take five times
// as long.
#ifdef STAG_SANITIZED
inline constexpr size_t kStride = 5;
#else
inline constexpr size_t kStride = 1;
#endif

// All frames of a capture file that can be read. A file that cannot be opened, or is damaged, ends the test program
// with a message: tests of damaged files use capture::Reader itself.
std::vector<OwnedFrame> LoadFrames(const std::string& path);

struct RunStats {
  fabric::DecoderStats decoder;
  session::SessionStats session;
};

// Decoder -> Session -> observers, to the end of the capture.
RunStats Run(std::span<const OwnedFrame> frames, const fabric::DecoderOptions& decoder_options,
             const session::SessionOptions& session_options, const std::vector<session::Observer*>& observers);

// Decoder -> sink, to the end of the capture.
fabric::DecoderStats Decode(std::span<const OwnedFrame> frames, const fabric::DecoderOptions& options,
                            fabric::Sink& sink);

// Copies of `frames` with one thing wrong, numbered from 1 again as a capture tool would have. `i` is an index.
std::vector<OwnedFrame> Without(std::span<const OwnedFrame> frames, size_t i);
std::vector<OwnedFrame> Duplicated(std::span<const OwnedFrame> frames, size_t i);       // the copy comes right after
std::vector<OwnedFrame> SwappedWithNext(std::span<const OwnedFrame> frames, size_t i);  // times stay in order
// Every frame cut to at most `snap_length` captured bytes.
std::vector<OwnedFrame> Snapped(std::span<const OwnedFrame> frames, size_t snap_length);

// A file's bytes, whole; ends the test program when it cannot be read. For truncation: cut the vector.
std::vector<std::byte> LoadBytes(const std::string& path);

}  // namespace stag::test
