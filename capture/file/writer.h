// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileWriter: capture files out, with nanosecond times, in the byte order of little-endian machines: pcap (one link
// type) or pcapng (an interface per link type, comments). What Reader gives, written and read again, is the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/base/result.h"

namespace stag::capture {

enum class FileFormat : uint8_t { kPcap, kPcapng };

// Encodes into a byte vector; for files in memory, and the core of FileWriter. Keeps no bytes.
class FileEncoder {
 public:
  // `link`: of all frames of a pcap file; of the first interface of a pcapng file. Fails for the link types that exist
  // only inside Wireshark.
  static Result<FileEncoder> Start(FileFormat format, LinkType link, std::vector<std::byte>& out);

  // Appends a frame. The number is not stored: a frame's number is its place in the file. `comment` (UTF-8, at most
  // 65535 bytes) is kept in pcapng files only. Fails, appending nothing, for a link type or a time that the format
  // cannot hold, and for frames over 1 MiB, which Reader would not believe.
  Result<void> Append(const Frame& frame, std::string_view comment, std::vector<std::byte>& out);

 private:
  explicit FileEncoder(FileFormat format) : format_(format) {}
  Result<size_t> InterfaceFor(LinkType link, std::vector<std::byte>& out);

  FileFormat format_;
  std::vector<uint16_t> interfaces_;  // the link types written so far, as numbers of the file format
};

class FileWriter {
 public:
  // Creates or overwrites `path`; "-" is standard output.
  static Result<std::unique_ptr<FileWriter>> Create(const std::string& path, FileFormat format, LinkType link);
  // Closes; what cannot be written then is lost without a word, so call Close first.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // See FileEncoder::Append. Output is buffered.
  Result<void> Write(const Frame& frame, std::string_view comment = {});
  // Writes out what is buffered. No Write after it.
  Result<void> Close();

 private:
  FileWriter(std::string path, int fd, FileEncoder encoder, std::vector<std::byte> header);
  Result<void> Flush();

  std::string path_;
  int fd_;
  FileEncoder encoder_;
  std::vector<std::byte> buffer_;
};

}  // namespace stag::capture
