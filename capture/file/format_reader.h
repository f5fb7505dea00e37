// SPDX-License-Identifier: GPL-2.0-or-later
//
// FormatReader: what the readers of pcap, pcapng and ERF have in common: the window over the file, the frame counter,
// how a file that is cut off or corrupt is reported, and fields in the byte order of the file.
#pragma once

#include <memory>
#include <string>

#include "capture/file/reader.h"
#include "capture/file/window.h"

namespace stag::capture {

// The longest frame that is believed. No fabric comes near it (a coalesced TCP segment has up to 512 KiB).
inline constexpr uint32_t kMaxFrame = 1u << 20;

// Fields in the byte order of the file.
class FileOrder {
 public:
  explicit FileOrder(bool big_endian = false) : big_endian_(big_endian) {}
  bool big_endian() const { return big_endian_; }
  uint16_t Load16(const std::byte* p) const {
    const uint16_t v = LoadBe16(p);
    return big_endian_ ? v : __builtin_bswap16(v);
  }
  uint32_t Load32(const std::byte* p) const {
    const uint32_t v = LoadBe32(p);
    return big_endian_ ? v : __builtin_bswap32(v);
  }
  uint64_t Load64(const std::byte* p) const {
    const uint64_t v = LoadBe64(p);
    return big_endian_ ? v : __builtin_bswap64(v);
  }

 private:
  bool big_endian_;
};

class FormatReader : public Reader {
 public:
  const std::string& error() const final { return error_; }
  const FrameMemory& memory() const final { return window_.memory(); }
  const Lasting* lasting() const final { return window_.lasting(); }
  bool Waits(std::chrono::milliseconds patience) final;
  uint64_t position() const final { return window_.position(); }
  uint64_t size() const final { return window_.size(); }

 protected:
  explicit FormatReader(Window window) : window_(std::move(window)) {}

  // Whether the next frame reaches beyond `ahead`, the next bytes of the file. Of what is damaged: no.
  virtual bool EndsBehind(Bytes ahead) const = 0;

  // "frame N at byte B", for the record that begins at `offset`.
  std::string Where(uint64_t offset) const;
  // From here on the file is of no use, perhaps because reading failed.
  Next Damaged(const std::string& message);
  // The input ended inside the record that began at `offset`.
  Next CutOff(uint64_t offset);
  // The input ended where a record may begin: fine, unless reading failed.
  Next AtEnd();
  bool finished() const { return finished_; }
  Next verdict() const { return error_.empty() ? Next::kEnd : Next::kDamaged; }

  Window window_;
  uint64_t frames_ = 0;  // delivered so far

 private:
  Next Finish(std::string error);

  bool finished_ = false;
  std::string error_;
};

// The window stands at the beginning of the file, which begins with a magic number of the format; `name` is the file,
// for messages.
Result<std::unique_ptr<Reader>> OpenPcap(Window window, const std::string& name);
Result<std::unique_ptr<Reader>> OpenPcapng(Window window, const std::string& name);
bool IsPcap(Bytes start);
bool IsPcapng(Bytes start);
// ERF has no magic number: the first records tell, of which this much is looked at.
inline constexpr size_t kErfProbe = 64 << 10;
bool IsErf(Bytes start);
std::unique_ptr<Reader> OpenErf(Window window);

}  // namespace stag::capture
