// SPDX-License-Identifier: GPL-2.0-or-later
//
// pcap (draft-ietf-opsawg-pcap): a 24-byte file header, then records of a 16-byte header and the frame. Also with
// nanosecond times and in the "modified" form of old Linux systems, whose record headers have 8 bytes more.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "capture/file/format_reader.h"
#include "capture/file/link_types.h"

namespace stag::capture {
namespace {

constexpr size_t kFileHeader = 24;
constexpr size_t kRecordHeader = 16;
constexpr size_t kModifiedRecordHeader = 24;

struct Variant {
  uint32_t magic;
  int64_t fraction_ns;  // what one unit of the sub-second field is
  size_t record_header;
};
constexpr Variant kVariants[] = {
    {0xa1b2c3d4, 1000, kRecordHeader},
    {0xa1b23c4d, 1, kRecordHeader},
    {0xa1b2cd34, 1000, kModifiedRecordHeader},
};

const Variant* FindVariant(uint32_t magic) {
  const auto* found = std::ranges::find(kVariants, magic, &Variant::magic);
  return found == std::end(kVariants) ? nullptr : found;
}

class PcapReader final : public FormatReader {
 public:
  PcapReader(Window window, FileOrder order, const Variant& variant, Bytes file_header)
      : FormatReader(std::move(window)),
        order_(order),
        variant_(variant),
        link_(LinkTypeFromFile(order.Load32(file_header.data() + 20))),
        minor_(order.Load16(file_header.data() + 6)) {
    window_.Consume(kFileHeader);
  }

  Next ReadFrame(Frame& frame) override {
    if (finished()) return verdict();
    const uint64_t start = window_.offset();
    const Bytes header = window_.Peek(variant_.record_header);
    if (header.size() < variant_.record_header) return header.empty() ? AtEnd() : CutOff(start);
    const auto seconds = int64_t{order_.Load32(header.data())};
    const auto fraction = int64_t{order_.Load32(header.data() + 4)};
    uint32_t captured = order_.Load32(header.data() + 8);
    uint32_t on_wire = order_.Load32(header.data() + 12);
    // Before version 2.3 the two lengths were the other way round, and in 2.3 they may be either.
    if (minor_ < 3 || (minor_ == 3 && captured > on_wire)) std::swap(captured, on_wire);
    if (captured > kMaxFrame)
      return Damaged(fmt::format("{} claims {} captured bytes: the file is damaged there", Where(start), captured));
    // What is gone from under the window reads as zeros.
    if (captured == 0 && on_wire == 0 && !window_.error().empty()) return CutOff(start);
    const Bytes record = window_.Peek(variant_.record_header + captured);
    if (record.size() < variant_.record_header + captured) return CutOff(start);
    window_.Consume(record.size());
    frame.ref.number = ++frames_;
    frame.ref.time_ns = seconds * 1'000'000'000 + fraction * variant_.fraction_ns;
    frame.link = link_;
    frame.bytes = record.subspan(variant_.record_header);
    frame.wire_length = std::max(on_wire, captured);
    return Next::kFrame;
  }

 private:
  FileOrder order_;
  const Variant& variant_;
  LinkType link_;
  uint16_t minor_;
};

}  // namespace

bool IsPcap(Bytes start) {
  if (start.size() < 4) return false;
  const uint32_t magic = LoadBe32(start.data());
  return FindVariant(magic) != nullptr || FindVariant(__builtin_bswap32(magic)) != nullptr;
}

Result<std::unique_ptr<Reader>> OpenPcap(Window window, const std::string& name) {
  const Bytes header = window.Peek(kFileHeader);
  if (header.size() < kFileHeader)
    return Fail(window.error().empty() ? fmt::format("{} is cut off in its file header", name)
                                       : fmt::format("{}: {}", name, window.error()));
  const uint32_t magic = LoadBe32(header.data());
  const bool big_endian = FindVariant(magic) != nullptr;
  const FileOrder order(big_endian);
  const Variant& variant = *FindVariant(big_endian ? magic : __builtin_bswap32(magic));
  const uint16_t major = order.Load16(header.data() + 4);
  if (major != 2) return Fail(fmt::format("{} is pcap version {}: only version 2 is known", name, major));
  // The header's bytes are in the window's buffer, which moves along with it.
  return std::make_unique<PcapReader>(std::move(window), order, variant, header);
}

}  // namespace stag::capture
