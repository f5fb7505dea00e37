// SPDX-License-Identifier: GPL-2.0-or-later
//
// Diagnostics: messages about the run itself, such as a file that cannot be read. They go to stderr, or, where a file
// is analysed for another process, to that process.
#pragma once

#include <functional>
#include <string_view>

#include "cli/base/common_options.h"
#include "protocol/base/result.h"
#include "text/put.h"

namespace stag::cli {

class Diagnostics {
 public:
  // `write` takes one message a call, without a line feed.
  explicit Diagnostics(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  void ComplainText(std::string_view text) { write_(text); }
  template <typename... Args>
  void Complain(fmt::format_string<Args...> format, Args&&... args) {
    write_(fmt::format(format, std::forward<Args>(args)...));
  }
  // Tells that memory had no room for `n` of something of `file`: "packets of 3 connections are not counted"; 0:
  // nothing.
  void OverMemory(std::string_view file, uint64_t n, std::string_view noun, std::string_view rest,
                  std::string_view start = "") {
    if (n > 0)
      Complain("{}: the memory cap was reached: {}{}{}; --memory raises the cap", file, start, Count(n, noun), rest);
  }

 private:
  std::function<void(std::string_view)> write_;
};

// Lines on stderr, with "stag: " before each.
Diagnostics& StderrDiagnostics();

// Messages on stderr.
inline void ComplainText(std::string_view text) { StderrDiagnostics().ComplainText(text); }
template <typename... Args>
void Complain(fmt::format_string<Args...> format, Args&&... args) {
  ComplainText(fmt::format(format, std::forward<Args>(args)...));
}
// The error on stderr; returns the exit status that goes with it.
inline int Trouble(const Error& error) {
  ComplainText(error.message);
  return kExitTrouble;
}

}  // namespace stag::cli
