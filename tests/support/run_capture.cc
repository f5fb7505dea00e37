// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/run_capture.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "capture/file/reader.h"

namespace stag::test {
namespace {

[[noreturn]] void Give(const std::string& path, const std::string& why) {
  std::fprintf(stderr, "cannot load %s: %s\n", path.c_str(), why.c_str());
  std::exit(EXIT_FAILURE);
}

std::vector<OwnedFrame> Copy(std::span<const OwnedFrame> frames) { return {frames.begin(), frames.end()}; }

std::vector<OwnedFrame> Renumbered(std::vector<OwnedFrame> frames) {
  for (size_t i = 0; i < frames.size(); ++i) frames[i].ref.number = i + 1;
  return frames;
}

}  // namespace

std::vector<OwnedFrame> LoadFrames(const std::string& path) {
  auto reader = capture::Reader::Open(path);
  if (!reader) Give(path, reader.error().message);
  std::vector<OwnedFrame> frames;
  Frame frame;
  capture::Reader::Next next;
  while ((next = (*reader)->ReadFrame(frame)) == capture::Reader::Next::kFrame)
    frames.push_back({frame.ref, frame.link, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_length});
  if (next == capture::Reader::Next::kDamaged) Give(path, (*reader)->error());
  return frames;
}

RunStats Run(std::span<const OwnedFrame> frames, const fabric::DecoderOptions& decoder_options,
             const session::SessionOptions& session_options, const std::vector<session::Observer*>& observers) {
  session::Session session(session_options, observers);
  RunStats stats;
  stats.decoder = Decode(frames, decoder_options, session);
  session.Finish();
  stats.session = session.stats();
  return stats;
}

fabric::DecoderStats Decode(std::span<const OwnedFrame> frames, const fabric::DecoderOptions& options,
                            fabric::Sink& sink) {
  fabric::Decoder decoder(options, sink);
  for (const OwnedFrame& frame : frames) decoder.OnFrame(frame.view());
  decoder.Finish();
  return decoder.stats();
}

std::vector<OwnedFrame> Without(std::span<const OwnedFrame> frames, size_t i) {
  auto changed = Copy(frames);
  changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
  return Renumbered(std::move(changed));
}

std::vector<OwnedFrame> Duplicated(std::span<const OwnedFrame> frames, size_t i) {
  auto changed = Copy(frames);
  changed.insert(changed.begin() + static_cast<ptrdiff_t>(i) + 1, frames[i]);
  return Renumbered(std::move(changed));
}

std::vector<OwnedFrame> SwappedWithNext(std::span<const OwnedFrame> frames, size_t i) {
  auto changed = Copy(frames);
  std::swap(changed[i], changed[i + 1]);
  std::swap(changed[i].ref, changed[i + 1].ref);
  return Renumbered(std::move(changed));
}

std::vector<OwnedFrame> Snapped(std::span<const OwnedFrame> frames, size_t snap_length) {
  auto changed = Copy(frames);
  for (OwnedFrame& frame : changed)
    if (frame.bytes.size() > snap_length) frame.bytes.resize(snap_length);
  return changed;
}

std::vector<std::byte> LoadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Give(path, "cannot open it");
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

}  // namespace stag::test
