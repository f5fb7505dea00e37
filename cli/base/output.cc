// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/output.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
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
      for_people_(ForPeople(options.format) || options.format == Format::kCsv) {
  if (ForPeople(options.format) && WantColors(options.color, descriptor_)) style_ = kColors;
}

Output::~Output() {
  Flush();
  if (file_ && !failed_ && std::uncaught_exceptions() == 0) WrittenFiles().push_back({std::move(*file_), empty_});
}

void Output::set_stop(int descriptor) {
  struct stat what {};
  stop_ = descriptor;
  waits_ = !write_ && ::fstat(descriptor_, &what) == 0 && !S_ISREG(what.st_mode);
}

// As write(2), which a stop ends.
int64_t Output::WriteSome(std::string_view text) {
  if (!waits_) return ::write(descriptor_, text.data(), text.size());
  constexpr int kPatienceMs = 500;
  pollfd both[] = {{descriptor_, POLLOUT, 0}, {stop_, POLLIN, 0}};
  if (::poll(both, 2, -1) < 0) return -1;
  if (both[0].revents == 0 && ::poll(both, 1, kPatienceMs) == 0) {
    errno = ETIMEDOUT;
    return -1;
  }
  // So much is taken without waiting.
  return ::write(descriptor_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
}

void Output::FailedToWrite() {
  closed_ = true;
  failed_ = errno != EPIPE;
  if (errno == ETIMEDOUT) {
    diagnostics_.Complain("not all results could be written: nobody reads them");
  } else if (failed_) {
    diagnostics_.Complain("cannot write the results: {}", std::strerror(errno));
  }
}

// As much as is taken at once.
void Output::WriteReady() {
  MakeElements();
  if (for_people_) MakePrintable(buffer_, !style_.reset.empty());
  size_t done = 0;
  pollfd one{descriptor_, POLLOUT, 0};
  while (!closed_ && done < buffer_.size() && ::poll(&one, 1, 0) > 0) {
    const int64_t n = WriteSome(std::string_view(buffer_).substr(done));
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      FailedToWrite();
    }
  }
  buffer_.erase(0, closed_ ? buffer_.size() : done);
  elements_ = buffer_.size();
}

bool Output::Offer(std::string_view text) {
  if (!waits_) {
    buffer_ += text;
    Commit();
    return true;
  }
  if (buffer_.size() >= kBlock) WriteReady();
  if (buffer_.size() + text.size() > kMostOffered) return false;
  buffer_ += text;
  return true;
}

void Output::set_document(std::string_view begin, std::string_view between, std::string_view end) {
  begin_ = begin;
  between_ = between;
  end_ = end;
}

void Output::EndDocument() {
  Flush();
  Send(begin_);
  begin_.clear();
  Send(end_);
  end_.clear();
}

// Of what is new in the buffer, which are whole lines.
void Output::MakeElements() {
  if (between_.empty()) {
    if (!buffer_.empty()) buffer_.insert(0, std::exchange(begin_, {}));
    return;
  }
  std::string lines = buffer_.substr(elements_);
  buffer_.resize(elements_);
  for (std::string_view left = lines; !left.empty();) {
    const size_t end = left.find('\n');
    buffer_ += begin_.empty() ? between_ : std::exchange(begin_, {});
    buffer_ += left.substr(0, end);
    left.remove_prefix(end + 1);
  }
}

void Output::Flush() {
  MakeElements();
  if (before_write_ && terminal_ && buffer_.size() > 0) before_write_();
  if (for_people_) MakePrintable(buffer_, !style_.reset.empty());
  Send(buffer_);
  buffer_.clear();
  elements_ = 0;
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
    const int64_t n = WriteSome(bytes);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      FailedToWrite();
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
