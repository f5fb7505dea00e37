// SPDX-License-Identifier: GPL-2.0-or-later
//
// OutputFile: every file that a command writes. A file gets its name when it is whole: until then it is a temporary
// file beside it, which goes when the program fails or is interrupted. A file that the program reads is never written,
// whatever name it goes by. Pipes and devices take the bytes as they come.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/bytes.h"
#include "protocol/base/result.h"

namespace stag::capture {

// The program reads `path` ("-": standard input). Called before other threads start.
void DeclareInput(const std::string& path);
// Which declared input the file is, as it was named; empty: none.
std::string InputThatIs(const struct stat& file);

// A name that goes, with the file or the empty directory that has it, when this does, and when SIGHUP, SIGINT, SIGQUIT
// or SIGTERM ends the program.
class TemporaryName {
 public:
  // `folder`: an open directory, or AT_FDCWD; outlives this.
  TemporaryName(int folder, std::string name, bool directory = false);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::string& name() const { return name_; }
  // The name stays, or another one took its place.
  void Keep();

 private:
  class Registry;
  void Remove() const;

  const int folder_;
  const std::string name_;
  const bool directory_;
  const pid_t process_;  // whose name it is: not a child's
  bool kept_ = false;
  TemporaryName *before_ = nullptr, *behind_ = nullptr;  // in the list of all
};

class OutputFile {
 public:
  // kAtOnce is for what grows as long as a peer or a device sends: the new file has its name from the start, and keeps
  // it whatever happens. The old file by that name is not written either.
  enum class Named : uint8_t { kWhenWhole, kAtOnce };

  // "-" is standard output. Fails with a message for people: the file is one that the program reads, or it cannot be
  // made. A link is followed; a file that is replaced gives its permissions to the new one.
  static Result<OutputFile> Create(const std::string& path, Named named = Named::kWhenWhole);
  // The file goes, unless it was finished or has its name already.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Write to it as to any file; it can be read, too, when seekable().
  int descriptor() const { return descriptor_; }
  // Whether it has no name yet, and goes unless it is finished.
  bool unnamed() const { return temporary_ != nullptr; }
  // Whether this is a file of its own, which can be read and written anywhere; else bytes are sent on.
  bool seekable() const { return !target_.empty(); }
  const std::string& name() const { return name_; }  // for people

  Result<void> Write(Bytes bytes);
  // Closes the file and gives it its name. Nothing comes after it.
  Result<void> Finish();
  // Closes the file, which goes unless it has its name already.
  void Abandon();

 private:
  OutputFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  Error Trouble() const;

  std::string name_;    // as it was given
  int descriptor_;      // -1: closed
  std::string target_;  // the path that the file gets, links followed; empty: a pipe, a device, a descriptor
  std::unique_ptr<TemporaryName> temporary_;
};

// Why `path` may not be written, as it is a file that the program reads; empty: it may.
std::string WhyNotWritten(const std::string& path);
// Writes a whole file.
Result<void> WriteWhole(const std::string& path, std::string_view text);

// A file in `folder` (empty: TMPDIR, or /tmp) that has no name and goes when its descriptor does.
Result<int> NamelessFile(std::string folder = {});

}  // namespace stag::capture
