// SPDX-License-Identifier: GPL-2.0-or-later
//
// Capture files built field by field in memory, in either byte order, straight from the format descriptions and
// independent of capture/file/writer; and reading them back.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "capture/file/reader.h"
#include "protocol/base/bytes.h"

namespace stag::capture {

using ByteVector = std::vector<std::byte>;

inline ByteVector Pattern(size_t n, uint8_t seed = 1) {
  ByteVector bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7);
  return bytes;
}

class FileBytes {
 public:
  explicit FileBytes(bool big_endian) : big_endian_(big_endian) {}

  FileBytes& U16(uint16_t v) { return Field(v, 2); }
  FileBytes& U32(uint32_t v) { return Field(v, 4); }
  FileBytes& U64(uint64_t v) { return Field(v, 8); }
  FileBytes& Put(Bytes b) {
    bytes_.insert(bytes_.end(), b.begin(), b.end());
    return *this;
  }
  FileBytes& Pad() {
    while (bytes_.size() % 4 != 0) bytes_.push_back(std::byte{0});
    return *this;
  }

  // pcap
  FileBytes& PcapHeader(uint32_t magic, uint32_t linktype, uint16_t minor = 4) {
    return U32(magic).U16(2).U16(minor).U32(0).U32(0).U32(65535).U32(linktype);
  }
  FileBytes& PcapRecord(uint32_t seconds, uint32_t fraction, Bytes frame, uint32_t on_wire) {
    return U32(seconds).U32(fraction).U32(static_cast<uint32_t>(frame.size())).U32(on_wire).Put(frame);
  }

  // pcapng: a block around a body.
  FileBytes& Block(uint32_t type, const FileBytes& body) {
    FileBytes padded = body;
    padded.Pad();
    const auto length = static_cast<uint32_t>(padded.bytes_.size() + 12);
    return U32(type).U32(length).Put(padded.bytes_).U32(length);
  }
  FileBytes Body() const { return FileBytes(big_endian_); }
  FileBytes& Section() { return Block(0x0a0d0d0a, Body().U32(0x1a2b3c4d).U16(1).U16(0).U64(~uint64_t{0})); }
  FileBytes& Interface(uint16_t linktype, uint32_t snap_length, const FileBytes& options) {
    return Block(1, Body().U16(linktype).U16(0).U32(snap_length).Put(options.bytes_));
  }
  FileBytes& Interface(uint16_t linktype, uint32_t snap_length = 0) { return Interface(linktype, snap_length, Body()); }
  FileBytes& Enhanced(uint32_t interface, uint64_t time, Bytes frame, uint32_t on_wire) {
    return Block(6, Body()
                        .U32(interface)
                        .U32(static_cast<uint32_t>(time >> 32))
                        .U32(static_cast<uint32_t>(time))
                        .U32(static_cast<uint32_t>(frame.size()))
                        .U32(on_wire)
                        .Put(frame));
  }

  const ByteVector& bytes() const { return bytes_; }

 private:
  FileBytes& Field(uint64_t v, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes_.push_back(static_cast<std::byte>(v >> (8 * (big_endian_ ? size - 1 - i : i))));
    return *this;
  }

  bool big_endian_;
  ByteVector bytes_;
};

struct ReadBack {
  std::string open_error;  // not empty: Open failed
  struct Item {
    FrameRef ref;
    LinkType link;
    ByteVector bytes;
    uint32_t wire_length;
  };
  std::vector<Item> frames;
  Reader::Next end = Reader::Next::kEnd;
  std::string error;
};

inline ReadBack ReadAll(Result<std::unique_ptr<Reader>> reader) {
  ReadBack result;
  if (!reader) {
    result.open_error = reader.error().message;
    return result;
  }
  Frame frame;
  while ((result.end = (*reader)->ReadFrame(frame)) == Reader::Next::kFrame)
    result.frames.push_back({frame.ref, frame.link, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_length});
  result.error = (*reader)->error();
  // The verdict stays.
  Frame again;
  if ((*reader)->ReadFrame(again) != result.end) result.error = "a second call at the end gave another verdict";
  return result;
}

inline ReadBack ReadAll(Bytes file) { return ReadAll(Reader::Open(MemorySource(file), "file")); }

inline bool operator==(const ReadBack::Item& a, const ReadBack::Item& b) {
  return a.ref.number == b.ref.number && a.ref.time_ns == b.ref.time_ns && a.link == b.link && a.bytes == b.bytes &&
         a.wire_length == b.wire_length;
}

}  // namespace stag::capture
