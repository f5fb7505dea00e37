// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace stag::scrub {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

Result<Pseudonyms::Key> Make(const std::string& path) {
  auto key = RandomKey();
  if (!key) return key;
  std::string text;
  for (std::byte b : *key) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  text += '\n';
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(fd) != 0 || !written) {
    ::unlink(path.c_str());
    return Fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return key;
}

}  // namespace

Result<Pseudonyms::Key> RandomKey() {
  Pseudonyms::Key key;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) != 1)
    return Fail("OpenSSL gives no random numbers here");
  return key;
}

std::string NewKeyText(const std::string& path) {
  return path + " is a new key; keep it secret: who has it can test guesses";
}

Result<Pseudonyms::Key> KeyFromFile(const std::string& path, bool& made) {
  made = false;
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    made = true;
    return Make(path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::string text;
  char c = 0;
  while (text.size() < 80 && file.get(c)) text += c;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  Pseudonyms::Key key;
  bool fine = text.size() == 2 * key.size();
  for (size_t i = 0; fine && i < text.size(); ++i) {
    const char* digit = std::strchr(kDigits, text[i]);
    fine = digit && *digit;
    if (!fine) break;
    const auto value = static_cast<unsigned>(digit - kDigits);
    key[i / 2] = i % 2 == 0 ? static_cast<std::byte>(value << 4) : key[i / 2] | static_cast<std::byte>(value);
  }
  if (!fine)
    return Fail(
        fmt::format("{} is no key: a key is a line of 64 digits 0-9 and a-f; give another name to make one", path));
  return key;
}

}  // namespace stag::scrub
