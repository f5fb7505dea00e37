// SPDX-License-Identifier: GPL-2.0-or-later
//
// Opening: decompress when needed, then let the first bytes, not the file's name, tell the format.
#include "capture/file/reader.h"

#include <fmt/format.h>

#include <string_view>

#include "capture/file/format_reader.h"

namespace stag::capture {

namespace {

// Formats of others, by their first bytes, and what makes of them something that is read here.
struct Foreign {
  std::string_view magic, name, way;
};
constexpr std::string_view kEditcap = "editcap -F pcapng {} OUT.pcapng";
constexpr Foreign kForeign[] = {
    {{"\xfd\x37zXZ\0", 6}, "compressed with xz", "xz -dc {} | stag ... -"},
    {"BZh", "compressed with bzip2", "bzip2 -dc {} | stag ... -"},
    {"\x04\x22\x4d\x18", "compressed with lz4", "lz4 -dc {} | stag ... -"},
    {"LZIP", "compressed with lzip", "lzip -dc {} | stag ... -"},
    {{"\x5d\0\0", 3}, "compressed with lzma", "xz --format=lzma -dc {} | stag ... -"},
    {"\x1f\x9d", "compressed with compress", "gzip -dc {} | stag ... -"},
    {"PK\x03\x04", "a zip archive", "unzip -p {} | stag ... -"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so {} | stag ... -"},
    {{"snoop\0", 6}, "a capture of snoop", kEditcap},
    {"RTSS", "a capture of Network Monitor 1", kEditcap},
    {"GMBU", "a capture of Network Monitor 2", kEditcap},
    {"TRSNIFF data", "a capture of Sniffer", kEditcap},
    {"XCP", "a capture of NetXRay", kEditcap},
    {"iptrace ", "a capture of AIX iptrace", kEditcap},
};

// Empty: it begins like none of them.
std::string TextOfForeign(Bytes start, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Foreign& foreign : kForeign) {
    if (text.starts_with(foreign.magic))
      return fmt::format("{} is {}, which stag does not read: {}", name, foreign.name,
                         fmt::format(fmt::runtime(foreign.way), name == "standard input" ? "FILE" : name));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& path) {
  auto source = OpenByteSource(path);
  if (!source) return tl::unexpected(source.error());
  return Open(std::move(*source), path == "-" ? "standard input" : path);
}

Result<std::unique_ptr<Reader>> Reader::Open(std::unique_ptr<ByteSource> source, const std::string& name) {
  Result<Window> window = Decompress(Window(std::move(source)));
  if (!window) return tl::unexpected(window.error());
  const Bytes start = window->Peek(8);
  if (IsPcap(start)) return OpenPcap(std::move(*window), name);
  if (IsPcapng(start)) return OpenPcapng(std::move(*window), name);
  if (!window->error().empty()) return Fail(fmt::format("{}: {}", name, window->error()));
  if (start.empty()) return Fail(fmt::format("{} is empty: there is no capture in it", name));
  const Bytes more = window->Peek(kErfProbe);
  if (const std::string text = TextOfForeign(more, name); !text.empty()) return Fail(text);
  if (IsErf(more)) return OpenErf(std::move(*window));
  return Fail(
      fmt::format("{} is not a pcap, pcapng or ERF capture (nor one compressed with gzip or zstd); editcap -F pcapng "
                  "{} OUT.pcapng converts what Wireshark can read",
                  name, name == "standard input" ? "FILE" : name));
}

bool Reader::GoesBack(size_t frames, uint64_t bytes) {
  Frame frame;
  int64_t last = -kFarthestTime;
  for (; frames > 0 && position() < bytes && ReadFrame(frame) == Next::kFrame; --frames) {
    if (StepsBack(last, frame.ref.time_ns)) return true;
    last = frame.ref.time_ns;
  }
  return false;
}

bool FormatReader::Waits(std::chrono::milliseconds patience) {
  if (lasting() != nullptr) return false;
  while (!finished_ && EndsBehind(window_.AtHand())) {
    const size_t ahead = window_.AtHand().size();
    if (ahead == Window::kMaxPeek) return false;
    if (window_.Waits(patience)) return true;
    if (window_.Peek(ahead + 1).size() == ahead) return false;
  }
  return false;
}

std::string FormatReader::Where(uint64_t offset) const {
  return fmt::format("frame {} at byte {}", frames_ + 1, offset);
}

Reader::Next FormatReader::Damaged(const std::string& message) {
  return Finish(window_.error().empty() ? message : fmt::format("{} ({})", message, window_.error()));
}

Reader::Next FormatReader::CutOff(uint64_t offset) {
  if (!window_.error().empty()) return Finish(fmt::format("{}, in {}", window_.error(), Where(offset)));
  return Finish(fmt::format("file is cut off in {}", Where(window_.known_end())));
}

Reader::Next FormatReader::AtEnd() {
  return Finish(window_.error().empty() ? "" : fmt::format("{}, before {}", window_.error(), Where(window_.offset())));
}

Reader::Next FormatReader::Finish(std::string error) {
  error_ = std::move(error);
  finished_ = true;
  return verdict();
}

}  // namespace stag::capture
