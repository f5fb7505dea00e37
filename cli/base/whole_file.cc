// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/whole_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace stag::cli {
namespace {

constexpr size_t kMostWholeBytes = 256u << 20;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> ReadWhole(const std::string& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  std::string text;
  char block[65536];
  size_t n = 0;
  while (file && (n = std::fread(block, 1, sizeof block, file.get())) > 0) {
    text.append(block, n);
    if (text.size() > kMostWholeBytes) return Fail(fmt::format("{} is too large", path));
  }
  if (!file || std::ferror(file.get())) return Fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return text;
}

}  // namespace stag::cli
