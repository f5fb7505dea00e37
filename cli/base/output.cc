// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace stag::cli {
namespace {

constexpr Style kColors = {"\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"};

int Create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return descriptor;
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
      descriptor_(write_ || options.output.empty() ? STDOUT_FILENO : Create(options.output)),
      terminal_(!write_ && isatty(descriptor_) != 0) {
  if (options.format == Format::kText && WantColors(options.color, descriptor_)) style_ = kColors;
}

Output::~Output() {
  Flush();
  if (descriptor_ != STDOUT_FILENO && ::close(descriptor_) != 0)
    diagnostics_.Complain("cannot write the results: {}", std::strerror(errno));
}

void Output::Flush() {
  if (before_write_ && terminal_ && buffer_.size() > 0) before_write_();
  const char* data = buffer_.data();
  size_t left = closed_ ? 0 : buffer_.size();
  if (write_ && left > 0) {
    write_({data, left});
    left = 0;
  }
  while (left > 0) {
    const ssize_t n = ::write(descriptor_, data, left);
    if (n >= 0) {
      data += n;
      left -= static_cast<size_t>(n);
    } else if (errno != EINTR) {
      closed_ = true;
      failed_ = errno != EPIPE;
      if (failed_) diagnostics_.Complain("cannot write the results: {}", std::strerror(errno));
      break;
    }
  }
  buffer_.clear();
}

Diagnostics& StderrDiagnostics() {
  static Diagnostics diagnostics([](std::string_view text) { fmt::print(stderr, "stag: {}\n", text); });
  return diagnostics;
}

Progress::Progress(bool wanted, std::string_view what) : what_(what) {
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
