// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any bytes as a capture file. Frames are numbered from 1, no longer than the file could hold when it is not
// compressed, and what was read survives being written and read again.
#include <cstdlib>

#include "capture/file/reader.h"
#include "capture/file/writer.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using stag::capture::Reader;
  const stag::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  auto reader = Reader::Open(stag::capture::MemorySource(file), "input");
  if (!reader) return 0;
  std::vector<std::byte> copy;
  auto encoder = stag::capture::FileEncoder::Start(stag::capture::FileFormat::kPcapng, stag::LinkType::kEthernet, copy);
  Require(encoder.has_value());

  stag::Frame frame;
  uint64_t frames = 0, stored = 0;
  Reader::Next next;
  // Highly compressed input may hold millions of frames: enough is enough.
  while (frames < 10000 && (next = (*reader)->ReadFrame(frame)) == Reader::Next::kFrame) {
    Require(frame.ref.number == ++frames);
    Require(frame.wire_length >= frame.bytes.size());
    Require(copy.size() > (1u << 22) || encoder->Append(frame, {}, copy).has_value() ||
            frame.link == stag::LinkType::kUnsupported || frame.ref.time_ns < 0);
  }

  auto again = Reader::Open(stag::capture::MemorySource(copy), "copy");
  Require(again.has_value());
  while ((next = (*again)->ReadFrame(frame)) == Reader::Next::kFrame) ++stored;
  Require(next == Reader::Next::kEnd && stored <= frames);
  return 0;
}
