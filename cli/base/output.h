// SPDX-License-Identifier: GPL-2.0-or-later
//
// Output: results to stdout or a file through one large buffer, and diagnostics to stderr. When the reader of a pipe
// has gone (EPIPE) output is quietly dropped and closed() makes the command stop; another write error is reported
// once. A file of results gets its name when the command has ended. In text for people no control characters go out but
// those of its own colours: what a capture or a path says cannot drive the terminal.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "capture/file/output_file.h"
#include "cli/base/common_options.h"
#include "cli/base/diagnostics.h"
#include "text/put.h"

namespace stag::cli {

// Terminal colours; every string is empty when colours are off.
struct Style {
  std::string_view bold, dim, red, green, yellow, cyan, reset;
};

class Output {
 public:
  // Creates options.output; throws std::runtime_error when it cannot, and when the results would go into a file that
  // the command reads. `write`: where results go in place of that.
  // `diagnostics` must outlive this.
  explicit Output(const CommonOptions& options, std::function<void(std::string_view)> write = nullptr,
                  Diagnostics& diagnostics = StderrDiagnostics());
  ~Output();  // flushes; the file waits for FinishOutputs
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Where a command writes; call Commit now and then.
  std::string& buffer() { return buffer_; }
  // Writes the buffer out when there is enough of it.
  void Commit() {
    if (buffer_.size() >= kBlock) Flush();
  }
  void Flush();
  // The output is one document: `begin` stands first and `end` last, and between lines, which lose their ends,
  // stands `between`, unless it is empty.
  void set_document(std::string_view begin, std::string_view between, std::string_view end);
  // Writes what is left of it, `begin` and `end` also where nothing stands between.
  void EndDocument();
  bool empty() const { return empty_; }  // nothing was written yet
  // Takes away what the terminal shows.
  void ClearScreen();
  // As putting it in the buffer and Commit, and never waits: false, and nothing done, when nobody has read for so long
  // that the buffer is full.
  bool Offer(std::string_view text);
  // A descriptor that becomes readable when all is to stop: from then on Flush waits for who reads half a second at
  // most.
  void set_stop(int descriptor);
  // Nothing more is wanted: reading stops, what is in the buffer still goes out. By any thread.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_ || closed_; }
  bool closed() const { return closed_; }  // nobody reads any more, or writing failed
  bool failed() const { return failed_; }  // writing failed for another reason than a closed pipe
  const Style& style() const { return style_; }
  Diagnostics& diagnostics() const { return diagnostics_; }
  // Called before bytes go to stdout when that is a terminal (the progress bar is taken away).
  void set_before_write(std::function<void()> fn) { before_write_ = std::move(fn); }

 private:
  static constexpr size_t kBlock = 64 * 1024, kMostOffered = 1024 * 1024;
  void Send(std::string_view bytes);
  void MakeElements();
  int64_t WriteSome(std::string_view text);
  void FailedToWrite();
  void WriteReady();
  Diagnostics& diagnostics_;
  std::string buffer_;
  Style style_;
  std::function<void()> before_write_;
  std::function<void(std::string_view)> write_;
  std::optional<capture::OutputFile> file_;  // none: stdout
  int descriptor_;
  int stop_ = -1;       // set_stop
  bool waits_ = false;  // writing may have to wait for who reads
  bool terminal_ = false, empty_ = true;
  const bool for_people_;  // text and tables
  std::atomic<bool> stopped_ = false;
  bool closed_ = false, failed_ = false;
  std::string begin_, between_, end_;  // set_document
  size_t elements_ = 0;                // bytes of the buffer that are elements of it
};

// Gives the files of results their names, at the end of a command that returned `status`. A command in trouble that
// wrote nothing leaves no file. Returns the exit status: kExitTrouble, after a complaint, when a file cannot be
// finished.
int FinishOutputs(int status);

// A bar on stderr: nothing is shown unless it was asked for, stderr is a terminal and the work takes longer than half a
// second.
class Progress {
 public:
  Progress(bool wanted, std::string_view what);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  bool active() const { return active_; }
  // `size` 0: unknown.
  void Update(uint64_t position, uint64_t size, uint64_t frames);
  void Clear();

 private:
  std::string what_;
  bool active_ = false, shown_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace stag::cli
