// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileStore: the directory that `stag extract` fills: one sparse file per (server, file handle), written while the
// capture is read and named at the end. Never leaves its directory, follows no link in it, and removes what has no name
// yet when it goes or the program is interrupted; few descriptors are open at a time; all tables are bounded.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/file/output_file.h"
#include "protocol/base/bytes.h"
#include "protocol/base/frame.h"
#include "protocol/base/result.h"
#include "session/fabric/fabric_event.h"
#include "session/rpcrdma/range_set.h"

namespace stag::cli {

// One file, for the manifest.
struct ExtractedFile {
  std::string server;                        // address, as text
  std::string handle;                        // bytes
  std::string name;                          // as seen on the wire; empty: none was
  std::string path;                          // file name in the directory; empty: nothing of it was complete
  session::RangeSet read, written, covered;  // half-open byte ranges
  bool ranges_kept = true;                   // false: too many to keep, so holes are not known
  bool lost = false;                         // some READ or WRITE of it was not wholly captured
  bool end_seen = false;                     // a READ reported the end of the file...
  uint64_t end = 0;                          // ... here, in bytes
  FrameRef first;                            // of the Call of the first READ or WRITE
  std::set<fabric::ConnectionId> connections;
  std::unique_ptr<capture::TemporaryName> part;  // until it has its own name

  uint64_t size() const { return covered.end(); }
  bool complete() const { return ranges_kept && !lost && !path.empty() && covered.Covers(0, size()); }
};

class FileStore {
 public:
  struct Limits {
    size_t open_files = 64;
    size_t files = size_t{1} << 18;
    size_t names = size_t{1} << 17;
    size_t ranges = size_t{1} << 15;  // per file and kind
  };

  // Makes the directory, and its parents, when they are not there; with `below`, the store is the directory by that
  // name in it. Fails when it is not empty, unless `force` (then files in it may be replaced), and when `below` is a
  // link.
  static Result<std::unique_ptr<FileStore>> Open(const std::string& directory, bool force, const Limits& limits,
                                                 const std::string& below = {});
  ~FileStore();
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  // The file of this handle; nullptr when there are too many files.
  ExtractedFile* Find(const std::string& server, Bytes handle);
  // `name` was seen for the handle. The newest name wins, but not over one that an NFS client made up for a file that
  // was removed while open (".nfs...").
  void Name(const std::string& server, Bytes handle, Bytes name);
  // Puts `length` bytes at `offset`; `give` calls its argument with one piece after another. Fails on errors of the
  // disk.
  using Pieces = std::function<bool(const std::function<void(Bytes)>&)>;
  Result<void> Put(ExtractedFile& file, bool write, uint64_t offset, uint64_t length, const Pieces& give);
  // Gives the files their names. Call once, at the end; without it there is no file. A directory in the way, or a file
  // that the program reads, keeps its name: the file gets another one.
  Result<void> Finish();

  const std::deque<ExtractedFile>& files() const { return files_; }  // in order of first appearance
  uint64_t files_refused() const { return files_refused_; }

 private:
  struct Slot {
    int fd = -1;
    uint64_t used = 0;  // the higher, the later
  };

  explicit FileStore(const Limits& limits) : limits_(limits) {}
  Result<void> Make(const std::string& directory);
  Result<void> MakeBelow(const std::string& name);
  bool IsFree(const std::string& name) const;
  int MakePart(ExtractedFile& file);
  Result<int> Descriptor(ExtractedFile& file);
  Error Trouble(const std::string& name, const char* what) const;

  int parent_ = -1, directory_ = -1;
  std::string path_;
  std::vector<std::unique_ptr<capture::TemporaryName>> made_;  // directories, from the outermost on
  const Limits limits_;
  std::deque<ExtractedFile> files_;
  std::unordered_map<std::string, size_t> index_;       // server and handle -> file
  std::unordered_map<std::string, std::string> names_;  // of handles that have no file yet
  std::deque<std::string> name_order_;
  std::map<const ExtractedFile*, Slot> slots_;
  uint64_t clock_ = 0, parts_ = 0;
  uint64_t files_refused_ = 0;
};

// A file name that is safe in any directory: no '/', no control characters, valid UTF-8, at most `limit` bytes; empty
// when nothing usable is left ("." and ".." are not).
std::string SafeFileName(std::string_view name, size_t limit = 255);

}  // namespace stag::cli
