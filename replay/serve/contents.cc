// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a MemoryFs holds at first: files of a pattern, and copies of a directory of this machine.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "replay/serve/nfs_memory.h"

namespace stag::serve {
namespace {

namespace files = std::filesystem;
constexpr uint64_t kPiece = 251 * 4096;  // whole periods of the pattern

std::string Why(NfsStatus status) {
  switch (status) {
    case NfsStatus::kNoSpace: return "there is not enough memory for it (--memory)";
    case NfsStatus::kExist: return "there is something of that name";
    case NfsStatus::kNameTooLong: return "the name is too long";
    case NfsStatus::kFileTooBig: return "it is too large";
    default: return "this is no name for a file";
  }
}

void Furnish(MemoryFs& fs, MemoryFs::Node& node, const struct stat& from) {
  NewAttributes a;
  a.mode = from.st_mode;
  a.uid = from.st_uid;
  a.gid = from.st_gid;
  a.mtime = {static_cast<uint32_t>(from.st_mtim.tv_sec), static_cast<uint32_t>(from.st_mtim.tv_nsec)};
  a.atime = {static_cast<uint32_t>(from.st_atim.tv_sec), static_cast<uint32_t>(from.st_atim.tv_nsec)};
  (void)fs.Set(node, a);
}

Result<void> CopyContent(MemoryFs& fs, MemoryFs::Node& node, const files::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  std::vector<char> piece(kPiece);
  for (uint64_t at = 0; in; at += static_cast<uint64_t>(in.gcount())) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const Bytes data = std::as_bytes(std::span(piece).first(static_cast<size_t>(in.gcount())));
    if (const NfsStatus status = fs.Write(node, at, data); status != NfsStatus::kOk)
      return Fail(fmt::format("{}: {}", path.string(), Why(status)));
  }
  if (in.bad()) return Fail(fmt::format("{}: cannot be read", path.string()));
  return {};
}

Result<void> CopyEntry(MemoryFs& fs, MemoryFs::Node& to, const files::path& path);

Result<void> CopyEntries(MemoryFs& fs, MemoryFs::Node& to, const files::path& directory) {
  std::error_code error;
  files::directory_iterator entry(directory, error);
  for (; !error && entry != files::directory_iterator(); entry.increment(error))
    if (auto copied = CopyEntry(fs, to, entry->path()); !copied) return copied;
  if (error) return Fail(fmt::format("{}: {}", directory.string(), error.message()));
  return {};
}

Result<void> CopyEntry(MemoryFs& fs, MemoryFs::Node& to, const files::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Fail(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  const std::string name = path.filename().string();
  MemoryFs::Node* node = nullptr;
  NfsStatus status = NfsStatus::kOk;
  if (S_ISDIR(info.st_mode)) {
    status = fs.Make(to, name, FileType::kDirectory, node);
    if (node)
      if (auto copied = CopyEntries(fs, *node, path); !copied) return copied;
  } else if (S_ISREG(info.st_mode)) {
    status = fs.Make(to, name, FileType::kRegular, node);
    if (node)
      if (auto copied = CopyContent(fs, *node, path); !copied) return copied;
  } else if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    const std::string target = files::read_symlink(path, error).string();
    if (error) return Fail(fmt::format("{}: {}", path.string(), error.message()));
    status = fs.MakeLink(to, name, target, node);
  }
  if (status != NfsStatus::kOk) return Fail(fmt::format("{}: {}", path.string(), Why(status)));
  if (node) Furnish(fs, *node, info);
  return {};
}

}  // namespace

Result<void> AddPatternFile(MemoryFs& fs, std::string_view name, uint64_t size) {
  MemoryFs::Node* node = nullptr;
  NfsStatus status = fs.Make(fs.root(), name, FileType::kRegular, node);
  std::vector<std::byte> piece(static_cast<size_t>(std::min(size, kPiece)));
  for (size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<std::byte>(i % 251);
  for (uint64_t at = 0; at < size && status == NfsStatus::kOk; at += kPiece)
    status = fs.Write(*node, at, Bytes(piece).first(static_cast<size_t>(std::min(size - at, kPiece))));
  if (status != NfsStatus::kOk) return Fail(fmt::format("{}: {}", name, Why(status)));
  (void)fs.Set(*node, {.mode = 0644});
  return {};
}

Result<void> AddDirectory(MemoryFs& fs, const std::string& directory) { return CopyEntries(fs, fs.root(), directory); }

}  // namespace stag::serve
