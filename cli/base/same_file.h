// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether two paths name the same file: what is to be read must not be written.
#pragma once

#include <sys/stat.h>

#include <string>

namespace stag::cli {

// False also when one of them is not there, or is no regular file.
inline bool IsSameFile(const std::string& path, const std::string& other) {
  struct stat one {
  }, two{};
  return ::stat(path.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0 && S_ISREG(one.st_mode) &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

}  // namespace stag::cli
