// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/memory_fs.h"

#include <algorithm>
#include <chrono>

namespace stag::serve {

namespace {

bool IsDot(std::string_view name) { return name == "." || name == ".."; }

NfsStatus CheckName(std::string_view name) {
  if (name.size() > MemoryFs::kMaxName) return NfsStatus::kNameTooLong;
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos) return NfsStatus::kInval;
  return NfsStatus::kOk;
}

}  // namespace

// Address space: for blocks, and as much for frames that are still in use when a block takes another, and for landings.
MemoryFs::MemoryFs(uint64_t capacity)
    : capacity_(std::max(capacity, kNodeCost)), frames_(2 * std::min(capacity_, UINT64_MAX / 4) + kLanding) {
  (void)Charge(kNodeCost);
  auto root = std::make_unique<Node>();
  root->id = root->parent = kRoot;
  root->generation = Random();
  root->type = FileType::kDirectory;
  root->mode = 0755;
  root->links = 2;
  root->mtime = root->ctime = Now();
  root->atime = root->mtime;
  nodes_.emplace(kRoot, std::move(root));
}

MemoryFs::Node* MemoryFs::Find(uint64_t id) {
  const auto at = nodes_.find(id);
  return at == nodes_.end() ? nullptr : at->second.get();
}

NfsStatus MemoryFs::Lookup(Node& directory, std::string_view name, Node*& found) {
  if (directory.type != FileType::kDirectory) return NfsStatus::kNotDir;
  if (IsDot(name)) {
    found = name == "." ? &directory : Find(directory.parent);
    return found ? NfsStatus::kOk : NfsStatus::kStale;
  }
  return FindOrdinary(directory, name, found);
}

NfsStatus MemoryFs::FindOrdinary(Node& directory, std::string_view name, Node*& found) {
  if (directory.type != FileType::kDirectory) return NfsStatus::kNotDir;
  if (const NfsStatus bad = CheckName(name); bad != NfsStatus::kOk) return bad;
  if (IsDot(name)) return NfsStatus::kInval;
  const auto cookie = directory.cookies.find(name);
  if (cookie == directory.cookies.end()) return NfsStatus::kNoEnt;
  found = Find(directory.entries.at(cookie->second).id);
  return found ? NfsStatus::kOk : NfsStatus::kNoEnt;
}

// Whether a node can get this name.
NfsStatus MemoryFs::CheckNew(const Node& directory, std::string_view name) const {
  if (directory.type != FileType::kDirectory) return NfsStatus::kNotDir;
  if (const NfsStatus bad = CheckName(name); bad != NfsStatus::kOk) return bad;
  if (IsDot(name) || directory.cookies.contains(name)) return NfsStatus::kExist;
  return directory.links == 0 ? NfsStatus::kStale : NfsStatus::kOk;
}

NfsStatus MemoryFs::Make(Node& directory, std::string_view name, FileType type, Node*& made) {
  if (const NfsStatus bad = CheckNew(directory, name); bad != NfsStatus::kOk) return bad;
  const bool is_directory = type == FileType::kDirectory;
  if (is_directory && directory.links == kMaxLinks) return NfsStatus::kNoSpace;
  if (!Charge(kNodeCost)) return NfsStatus::kNoSpace;
  auto node = std::make_unique<Node>();
  node->id = ++last_id_;
  node->generation = Random();
  node->type = type;
  node->links = 0;
  node->mtime = node->ctime = Now();
  node->atime = node->mtime;
  made = node.get();
  nodes_.emplace(node->id, std::move(node));
  Enter(directory, name, *made);
  if (is_directory) ++made->links;  // its own "."
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::MakeLink(Node& directory, std::string_view name, std::string_view target, Node*& made) {
  if (target.size() > kMaxPath) return NfsStatus::kNameTooLong;
  if (target.empty()) return NfsStatus::kInval;
  if (const NfsStatus bad = CheckNew(directory, name); bad != NfsStatus::kOk) return bad;
  if (!Charge(target.size())) return NfsStatus::kNoSpace;
  if (const NfsStatus bad = Make(directory, name, FileType::kLink, made); bad != NfsStatus::kOk) {
    used_ -= target.size();
    return bad;
  }
  made->target = target;
  made->size = made->used = target.size();
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::Link(Node& file, Node& directory, std::string_view name) {
  if (file.type == FileType::kDirectory) return NfsStatus::kInval;
  if (const NfsStatus bad = CheckNew(directory, name); bad != NfsStatus::kOk) return bad;
  if (file.links == kMaxLinks || !Charge(kEntryCost)) return NfsStatus::kNoSpace;
  Enter(directory, name, file);
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::Remove(Node& directory, std::string_view name) {
  Node* node = nullptr;
  if (const NfsStatus bad = FindOrdinary(directory, name, node); bad != NfsStatus::kOk) return bad;
  if (node->type == FileType::kDirectory) return NfsStatus::kIsDir;
  Leave(directory, name);
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::RemoveDirectory(Node& directory, std::string_view name) {
  Node* node = nullptr;
  if (name == "..") return NfsStatus::kExist;  // RFC 1813 section 3.3.13
  if (const NfsStatus bad = FindOrdinary(directory, name, node); bad != NfsStatus::kOk) return bad;
  if (node->type != FileType::kDirectory) return NfsStatus::kNotDir;
  if (!node->entries.empty()) return NfsStatus::kNotEmpty;
  Leave(directory, name);
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::Rename(Node& from, std::string_view from_name, Node& to, std::string_view to_name) {
  Node *node = nullptr, *there = nullptr;
  if (const NfsStatus bad = FindOrdinary(from, from_name, node); bad != NfsStatus::kOk) return bad;
  const NfsStatus target = FindOrdinary(to, to_name, there);
  if (target != NfsStatus::kOk && target != NfsStatus::kNoEnt) return target;
  if (node == there) return NfsStatus::kOk;
  const bool is_directory = node->type == FileType::kDirectory;
  if (is_directory) {  // not into itself
    for (Node* up = &to; up; up = up->id == kRoot ? nullptr : Find(up->parent))
      if (up == node) return NfsStatus::kInval;
    if (&from != &to && !there && to.links == kMaxLinks) return NfsStatus::kNoSpace;
  }
  if (there) {
    if (is_directory != (there->type == FileType::kDirectory)) return NfsStatus::kExist;
    if (!there->entries.empty()) return NfsStatus::kNotEmpty;
  }
  if (there) Leave(to, to_name);
  ++node->links;  // so that it does not go in between
  Leave(from, from_name);
  used_ += kEntryCost;  // Leave gave that back, and the link stays one
  Enter(to, to_name, *node);
  --node->links;
  return NfsStatus::kOk;
}

// The entry is charged for already.
void MemoryFs::Enter(Node& directory, std::string_view name, Node& node) {
  const uint64_t cookie = ++last_cookie_;
  directory.entries.emplace(cookie, Entry{std::string(name), node.id});
  directory.cookies.emplace(name, cookie);
  directory.size += 1;
  ++node.links;
  if (node.type == FileType::kDirectory) {
    node.parent = directory.id;
    ++directory.links;
  }
  directory.mtime = directory.ctime = node.ctime = Now();
}

void MemoryFs::Leave(Node& directory, std::string_view name) {
  const auto cookie = directory.cookies.find(name);
  Node& node = *Find(directory.entries.at(cookie->second).id);
  directory.entries.erase(cookie->second);
  directory.cookies.erase(cookie);
  directory.size -= 1;
  directory.mtime = directory.ctime = node.ctime = Now();
  --node.links;
  if (node.type == FileType::kDirectory) --directory.links;
  if (node.links == (node.type == FileType::kDirectory ? 1 : 0)) {
    Drop(node);
  } else {
    used_ -= kEntryCost;
  }
}

void MemoryFs::Drop(Node& node) {
  used_ -= node.used + kNodeCost;
  for (const auto& [number, block] : node.blocks) frames_.Return({block, kBlock});
  nodes_.erase(node.id);
}

NfsStatus MemoryFs::Set(Node& node, const NewAttributes& a) {
  if (a.size) {
    if (node.type == FileType::kDirectory) return NfsStatus::kIsDir;
    if (node.type != FileType::kRegular) return NfsStatus::kInval;
    if (const NfsStatus bad = Resize(node, *a.size); bad != NfsStatus::kOk) return bad;
  }
  const FileTime now = Now();
  if (a.mode) node.mode = *a.mode & 07777;
  if (a.uid) node.uid = *a.uid;
  if (a.gid) node.gid = *a.gid;
  if (a.size || a.mtime_now) node.mtime = now;
  if (a.mtime) node.mtime = *a.mtime;
  if (a.atime_now) node.atime = now;
  if (a.atime) node.atime = *a.atime;
  node.ctime = now;
  return NfsStatus::kOk;
}

NfsStatus MemoryFs::Resize(Node& file, uint64_t size) {
  if (size > kMaxFileSize) return NfsStatus::kFileTooBig;
  if (size < file.size) {
    if (const auto last = file.blocks.find(size / kBlock); size % kBlock != 0 && last != file.blocks.end()) {
      std::byte* const own = Own(last->second);
      if (!own) return NfsStatus::kNoSpace;
      last->second = own;
      std::fill(own + size % kBlock, own + kBlock, std::byte{});
    }
    std::erase_if(file.blocks, [&](const auto& block) {
      if (block.first * kBlock < size) return false;
      frames_.Return({block.second, kBlock});
      file.used -= kBlock;
      used_ -= kBlock;
      return true;
    });
  }
  file.size = size;
  return NfsStatus::kOk;
}

// The block, or a copy in its place when somebody else uses it; nullptr: no memory.
std::byte* MemoryFs::Own(std::byte* block) {
  if (!frames_.shared(block)) return block;
  std::byte* const copy = frames_.Take(1).data();
  if (!copy) return nullptr;
  std::memcpy(copy, block, kBlock);
  frames_.Return({block, kBlock});
  return copy;
}

NfsStatus MemoryFs::Write(Node& file, uint64_t offset, Bytes data) {
  if (file.type == FileType::kDirectory) return NfsStatus::kIsDir;
  if (file.type != FileType::kRegular) return NfsStatus::kInval;
  if (offset > kMaxFileSize || data.size() > kMaxFileSize - offset) return NfsStatus::kFileTooBig;
  if (data.empty()) return NfsStatus::kOk;
  const uint64_t end = offset + data.size();
  uint64_t missing = 0;
  for (uint64_t block = offset / kBlock; block * kBlock < end; ++block) missing += file.blocks.contains(block) ? 0 : 1;
  if (!Charge(missing * kBlock)) return NfsStatus::kNoSpace;
  const bool landed = frames_.Has(data);
  for (uint64_t at = offset; at < end;) {
    std::byte*& block = file.blocks[at / kBlock];
    const bool hole = !block;
    const auto n = static_cast<size_t>(std::min(end - at, kBlock - at % kBlock));
    const Bytes part = data.subspan(static_cast<size_t>(at - offset), n);
    if (landed && n == kBlock && frames_.IsWhole(part)) {
      frames_.Share(part);
      if (block) frames_.Return({block, kBlock});
      // Those who lent it read it, at most.
      block = const_cast<std::byte*>(part.data());
    } else {
      std::byte* const own = block ? Own(block) : frames_.Take(1).data();
      if (!own) {  // the machine has less memory than it was told
        if (!block) file.blocks.erase(at / kBlock);
        used_ -= missing * kBlock;
        return NfsStatus::kNoSpace;
      }
      if (!block) std::memset(own, 0, at % kBlock), std::memset(own + at % kBlock + n, 0, kBlock - at % kBlock - n);
      block = own;
      std::memcpy(block + at % kBlock, part.data(), n);
    }
    file.used += hole ? kBlock : 0;
    missing -= hole ? 1 : 0;
    at += n;
  }
  file.size = std::max(file.size, end);
  file.mtime = file.ctime = Now();
  return NfsStatus::kOk;
}

MutableBytes MemoryFs::Land(uint64_t bytes) {
  // As much as all files may have stays for them.
  return frames_.Take(static_cast<size_t>((bytes + kBlock - 1) / kBlock),
                      std::min(capacity_, UINT64_MAX / 4) + kLanding);
}

bool MemoryFs::Charge(uint64_t bytes) {
  uint64_t used = used_.load();
  do {
    if (bytes > capacity_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

// Strictly increasing, so that every change shows in the times (weak cache consistency).
FileTime MemoryFs::Now() {
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(clock).count();
  int64_t last = last_time_.load(), next = 0;
  do next = std::max(now, last + 1);
  while (!last_time_.compare_exchange_weak(last, next));
  return {static_cast<uint32_t>(next / 1'000'000'000), static_cast<uint32_t>(next % 1'000'000'000)};
}

}  // namespace stag::serve
