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
        fraction_ns_(variant.fraction_ns),
        record_header_(variant.record_header),
        link_(LinkTypeFromFile(order.Load32(file_header.data() + 20))),
        minor_(order.Load16(file_header.data() + 6)) {
    const uint32_t raw = order.Load32(file_header.data() + 20);
    interface_.link_type = static_cast<uint16_t>(raw);
    interface_.snap_length = order.Load32(file_header.data() + 16);
    constexpr std::byte kNanoseconds[] = {std::byte{9}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{9}};
    interface_.options.assign(std::begin(kNanoseconds), std::end(kNanoseconds));
    interface_.options.resize(8);
    origin_.interface = &interface_;
    origin_.key = 1;
    described_ = LinkTypeToFile(link_) != interface_.link_type;
    window_.Consume(kFileHeader);
  }

  void Listen(BlockListener&) override { listened_ = true; }
  // Null where the link type alone tells it.
  const FrameOrigin* origin() const override { return listened_ && described_ ? &origin_ : nullptr; }

  Next ReadFrame(Frame& frame) override {
    const Bytes ahead = window_.AtHand();
    if (finished() || ahead.size() < record_header_) return ReadOn(frame);
    const Record record = RecordAt(ahead.data());
    if (record.captured == 0 || record.captured > kMaxFrame || record.captured > ahead.size() - record_header_)
      return ReadOn(frame);
    return Give(record, ahead.first(record_header_ + record.captured), frame);
  }

  // Records that are whole in the window need no more than a look.
  bool GoesBack(size_t frames, uint64_t bytes) override {
    int64_t last = -kFarthestTime;
    for (; frames > 0 && position() < bytes; --frames) {
      Bytes ahead = window_.AtHand();
      const size_t all = ahead.size();
      for (; frames > 1 && ahead.size() >= record_header_; --frames) {
        const Record record = RecordAt(ahead.data());
        if (record.captured > ahead.size() - record_header_) break;
        if (StepsBack(last, record.time_ns)) return true;
        last = record.time_ns;
        ahead = ahead.subspan(record_header_ + record.captured);
      }
      window_.Consume(all - ahead.size());
      Frame frame;
      if (ReadOn(frame) != Next::kFrame) break;
      if (StepsBack(last, frame.ref.time_ns)) return true;
      last = frame.ref.time_ns;
    }
    return false;
  }

 private:
  bool EndsBehind(Bytes ahead) const override {
    if (ahead.size() < record_header_) return true;
    const Record record = RecordAt(ahead.data());
    return record.captured <= kMaxFrame && record.captured > ahead.size() - record_header_;
  }

  struct Record {
    int64_t time_ns = 0;
    uint32_t captured = 0, on_wire = 0;
  };

  Record RecordAt(const std::byte* header) const {
    static_assert(int64_t{UINT32_MAX} * 1'000'000'000 + int64_t{UINT32_MAX} * 1000 <= kFarthestTime);
    const auto seconds = int64_t{order_.Load32(header)}, fraction = int64_t{order_.Load32(header + 4)};
    Record record{seconds * 1'000'000'000 + fraction * fraction_ns_, order_.Load32(header + 8),
                  order_.Load32(header + 12)};
    // Before version 2.3 the two lengths were the other way round, and in 2.3 they may be either.
    if (minor_ < 3 || (minor_ == 3 && record.captured > record.on_wire)) std::swap(record.captured, record.on_wire);
    return record;
  }

  // `bytes`: of the record, at the window's beginning.
  Next Give(const Record& record, Bytes bytes, Frame& frame) {
    window_.Consume(bytes.size());
    frame.ref = {++frames_, record.time_ns};
    origin_.units = static_cast<uint64_t>(record.time_ns);
    frame.link = link_;
    frame.bytes = bytes.subspan(record_header_);
    frame.wire_length = std::max(record.on_wire, record.captured);
    return Next::kFrame;
  }

  // A record that is not whole in the window yet, or odd.
  [[gnu::noinline]] Next ReadOn(Frame& frame) {
    if (finished()) return verdict();
    const uint64_t start = window_.offset();
    const Bytes header = window_.Peek(record_header_);
    if (header.size() < record_header_) return header.empty() ? AtEnd() : CutOff(start);
    const Record record = RecordAt(header.data());
    if (record.captured > kMaxFrame)
      return Damaged(
          fmt::format("{} claims {} captured bytes: the file is damaged there", Where(start), record.captured));
    const Bytes bytes = window_.Peek(record_header_ + record.captured);
    if (bytes.size() < record_header_ + record.captured) return CutOff(start);
    return Give(record, bytes, frame);
  }

  const FileOrder order_;
  const int64_t fraction_ns_;
  const size_t record_header_;
  LinkType link_;
  uint16_t minor_;
  bool described_ = false, listened_ = false;
  CaptureInterface interface_;
  FrameOrigin origin_;
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
