// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "analysis/digest.h"
#include "text/put.h"
#include "text/utf8.h"

namespace stag::cli {
namespace {

std::string KeyOf(const std::string& server, Bytes handle) {
  std::string key = server;
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(handle.data()), handle.size());
  return key;
}

// "fh-0123456789abcdef": the start of the digest of server and handle.
std::string HandleName(const ExtractedFile& file) {
  analysis::Sha256 sha;
  sha.Start();
  sha.Update(std::as_bytes(std::span(file.server)));
  sha.Update(std::as_bytes(std::span(file.handle)));
  const analysis::Sha256::Value digest = sha.Finish();
  std::string out;
  Put(out, "fh-");
  PutHex(out, Bytes(digest).first(8));
  return std::string(out.data(), out.size());
}

bool MadeUp(std::string_view name) { return name.substr(0, 4) == ".nfs"; }

}  // namespace

std::string SafeFileName(std::string_view name, size_t limit) {
  std::string safe;
  while (!name.empty()) {
    const size_t n = Utf8Length(name);
    const bool plain = n > 0 && name[0] != '/' && !IsControl(name.substr(0, n));
    const size_t width = n == 0 ? 1 : n;
    if (safe.size() + (plain ? width : 1) > limit) break;
    if (plain) {
      safe.append(name.substr(0, width));
    } else {
      safe.push_back('_');
    }
    name.remove_prefix(width);
  }
  return safe == "." || safe == ".." ? std::string{} : safe;
}

Result<std::unique_ptr<FileStore>> FileStore::Open(const std::string& directory, bool force, const Limits& limits,
                                                   const std::string& below) {
  std::unique_ptr<FileStore> store(new FileStore(limits));
  auto made = store->Make(directory);
  if (made && !below.empty()) made = store->MakeBelow(below);
  if (!made) return tl::unexpected(made.error());
  std::error_code error;
  if (!force && !std::filesystem::is_empty(fmt::format("/proc/self/fd/{}", store->directory_), error))
    return Fail(
        fmt::format("{}: the directory is not empty; name another, or add --force to write into it", store->path_));
  return store;
}

// The directory that was named: a link to it is followed.
Result<void> FileStore::Make(const std::string& directory) {
  path_ = directory;
  for (size_t end = directory.find('/', 1);; end = directory.find('/', end + 1)) {
    std::string name = directory.substr(0, end);
    if (::mkdir(name.c_str(), 0777) == 0)
      made_.push_back(std::make_unique<capture::TemporaryName>(AT_FDCWD, std::move(name), true));
    if (end == std::string::npos) break;
  }
  directory_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ >= 0) return {};
  return Fail(fmt::format("{}: cannot make or open this directory: {}", directory, std::strerror(errno)));
}

// One in it: whoever could write there may have put a link in its place.
Result<void> FileStore::MakeBelow(const std::string& name) {
  path_ += "/" + name;
  parent_ = std::exchange(directory_, -1);
  if (::mkdirat(parent_, name.c_str(), 0777) == 0)
    made_.push_back(std::make_unique<capture::TemporaryName>(parent_, name, true));
  directory_ = ::openat(parent_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory_ >= 0) return {};
  const int why = errno;
  struct stat status {};
  if (::fstatat(parent_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
    return Fail(fmt::format("{} is a link, which is not followed: remove it, or name another directory", path_));
  return Fail(fmt::format("{}: cannot make or open this directory: {}", path_, std::strerror(why)));
}

FileStore::~FileStore() {
  for (const auto& [file, slot] : slots_) ::close(slot.fd);
  for (ExtractedFile& file : files_) file.part.reset();
  while (!made_.empty()) made_.pop_back();
  if (directory_ >= 0) ::close(directory_);
  if (parent_ >= 0) ::close(parent_);
}

Error FileStore::Trouble(const std::string& name, const char* what) const {
  return Error{fmt::format("{}/{}: {}: {}", path_, name, what, std::strerror(errno))};
}

ExtractedFile* FileStore::Find(const std::string& server, Bytes handle) {
  const std::string key = KeyOf(server, handle);
  const auto [it, added] = index_.try_emplace(key, files_.size());
  if (!added) return &files_[it->second];
  if (files_.size() >= limits_.files) {
    index_.erase(it);
    ++files_refused_;
    return nullptr;
  }
  ExtractedFile& file = files_.emplace_back();
  file.server = server;
  file.handle.assign(reinterpret_cast<const char*>(handle.data()), handle.size());
  if (const auto name = names_.find(key); name != names_.end()) file.name = name->second;
  return &file;
}

void FileStore::Name(const std::string& server, Bytes handle, Bytes name) {
  const std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  if (handle.empty() || text.empty() || text == "." || text == "..") return;
  std::string key = KeyOf(server, handle);
  const auto file = index_.find(key);
  std::string* old = nullptr;
  if (file != index_.end()) {
    old = &files_[file->second].name;
  } else {
    const auto [it, added] = names_.try_emplace(key);
    if (added) name_order_.push_back(std::move(key));
    old = &it->second;
  }
  if (old->empty() || !MadeUp(text)) *old = text;
  while (names_.size() > limits_.names) {
    names_.erase(name_order_.front());
    name_order_.pop_front();
  }
}

// The first bytes: under a name of no meaning until the end of the capture. Nothing that is there is touched. -1: errno
// says why.
int FileStore::MakePart(ExtractedFile& file) {
  for (;;) {
    file.path = fmt::format(".stag-{}-{}", ::getpid(), ++parts_);
    const int fd = ::openat(directory_, file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd >= 0) file.part = std::make_unique<capture::TemporaryName>(directory_, file.path);
    return fd;
  }
}

Result<int> FileStore::Descriptor(ExtractedFile& file) {
  if (const auto it = slots_.find(&file); it != slots_.end()) {
    it->second.used = ++clock_;
    return it->second.fd;
  }
  if (slots_.size() >= limits_.open_files) {
    const auto oldest = std::min_element(slots_.begin(), slots_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    const int closed = close(oldest->second.fd);
    const std::string name = oldest->first->path;
    slots_.erase(oldest);
    if (closed != 0) return tl::unexpected(Trouble(name, "cannot write"));
  }
  const int fd =
      file.path.empty() ? MakePart(file) : ::openat(directory_, file.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return tl::unexpected(Trouble(file.path, "cannot be opened"));
  slots_[&file] = Slot{fd, ++clock_};
  return fd;
}

Result<void> FileStore::Put(ExtractedFile& file, bool write, uint64_t offset, uint64_t length, const Pieces& give) {
  constexpr uint64_t kLargest = static_cast<uint64_t>(INT64_MAX);
  if (offset > kLargest || length > kLargest - offset) {  // no file system has such files
    file.lost = true;
    return {};
  }
  const Result<int> fd = Descriptor(file);
  if (!fd) return tl::unexpected(fd.error());
  uint64_t at = offset;
  int trouble = 0;
  const bool given = give([&](Bytes bytes) {
    while (!bytes.empty() && trouble == 0) {
      const ssize_t n = pwrite(*fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (n > 0) {
        at += static_cast<uint64_t>(n);
        bytes = bytes.subspan(static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        trouble = n == 0 ? EIO : errno;
      }
    }
  });
  if (trouble == EFBIG || trouble == EINVAL) {  // an offset that this file system cannot hold
    file.lost = true;
    return {};
  }
  if (trouble != 0) {
    errno = trouble;
    return tl::unexpected(Trouble(file.path, "cannot write"));
  }
  if (!given || at != offset + length) {
    file.lost = true;
    return {};
  }
  session::RangeSet& ranges = write ? file.written : file.read;
  if (length > 0 && file.ranges_kept) {
    ranges.Add(offset, offset + length);
    file.covered.Add(offset, offset + length);
    file.ranges_kept = ranges.ranges().size() <= limits_.ranges && file.covered.ranges().size() <= limits_.ranges;
  }
  return {};
}

// Whether a file may get this name: from nothing, or from a file or link that is replaced.
bool FileStore::IsFree(const std::string& name) const {
  struct stat status {};
  if (::fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
  return !S_ISDIR(status.st_mode) && capture::InputThatIs(status).empty();
}

Result<void> FileStore::Finish() {
  std::set<std::string> taken;
  for (const ExtractedFile& file : files_) taken.insert(file.path);  // the parts of those that come later
  Result<void> finished;
  for (ExtractedFile& file : files_) {
    if (file.path.empty()) continue;
    if (const auto slot = slots_.find(&file); slot != slots_.end()) {
      if (::close(slot->second.fd) != 0 && finished) finished = tl::unexpected(Trouble(file.path, "cannot write"));
      slots_.erase(slot);
    }
    const std::string base = SafeFileName(file.name).empty() ? HandleName(file) + ".bin" : file.name;
    std::string name = SafeFileName(base);
    for (unsigned n = 2; !taken.insert(name).second || !IsFree(name); ++n) {
      const std::string suffix = fmt::format("~{}", n);
      name = SafeFileName(base, 255 - suffix.size()) + suffix;
    }
    if (finished && ::renameat(directory_, file.path.c_str(), directory_, name.c_str()) != 0)
      finished = tl::unexpected(Trouble(name, "cannot be given its name"));
    if (finished) {
      file.part->Keep();
      file.path = name;
    } else {
      file.path.clear();
    }
    file.part.reset();
  }
  for (const auto& directory : made_) directory->Keep();
  return finished;
}

}  // namespace stag::cli
