// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileSet: what a live capture writes: one pcapng file, or a row of them, where a new one begins after so many bytes or
// so much time, and of which only the last few are kept when that is asked for.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "capture/file/writer.h"
#include "capture/live/live_reader.h"

namespace stag::capture {

struct FileSetOptions {
  std::string path;                               // "-": standard output, a single file
  std::optional<uint64_t> max_bytes;              // of packets and what describes them, before compression
  std::optional<std::chrono::nanoseconds> every;  // of the packets' time
  uint32_t keep = 0;                              // the last so many files; 0: all
  Compression compression = Compression::kNone;
  LinkType link = LinkType::kEthernet;
  FileNotes notes;
  // With max_bytes or every, a file is named as dumpcap does: NAME_00001_20260131120000.pcapng, the time (UTC) of its
  // first packet.
  bool is_row() const { return max_bytes.has_value() || every.has_value(); }
};

class FileSet {
 public:
  // Makes the first file, unless it is one of a row: that waits for its first packet, of which `first_ns` is the time
  // if it is there already. Errors: it can't be created.
  static Result<std::unique_ptr<FileSet>> Open(const FileSetOptions& options, std::optional<int64_t> first_ns = {});

  // An error is for people; lost() says what it cost. While a file can't be written (a full disk), it ends with a whole
  // frame, and frames are lost; it is tried again after a second (FileWriter). While the next file of a row can't be
  // begun, the last one grows; that is tried again after a second of the frames' time. Old files of a row go once a new
  // one has begun.
  Result<void> Write(const Frame& frame, std::string_view comment);
  // What is buffered goes to the file.
  Result<void> Flush();
  // Ends the last file; `counts` go to its statistics.
  Result<void> Close(const InterfaceCounts& counts);

  // Whether nothing will be written any more: there is no first file, or what it is can't be cut to whole frames.
  bool over() const;
  uint64_t lost() const;                     // frames that were handed over and could not be written
  uint64_t files() const { return files_; }  // made
  // The names of the files that are there, oldest first.
  const std::deque<std::string>& names() const { return names_; }

 private:
  explicit FileSet(const FileSetOptions& options) : options_(options) {}
  Result<void> Begin(int64_t time_ns);
  Result<void> End(const InterfaceCounts& counts);
  bool Full(const Frame& frame) const;

  FileSetOptions options_;
  std::unique_ptr<FileWriter> writer_;
  std::deque<std::string> names_;
  uint64_t files_ = 0, lost_ = 0;
  uint64_t bytes_ = 0;  // in the current file
  uint64_t frames_ = 0;
  int64_t begin_ns_ = 0;              // of it
  std::optional<int64_t> failed_ns_;  // when the next one could not be begun
};

}  // namespace stag::capture
