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
  // Makes the first file, unless it is one of a row: that waits for its first packet. Errors: it cannot be created.
  static Result<std::unique_ptr<FileSet>> Open(const FileSetOptions& options);

  // After a failure (a full disk) the file ends with a whole frame; nothing more is written, frames are counted as lost
  // and the error is the first one. Old files of a row go when a new one begins.
  Result<void> Write(const Frame& frame, std::string_view comment);
  // What is buffered goes to the file.
  Result<void> Flush();
  // Ends the last file; `counts` go to its statistics.
  Result<void> Close(const InterfaceCounts& counts);

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
  int64_t begin_ns_ = 0;  // of it
  std::string trouble_;
};

}  // namespace stag::capture
