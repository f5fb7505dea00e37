// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/output.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "text/terminal.h"

namespace stag::cli {
namespace {

constexpr Style kColors = {"\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"};

// The file that was asked for; none: stdout.
std::optional<capture::OutputFile> Create(const CommonOptions& options) {
  using Named = capture::OutputFile::Named;
  const std::string& path = options.output;
  if (path.empty()) {
    if (const std::string why = capture::WhyNotWritten("-"); !why.empty()) throw std::runtime_error(why);
    return std::nullopt;
  }
  auto file = capture::OutputFile::Create(path, options.grows ? Named::kAtOnce : Named::kWhenWhole);
  if (!file) throw std::runtime_error(file.error().message);
  return std::move(*file);
}

struct WrittenFile {
  capture::OutputFile file;
  bool empty;
};
// Of the commands that have ended.
std::vector<WrittenFile>& WrittenFiles() {
  static std::vector<WrittenFile> files;
  return files;
}

bool WantColors(Color color, int descriptor) {
  if (color != Color::kAuto) return color == Color::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (!no_color || !*no_color) && !(term && std::strcmp(term, "dumb") == 0) && isatty(descriptor);
}

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Output::Output(const CommonOptions& options, std::function<void(std::string_view)> write, Diagnostics& diagnostics)
    : diagnostics_(diagnostics),
      write_(std::move(write)),
      file_(write_ ? std::nullopt : Create(options)),
      descriptor_(file_ ? file_->descriptor() : STDOUT_FILENO),
      terminal_(!write_ && isatty(descriptor_) != 0),
      for_people_(options.format == Format::kText || options.format == Format::kCsv) {
  if (options.format == Format::kText && WantColors(options.color, descriptor_)) style_ = kColors;
}

Output::~Output() {
  Flush();
  if (file_ && !failed_ && std::uncaught_exceptions() == 0) WrittenFiles().push_back({std::move(*file_), empty_});
}

void Output::Flush() {
  if (before_write_ && terminal_ && buffer_.size() > 0) before_write_();
  if (for_people_) MakePrintable(buffer_, !style_.reset.empty());
  Send(buffer_);
  buffer_.clear();
}

void Output::ClearScreen() {
  Flush();
  Send("\x1b[H\x1b[2J");
}

void Output::Send(std::string_view bytes) {
  if (closed_ || bytes.empty()) return;
  empty_ = false;
  if (write_) return write_(bytes);
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      closed_ = true;
      failed_ = errno != EPIPE;
      if (failed_) diagnostics_.Complain("cannot write the results: {}", std::strerror(errno));
      break;
    }
  }
}

int FinishOutputs(int status) {
  for (WrittenFile& written : WrittenFiles()) {
    if (status == kExitTrouble && written.empty) continue;
    const auto finished = written.file.Finish();
    if (!finished) status = Trouble(finished.error());
  }
  WrittenFiles().clear();
  return status;
}

Diagnostics& StderrDiagnostics() {
  static Diagnostics diagnostics([](std::string_view text) {
    std::string shown(text);
    MakePrintable(shown);
    fmt::print(stderr, "stag: {}\n", shown);
  });
  return diagnostics;
}

Progress::Progress(bool wanted, std::string_view what) : what_(Printable(what)) {
  active_ = wanted && isatty(STDERR_FILENO);
  if (active_) next_ns_ = NowNs() + 500'000'000;
}

void Progress::Update(uint64_t position, uint64_t size, uint64_t frames) {
  if (!active_) return;
  const int64_t now = NowNs();
  if (now < next_ns_) return;
  next_ns_ = now + 100'000'000;
  shown_ = true;
  if (size == 0) {
    fmt::print(stderr, "\r\x1b[K{}: {} frames", what_, frames);
  } else {
    constexpr size_t kWidth = 30;
    const uint64_t percent = position >= size ? 100 : position * 100 / size;
    const size_t full = kWidth * percent / 100;
    fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3}%", what_, "", full, "", kWidth - full, percent);
  }
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace stag::cli
