// SPDX-License-Identifier: GPL-2.0-or-later
//
// The procedures of NFSv3 on names in directories.
#include <algorithm>

#include "replay/serve/nfs3.h"

namespace stag::serve {

Nfs3Program::Place Nfs3Program::GetPlace(Cursor& in) {
  const Bytes directory = GetHandle(in);
  return {directory, rpcrdma::GetString(in)};
}

void Nfs3Program::Lookup(Context& c) {
  const Place place = GetPlace(c.in);
  if (!c.in.ok()) return;
  Node *directory = nullptr, *found = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  if (status == NfsStatus::kOk) status = fs_.Lookup(*directory, place.name, found);
  PutStatus(c.out, status);
  if (status == NfsStatus::kOk) {
    PutHandle(c.out, fs_, *found);
    PutPresent(c.out, found);
  }
  PutPresent(c.out, directory);
}

NfsStatus Nfs3Program::Furnish(const Context& c, Node& directory, std::string_view name, Node& made,
                               const NewAttributes& given) {
  NewAttributes attributes = given;
  if (!given.uid) attributes.uid = c.uid;
  if (!given.gid) attributes.gid = c.gid;
  if (made.type != FileType::kRegular) attributes.size.reset();
  const NfsStatus status = fs_.Set(made, attributes);
  if (status != NfsStatus::kOk) (void)fs_.Remove(directory, name);  // only a size can be refused: a regular file
  return status;
}

void Nfs3Program::PutMade(Context& c, NfsStatus status, const Wcc& before, const Node* directory, const Node* made) {
  PutStatus(c.out, status);
  if (status == NfsStatus::kOk) {
    rpcrdma::PutBool(c.out, true);
    PutHandle(c.out, fs_, *made);
    PutPostAttributes(c.out, fs_, made);
  }
  before.Put(c.out, fs_, directory);
}

void Nfs3Program::Create(Context& c) {
  enum : uint32_t { kUnchecked = 0, kGuarded = 1, kExclusive = 2 };
  const Place place = GetPlace(c.in);
  const uint32_t how = c.in.U32();
  if (how > kExclusive) c.in.Fail(ParseStatus::kMalformed);
  NewAttributes attributes;
  uint64_t verifier = 0;
  if (how == kExclusive) {
    verifier = c.in.U64();
  } else {
    attributes = GetNewAttributes(c.in);
  }
  if (!c.in.ok()) return;

  Node *directory = nullptr, *node = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) {
    status = fs_.Make(*directory, place.name, FileType::kRegular, node);
    if (status == NfsStatus::kOk) {
      if (how == kExclusive) node->exclusive = verifier;
      status = Furnish(c, *directory, place.name, *node, attributes);
    } else if (status == NfsStatus::kExist && how != kGuarded &&
               fs_.Lookup(*directory, place.name, node) == NfsStatus::kOk && node->type == FileType::kRegular) {
      if (how == kExclusive) {
        if (node->exclusive == verifier) status = NfsStatus::kOk;
      } else {
        status = attributes.size ? fs_.Set(*node, {.size = attributes.size}) : NfsStatus::kOk;
      }
    }
  }
  PutMade(c, status, before, directory, node);
}

void Nfs3Program::Mkdir(Context& c) {
  const Place place = GetPlace(c.in);
  const NewAttributes attributes = GetNewAttributes(c.in);
  if (!c.in.ok()) return;
  Node *directory = nullptr, *made = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) status = fs_.Make(*directory, place.name, FileType::kDirectory, made);
  if (status == NfsStatus::kOk) status = Furnish(c, *directory, place.name, *made, attributes);
  PutMade(c, status, before, directory, made);
}

void Nfs3Program::Symlink(Context& c) {
  const Place place = GetPlace(c.in);
  const NewAttributes attributes = GetNewAttributes(c.in);
  const std::string_view target = rpcrdma::GetString(c.in);
  if (!c.in.ok()) return;
  Node *directory = nullptr, *made = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) status = fs_.MakeLink(*directory, place.name, target, made);
  if (status == NfsStatus::kOk) status = Furnish(c, *directory, place.name, *made, attributes);
  PutMade(c, status, before, directory, made);
}

void Nfs3Program::Mknod(Context& c) {
  const Place place = GetPlace(c.in);
  const uint32_t word = c.in.U32();
  if (word < 1 || word > 7) c.in.Fail(ParseStatus::kMalformed);
  const auto type = static_cast<FileType>(word);
  const bool device = type == FileType::kCharacter || type == FileType::kBlock;
  const bool possible = device || type == FileType::kSocket || type == FileType::kFifo;
  NewAttributes attributes;
  if (possible) attributes = GetNewAttributes(c.in);
  const uint32_t major = device ? c.in.U32() : 0;
  const uint32_t minor = device ? c.in.U32() : 0;
  if (!c.in.ok()) return;
  Node *directory = nullptr, *made = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) status = possible ? fs_.Make(*directory, place.name, type, made) : NfsStatus::kBadType;
  if (status == NfsStatus::kOk) {
    made->device_major = major;
    made->device_minor = minor;
    status = Furnish(c, *directory, place.name, *made, attributes);
  }
  PutMade(c, status, before, directory, made);
}

void Nfs3Program::RemoveFrom(Context& c, NfsStatus (MemoryFs::*how)(Node&, std::string_view)) {
  const Place place = GetPlace(c.in);
  if (!c.in.ok()) return;
  Node* directory = nullptr;
  NfsStatus status = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) status = (fs_.*how)(*directory, place.name);
  PutStatus(c.out, status);
  before.Put(c.out, fs_, directory);
}
void Nfs3Program::Remove(Context& c) { RemoveFrom(c, &MemoryFs::Remove); }
void Nfs3Program::Rmdir(Context& c) { RemoveFrom(c, &MemoryFs::RemoveDirectory); }

void Nfs3Program::Rename(Context& c) {
  const Place from = GetPlace(c.in);
  const Place to = GetPlace(c.in);
  if (!c.in.ok()) return;
  Node *from_directory = nullptr, *to_directory = nullptr;
  NfsStatus status = Resolve(fs_, from.directory, from_directory);
  const NfsStatus second = Resolve(fs_, to.directory, to_directory);
  const Wcc from_before(from_directory), to_before(to_directory);
  if (status == NfsStatus::kOk) status = second;
  if (status == NfsStatus::kOk) status = fs_.Rename(*from_directory, from.name, *to_directory, to.name);
  PutStatus(c.out, status);
  from_before.Put(c.out, fs_, from_directory);
  to_before.Put(c.out, fs_, to_directory);
}

void Nfs3Program::Link(Context& c) {
  const Bytes handle = GetHandle(c.in);
  const Place place = GetPlace(c.in);
  if (!c.in.ok()) return;
  Node *file = nullptr, *directory = nullptr;
  NfsStatus status = Resolve(fs_, handle, file);
  const NfsStatus second = Resolve(fs_, place.directory, directory);
  const Wcc before(directory);
  if (status == NfsStatus::kOk) status = second;
  if (status == NfsStatus::kOk) status = fs_.Link(*file, *directory, place.name);
  PutStatus(c.out, status);
  PutPostAttributes(c.out, fs_, file);
  before.Put(c.out, fs_, directory);
}

void Nfs3Program::Readdir(Context& c) {
  const Position from{GetHandle(c.in), c.in.U64(), c.in.U64()};
  const uint32_t count = c.in.U32();
  if (c.in.ok()) List(c, from, count, count, false);
}

void Nfs3Program::Readdirplus(Context& c) {
  const Position from{GetHandle(c.in), c.in.U64(), c.in.U64()};
  const uint32_t names = c.in.U32();
  const uint32_t all = c.in.U32();
  if (c.in.ok()) List(c, from, names, all, true);
}

// Entries behind `from`, in at most `all_bytes` of READDIR3resok or READDIRPLUS3resok; the fileids, names and cookies
// take about `name_bytes` (a hint, of which the first entry takes no notice). A cookie stays good as long as its
// directory, so the verifier is zero.
void Nfs3Program::List(Context& c, const Position& from, uint64_t name_bytes, uint64_t all_bytes, bool plus) {
  constexpr uint64_t kFrame = kPostAttributesSize + 8 + 4 + 4;  // attributes, verifier, end of the list, eof
  constexpr uint64_t kDot = 1, kDotDot = 2;
  Node* directory = nullptr;
  NfsStatus status = Resolve(fs_, from.directory, directory);
  if (directory && directory->type != FileType::kDirectory) status = NfsStatus::kNotDir;
  if (status == NfsStatus::kOk && from.verifier != 0) status = NfsStatus::kBadCookie;
  all_bytes = std::min<uint64_t>(all_bytes, max_transfer_);
  if (status == NfsStatus::kOk && all_bytes < kFrame) status = NfsStatus::kTooSmall;
  const size_t start = c.out.size();
  PutStatus(c.out, status);
  PutPresent(c.out, directory);
  if (status != NfsStatus::kOk) return;
  c.out.U64(0);

  const size_t first = c.out.size();
  const uint64_t room = all_bytes - kFrame;
  uint64_t names = 0;
  bool full = false, any = false;
  const auto put = [&](const Node& node, std::string_view name, uint64_t cookie) {
    if (full || cookie <= from.cookie) return;
    names += 8 + 4 + RoundUp4(name.size()) + 8;
    const uint64_t used = c.out.size() - first;
    full = (any && names > name_bytes) || !PutEntry(c.out, node, name, cookie, room - used, plus);
    any |= !full;
  };
  put(*directory, ".", kDot);
  put(*fs_.Find(directory->parent), "..", kDotDot);
  for (auto entry = directory->entries.upper_bound(from.cookie); entry != directory->entries.end() && !full; ++entry)
    put(*fs_.Find(entry->second.id), entry->second.name, entry->first);
  if (full && !any) {
    c.reply.message.resize(start);
    PutStatus(c.out, NfsStatus::kTooSmall);
    return PutPresent(c.out, directory);
  }
  rpcrdma::PutBool(c.out, false);
  rpcrdma::PutBool(c.out, !full);  // eof
}

bool Nfs3Program::PutEntry(Writer& out, const Node& node, std::string_view name, uint64_t cookie, uint64_t room,
                           bool plus) const {
  const uint64_t size = 4 + 8 + 4 + RoundUp4(name.size()) + 8 + (plus ? kPostAttributesSize + 4 + 4 + kHandleSize : 0);
  if (size > room) return false;
  rpcrdma::PutBool(out, true);
  out.U64(node.id);
  rpcrdma::PutString(out, name);
  out.U64(cookie);
  if (plus) {
    PutPresent(out, &node);
    rpcrdma::PutBool(out, true);
    PutHandle(out, fs_, node);
  }
  return true;
}

}  // namespace stag::serve
