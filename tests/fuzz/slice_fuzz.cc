// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slices of what two peers do (story.h). Input: a byte that picks the fabric, how much memory there is (from 4 KiB,
// where each table is full after a few packets), what is selected, then the peers' actions. What comes out are frames
// of the capture, in their order, with their times and bytes (but for payload, with --snap headers), each with its
// number; all frames that were asked for by number are there.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/slice/slice_writer.h"
#include "tests/fuzz/story.h"

namespace {

using namespace stag;
using namespace stag::test;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A file in memory, by a name that can be opened.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("slice", MFD_CLOEXEC)) { Require(descriptor_ >= 0); }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void Fill(Bytes bytes) {
    Require(::ftruncate(descriptor_, 0) == 0 && ::lseek(descriptor_, 0, SEEK_SET) == 0);
    Require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  const int descriptor_;
};

struct NumberedFrame {
  OwnedFrame frame;
  uint64_t number = 0;  // as its comment says
};

std::vector<NumberedFrame> Numbered(const std::string& file) {
  auto reader = capture::Reader::Open(file);
  Require(reader.has_value());
  std::vector<NumberedFrame> frames;
  Frame frame;
  capture::Reader::Next next;
  while ((next = (*reader)->ReadFrame(frame)) == capture::Reader::Next::kFrame) {
    const std::string comment = (*reader)->comment();
    Require(comment.starts_with("frame "));
    frames.push_back({{frame.ref, frame.link, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_length},
                      std::strtoull(comment.c_str() + 6, nullptr, 10)});
  }
  Require(next == capture::Reader::Next::kEnd);
  return frames;
}

cli::Selection Select(uint8_t what, uint8_t number) {
  cli::Selection selection;
  if (what & 1) selection.connections.push_back({1, 1});
  if (what & 2) selection.xids.push_back(number & 15u);
  if (what & 4) selection.frames.push_back({number % 40u + 1, number % 40u + 1u + (number >> 4)});
  if (what & 8) selection.slowest = (number & 3u) + 1;
  if (what & 16) selection.around = number % 40u + 1;
  if (what & 32) selection.procedures.push_back("read");
  if ((what & 128) && !(what & 56)) selection.findings.push_back(*cli::ParseWantedRule("CRED-001"));
  return selection;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cursor in(std::as_bytes(std::span(data, size)));
  const bool iwarp = (in.U8() & 1) != 0;
  const uint8_t memory = in.U8(), what = in.U8(), number = in.U8();
  Story story(iwarp ? evidence::Fabric::kIwarp : evidence::Fabric::kRoce, in);
  const Buffer capture = story.Tell();
  const std::vector<OwnedFrame> whole = Load(capture);

  static MemoryFile from, to;
  from.Fill(capture);
  to.Fill({});
  cli::CommonOptions options;
  options.memory = uint64_t{1} << (12 + memory % 14);
  options.quiet = true;
  cli::Diagnostics silent([](std::string_view) {});
  cli::Output output(
      options, [](std::string_view) {}, silent);
  auto input = cli::SliceInput::Open(from.name());
  Require(input.has_value());
  const cli::Selection selection = Select(what, number);
  const bool cut = (what & 64) != 0;
  cli::Sliced sliced = cli::SliceCapture(*input, selection, cut, options, output);
  Require(sliced.opened && !sliced.damaged);
  if (!sliced.nothing.empty()) return 0;
  std::vector<cli::SliceSource> sources;
  sources.push_back({std::move(*input), std::move(sliced)});
  Require(cli::WriteSlice(sources, {.path = to.name()}, silent).has_value());
  if (sources[0].written == 0) return 0;

  const std::vector<NumberedFrame> slice = Numbered(to.name());
  Require(slice.size() == sources[0].written);
  uint64_t before = 0;
  for (const NumberedFrame& one : slice) {
    Require(one.number > before && one.number <= whole.size());
    before = one.number;
    const OwnedFrame& original = whole[one.number - 1];
    Require(one.frame.ref.time_ns == original.ref.time_ns && one.frame.wire_length == original.wire_length);
    Require(one.frame.bytes.size() <= original.bytes.size() &&
            (cut || one.frame.bytes.size() == original.bytes.size()));
    Require(std::equal(one.frame.bytes.begin(), one.frame.bytes.end(), original.bytes.begin()));
  }
  if (!selection.frames_alone() || !selection.connections.empty()) return 0;
  const analysis::NumberRange& range = selection.frames[0];
  for (uint64_t wanted = range.first; wanted <= std::min<uint64_t>(range.last, whole.size()); ++wanted)
    Require(std::ranges::any_of(slice, [&](const NumberedFrame& one) { return one.number == wanted; }));
  return 0;
}
