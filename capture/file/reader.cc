// SPDX-License-Identifier: GPL-2.0-or-later
//
// Opening: decompress when needed, then let the first bytes, not the file's name, tell the format.
#include "capture/file/reader.h"

#include <fmt/format.h>

#include "capture/file/format_reader.h"

namespace stag::capture {

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
  return Fail(fmt::format("{} is not a pcap or pcapng capture (nor one compressed with gzip or zstd)", name));
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
