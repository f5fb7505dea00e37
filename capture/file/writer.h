// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileWriter: capture files out, with nanosecond times, in the byte order of little-endian machines: pcap (one link
// type) or pcapng (an interface per link type, comments, what made the file, statistics). What Reader gives, written
// and read again, is the same. In the steady state nothing is allocated per frame.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file/output_file.h"
#include "capture/file/reader.h"
#include "protocol/base/frame.h"
#include "protocol/base/result.h"

struct ZSTD_CCtx_s;

namespace stag::capture {

enum class FileFormat : uint8_t { kPcap, kPcapng };
enum class Compression : uint8_t { kNone, kZstd };
// What the name of a file to be written says: .zst.
Compression CompressionOf(std::string_view path);

// What a pcapng file says of itself, in UTF-8; empty: nothing. Only the first 65535 bytes of each are kept.
struct FileNotes {
  std::string application;  // that made it: shb_userappl
  std::string comment;      // on the whole file
  std::string interface_name, interface_description;
};

// What a live capture knows of the packets of its interface: isb_ifrecv, isb_ifdrop, isb_osdrop.
struct InterfaceCounts {
  std::optional<uint64_t> received;              // that came
  std::optional<uint64_t> dropped_by_interface;  // by the device or its driver
  std::optional<uint64_t> dropped_by_system;     // in the kernel, or for lack of a receive buffer
  uint64_t dropped_by_us = 0;                    // between receiving and writing
  std::string comment;                           // UTF-8; empty: none
};

// Encodes into a byte vector; for files in memory, and the core of FileWriter. Keeps no bytes.
class FileEncoder {
 public:
  // `link`: of all frames of a pcap file; of the first interface of a pcapng file, which can do without one (nullopt)
  // until there is a frame. Fails for the link types that exist only inside Wireshark.
  static Result<FileEncoder> Start(FileFormat format, std::optional<LinkType> link, std::vector<std::byte>& out,
                                   const FileNotes& notes = {});

  // Appends a frame; its number is its place in the file. `comment` (UTF-8, at most 65535 bytes; a NUL parts them) is
  // kept in pcapng files only. Fails, appending nothing, for a link type or a time that the format cannot hold, and
  // for frames over 1 MiB, which Reader would not believe.
  // `origin`: what the file that it is copied from says of it: its interface is described as it was, and its time is in
  // that interface's units. Of pcap files it tells the link type.
  Result<void> Append(const Frame& frame, std::string_view comment, std::vector<std::byte>& out,
                      const FrameOrigin* origin = nullptr);

  // Appends a block that is no frame. Fails, appending nothing, for a pcap file, which has no such, and when it is not
  // whole. `interface`, `key`: where the block begins with the number of an interface.
  Result<void> Append(const OtherBlock& block, std::vector<std::byte>& out, const CaptureInterface* interface = nullptr,
                      uint64_t key = 0);
  // Describes an interface, where that was not done, in a pcapng file.
  void Describe(const CaptureInterface& interface, uint64_t key, std::vector<std::byte>& out);

  // Bytes that are not appended, but belong behind the first `at` bytes of the vector.
  struct View {
    size_t at = 0;
    Bytes bytes;
  };
  // The same for a frame whose bytes are `pieces`, one after the other; `frame.bytes` is not looked at. With `views`,
  // pieces of at least kViewed bytes go there.
  static constexpr size_t kViewed = 16384;
  Result<void> Append(const Frame& frame, std::span<const Bytes> pieces, std::string_view comment,
                      std::vector<std::byte>& out, std::vector<View>* views, const FrameOrigin* origin = nullptr);

  // Appends, for each interface of a pcapng file, how many frames were appended and of what time, and that `lost` of
  // them did not get into the file; with such, for the first interface only, as others may be missing, too. `counts`
  // are the first interface's.
  void AppendStatistics(uint64_t lost, const InterfaceCounts& counts, std::vector<std::byte>& out) const;

  // How many interfaces were described; the last of them are described again when a description got lost.
  size_t interfaces() const { return interfaces_.size(); }
  void Forget(size_t left) { interfaces_.resize(left); }

 private:
  struct Interface {
    uint16_t linktype = 0;  // as a number of the file format
    uint64_t key = 0;       // of that which it is a copy of; 0: of none
    uint64_t frames = 0;
    int64_t first_ns = 0, last_ns = 0;  // of the frames; of a copy in its units
    bool has_statistics = false;        // copied
  };
  explicit FileEncoder(FileFormat format) : format_(format) {}
  Result<size_t> InterfaceFor(LinkType link, const FrameOrigin* origin, std::vector<std::byte>& out);

  FileFormat format_;
  std::string interface_name_, interface_description_;
  std::vector<Interface> interfaces_;  // those written so far
};

class FileWriter {
 public:
  // Creates or replaces `path`; "-" is standard output. kWhenWhole: after a failure there is no file.
  static Result<std::unique_ptr<FileWriter>> Create(const std::string& path, FileFormat format,
                                                    std::optional<LinkType> link, const FileNotes& notes = {},
                                                    Compression compression = Compression::kNone,
                                                    OutputFile::Named named = OutputFile::Named::kAtOnce);
  // Writes to a file that is made already.
  static Result<std::unique_ptr<FileWriter>> Create(OutputFile file, FileFormat format, std::optional<LinkType> link,
                                                    const FileNotes& notes, Compression compression);
  // Without Close before it: a file that is to be named when it is whole goes, any other is closed.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // See FileEncoder::Append. Output is buffered. After a failure to write (a full disk) the file ends with the last
  // frame that is whole in it, and stays readable. Each Write fails then, and its frame is lost. A file that has its
  // name already is tried again after a second, and behind a Flush; over(): it can't be made whole.
  Result<void> Write(const Frame& frame, std::string_view comment = {}, const FrameOrigin* origin = nullptr);
  // See FileEncoder::Append and Describe.
  Result<void> Write(const OtherBlock& block, const CaptureInterface* interface = nullptr, uint64_t key = 0);
  void Describe(const CaptureInterface& interface, uint64_t key) { encoder_.Describe(interface, key, buffer_); }
  // The same as Write for a frame whose bytes are `pieces` one after the other: large ones are written from where they
  // lie, not copied. `frame.bytes` is not looked at.
  Result<void> WritePieces(const Frame& frame, std::span<const Bytes> pieces, std::string_view comment = {});
  // Writes out what is buffered. Of a compressed file that is a part that can be decompressed by itself. No memory for
  // that is a failure to write.
  Result<void> Flush();
  // The same, then statistics (pcapng), and closes the file. No Write after it. Fails when anything could not be
  // written.
  Result<void> Close(const InterfaceCounts& counts = {});

  // Frames that were handed over and could not be written; those still buffered do not count.
  uint64_t lost() const { return lost_; }
  // Whether nothing more can be written.
  bool over() const { return failing_ && !(whole_ && tries_again_); }

 private:
  using Clock = std::chrono::steady_clock;
  // A place in the buffer where the file is whole, and how many interfaces are described before it.
  struct End {
    uint32_t at = 0, interfaces = 0;
  };
  FileWriter(OutputFile file, FileEncoder encoder, std::vector<std::byte> header, Compression compression);
  Result<void> Failed(size_t written);
  End EndAt(size_t at) const { return {static_cast<uint32_t>(at), static_cast<uint32_t>(encoder_.interfaces())}; }
  Bytes Compressed();
  Result<void> Appended();
  Result<void> WriteOut();

  OutputFile file_;
  FileEncoder encoder_;
  std::vector<std::byte> buffer_;
  struct FreeZstd {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, FreeZstd> zstd_;  // null: not compressed
  std::vector<std::byte> packed_;
  std::vector<FileEncoder::View> views_;  // of the last frame in the buffer
  std::vector<iovec> pieces_;             // of what is written: scratch
  std::vector<End> ends_;                 // of the header and of the frames in the buffer
  const std::vector<std::byte> header_;
  const bool tries_again_;
  size_t described_ = 0;  // interfaces in the file
  bool header_buffered_ = true;
  std::string trouble_;  // the first
  bool failing_ = false;
  Clock::time_point again_;  // while it is: until then, frames are lost
  bool closed_ = false;
  bool whole_ = true;  // after trouble: the file ends with a whole frame
  uint64_t lost_ = 0;
};

}  // namespace stag::capture
