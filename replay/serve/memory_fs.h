// SPDX-License-Identifier: GPL-2.0-or-later
//
// MemoryFs: a file system in memory, with the semantics of NFSv3 (RFC 1813) and nothing of its encoding. Everybody may
// do everything: permissions are kept, not enforced. Memory is bounded by `capacity`.
//
// Threads: who calls anything holds `tree()`: alone for what changes names, nodes or attributes, shared for Find,
// Lookup, Read and Write. With a shared `tree()`, regular files may change: their attributes are looked at with a
// shared `Node::lock`, Read needs that, too, and Write holds it alone. Nobody holds two such locks at a time. What Read
// gave is used without any lock: Write puts other frames in the place of those that somebody else uses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/serve/frames.h"

namespace stag::serve {

// nfsstat3 (RFC 1813 section 2.6), those that are used.
enum class NfsStatus : uint32_t {
  kOk = 0,
  kNoEnt = 2,
  kExist = 17,
  kNotDir = 20,
  kIsDir = 21,
  kInval = 22,
  kFileTooBig = 27,
  kNoSpace = 28,
  kNameTooLong = 63,
  kNotEmpty = 66,
  kStale = 70,
  kBadHandle = 10001,
  kNotSync = 10002,
  kBadCookie = 10003,
  kTooSmall = 10005,
  kBadType = 10007,
};

enum class FileType : uint32_t {
  kRegular = 1,
  kDirectory = 2,
  kBlock = 3,
  kCharacter = 4,
  kLink = 5,
  kSocket = 6,
  kFifo = 7
};

struct alignas(8) FileTime {  // aligned: an atomic one needs no lock
  uint32_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileTime&) const = default;
};

// What sattr3 sets (RFC 1813 section 2.6); nullopt: stays.
struct NewAttributes {
  std::optional<uint32_t> mode = {}, uid = {}, gid = {};
  std::optional<uint64_t> size = {};
  std::optional<FileTime> atime = {}, mtime = {};
  bool atime_now = false, mtime_now = false;
};

// A shared mutex that readers cannot keep from who wants it alone: who waits for that lets no more readers in.
class FairSharedMutex {
 public:
  void lock() {
    const std::scoped_lock gate(gate_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::scoped_lock gate(gate_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex gate_;
  std::shared_mutex mutex_;
};

class MemoryFs {
 public:
  static constexpr size_t kMaxName = 255, kMaxPath = 4096;
  static constexpr uint64_t kMaxFileSize = INT64_MAX;
  static constexpr uint32_t kMaxLinks = 65535;

  struct Entry {
    std::string name;
    uint64_t id = 0;
  };
  struct Node {
    uint64_t id = 0, generation = 0;
    FileType type = FileType::kRegular;
    uint32_t mode = 0, links = 1, uid = 0, gid = 0;
    uint32_t device_major = 0, device_minor = 0;
    uint64_t size = 0, used = 0;  // bytes; `used`: of memory
    std::atomic<FileTime> atime;  // READs with a shared lock set it
    FileTime mtime, ctime;
    std::optional<uint64_t> exclusive;  // verifier of the EXCLUSIVE CREATE that made it (section 3.3.8)

    std::string target;                 // kLink
    uint64_t parent = 0;                // kDirectory
    std::map<uint64_t, Entry> entries;  // by cookie: in order of their making, a cookie is never used again
    std::map<std::string, uint64_t, std::less<>> cookies;  // by name
    std::unordered_map<uint64_t, std::byte*> blocks;       // kRegular; frames. A missing one is a hole
    mutable std::shared_mutex lock;
  };

  // `capacity`: bytes that contents, names and nodes may take.
  explicit MemoryFs(uint64_t capacity);
  FairSharedMutex& tree() { return tree_; }

  Node& root() { return *nodes_.at(kRoot); }
  Node* Find(uint64_t id);  // nullptr: there is none (any more)
  // A random number of this file system: handles of another one are stale, and its writes are lost.
  uint64_t instance() const { return instance_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  uint64_t free_nodes() const { return (capacity_ - used_) / kNodeCost; }
  uint64_t nodes() const { return nodes_.size(); }

  // `found` is set when the status is kOk. "." and ".." are looked up, too; names are made, removed and renamed only
  // when they are ordinary ones.
  NfsStatus Lookup(Node& directory, std::string_view name, Node*& found);
  // A new node with `mode` 0 and no owner.
  NfsStatus Make(Node& directory, std::string_view name, FileType type, Node*& made);
  NfsStatus MakeLink(Node& directory, std::string_view name, std::string_view target, Node*& made);
  NfsStatus Link(Node& file, Node& directory, std::string_view name);
  NfsStatus Remove(Node& directory, std::string_view name);
  NfsStatus RemoveDirectory(Node& directory, std::string_view name);
  NfsStatus Rename(Node& from, std::string_view from_name, Node& to, std::string_view to_name);

  NfsStatus Set(Node& node, const NewAttributes& attributes);
  // Data that fill a block and have a frame of frames() for themselves become the block; others are copied.
  NfsStatus Write(Node& file, uint64_t offset, Bytes data);
  // `count` bytes from `offset` on, all within the file, in order: put(bytes, 0) for bytes that stay where they are,
  // valid as long as the lock, or until frames().Return once they are given to frames().Share; put({}, n) for n zeros.
  template <typename Fn>
  void Read(Node& file, uint64_t offset, uint64_t count, Fn put) {
    const uint64_t end = offset + count;
    for (uint64_t at = offset, n = 0; at < end; at += n) {
      n = std::min(end - at, kBlock - at % kBlock);
      const auto block = file.blocks.find(at / kBlock);
      const bool hole = block == file.blocks.end();
      put(hole ? Bytes{} : Bytes(block->second + at % kBlock, static_cast<size_t>(n)), hole ? n : 0);
    }
    file.atime = Now();
  }
  // Memory that the contents of files are in.
  Frames& frames() { return frames_; }
  // Memory for `bytes` of a Call's: what WRITEs bring may become a file's blocks. Empty: too much is under way.
  MutableBytes Land(uint64_t bytes);

 private:
  static constexpr uint64_t kRoot = 1, kFirstCookie = 3;  // cookies 1 and 2 are those of "." and ".."
  static constexpr uint64_t kBlock = Frames::kFrame, kLanding = uint64_t{64} << 20, kNodeCost = 1024, kEntryCost = 512;

  NfsStatus Resize(Node& file, uint64_t size);
  NfsStatus CheckNew(const Node& directory, std::string_view name) const;
  NfsStatus FindOrdinary(Node& directory, std::string_view name, Node*& found);
  void Enter(Node& directory, std::string_view name, Node& node);
  void Leave(Node& directory, std::string_view name);
  void Drop(Node& node);
  std::byte* Own(std::byte* block);
  bool Charge(uint64_t bytes);
  FileTime Now();
  uint64_t Random() { return uint64_t{entropy_()} << 32 | entropy_(); }

  const uint64_t capacity_;
  FairSharedMutex tree_;
  std::atomic<uint64_t> used_ = 0;
  uint64_t last_id_ = kRoot, last_cookie_ = kFirstCookie;
  std::atomic<int64_t> last_time_ = 0;
  std::random_device entropy_;
  const uint64_t instance_ = Random();
  std::unordered_map<uint64_t, std::unique_ptr<Node>> nodes_;
  Frames frames_;
};

}  // namespace stag::serve
