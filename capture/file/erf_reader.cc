// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERF, the extensible record format of Endace: records of a 16-byte header, 8-byte extension headers while the top bit
// of the last type byte is set, and what was captured. Only the time and the lengths are read here: a record as a whole
// is a frame of link type kErf, as in pcap files of that link type.
#include <algorithm>

#include "capture/file/format_reader.h"

namespace stag::capture {
namespace {

constexpr size_t kHeader = 16;
constexpr uint8_t kTypePad = 48, kLastType = 48;

struct Record {
  int64_t time_ns = 0;
  uint8_t type = 0;
  uint32_t length = 0, on_wire = 0;  // of the record; of what was captured
};

Record RecordAt(const std::byte* header) {
  // Seconds and 2^-32 seconds, the only field that is little-endian.
  const uint64_t time = __builtin_bswap64(LoadBe64(header));
  const __int128 fraction_ns = static_cast<__int128>(time & 0xffffffff) * 1'000'000'000 >> 32;
  return {ClampTime(static_cast<__int128>(time >> 32) * 1'000'000'000 + fraction_ns),
          static_cast<uint8_t>(std::to_integer<uint8_t>(header[8]) & 0x7f), LoadBe16(header + 10),
          LoadBe16(header + 14)};
}

class ErfReader final : public FormatReader {
 public:
  explicit ErfReader(Window window) : FormatReader(std::move(window)) {}

  Next ReadFrame(Frame& frame) override {
    while (!finished()) {
      const uint64_t start = window_.offset();
      const Bytes header = window_.Peek(kHeader);
      if (header.size() < kHeader) return header.empty() ? AtEnd() : CutOff(start);
      const Record record = RecordAt(header.data());
      if (record.length < kHeader)
        return Damaged(Where(start) + " is shorter than its header: the file is damaged there");
      const Bytes bytes = window_.Peek(record.length);
      if (bytes.size() < record.length) return CutOff(start);
      window_.Consume(record.length);
      if (record.type == kTypePad) continue;
      frame.ref = {++frames_, record.time_ns};
      frame.link = LinkType::kErf;
      frame.bytes = bytes;
      frame.wire_length = std::max(record.length, static_cast<uint32_t>(kHeader + record.on_wire));
      return Next::kFrame;
    }
    return verdict();
  }

 private:
  bool EndsBehind(Bytes ahead) const override {
    while (ahead.size() >= kHeader) {
      const Record record = RecordAt(ahead.data());
      if (record.length < kHeader) return false;
      if (record.length > ahead.size()) return true;
      if (record.type != kTypePad) return false;
      ahead = ahead.subspan(record.length);
    }
    return true;
  }
};

}  // namespace

// Records with known types and lengths, whose times do not go back by more than a second.
bool IsErf(Bytes start) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr size_t kEnough = 16;
  int64_t last = 0;
  size_t whole = 0;
  for (Bytes left = start; left.size() >= kHeader && whole < kEnough; ++whole) {
    const Record record = RecordAt(left.data());
    if (record.type == 0 || record.type > kLastType || record.length < kHeader) return false;
    if (record.type != kTypePad && (record.on_wire == 0 || record.time_ns < last - kSecond)) return false;
    last = std::max(last, record.time_ns);
    if (record.length > left.size()) return whole > 0;
    left = left.subspan(record.length);
  }
  return whole > 0;
}

std::unique_ptr<Reader> OpenErf(Window window) { return std::make_unique<ErfReader>(std::move(window)); }

}  // namespace stag::capture
