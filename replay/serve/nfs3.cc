// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/nfs3.h"

#include <algorithm>

#include "protocol/nfs/walk.h"

namespace stag::serve {

const Nfs3Program::Procedure Nfs3Program::kProcedures[] = {
    {},  // NULL is answered by RpcService
    {&Nfs3Program::Getattr},
    {&Nfs3Program::Setattr, true},
    {&Nfs3Program::Lookup},
    {&Nfs3Program::Access},
    {&Nfs3Program::Readlink},
    {&Nfs3Program::Read},
    {&Nfs3Program::Write},
    {&Nfs3Program::Create, true},
    {&Nfs3Program::Mkdir, true},
    {&Nfs3Program::Symlink, true},
    {&Nfs3Program::Mknod, true},
    {&Nfs3Program::Remove, true},
    {&Nfs3Program::Rmdir, true},
    {&Nfs3Program::Rename, true},
    {&Nfs3Program::Link, true},
    {&Nfs3Program::Readdir},
    {&Nfs3Program::Readdirplus},
    {&Nfs3Program::Fsstat},
    {&Nfs3Program::Fsinfo},
    {&Nfs3Program::Pathconf},
    {&Nfs3Program::Commit},
};

Nfs3Program::Nfs3Program(MemoryFs& fs, uint32_t max_transfer)
    : RpcProgram({nfs::kNfsProgram, 3, 3}), fs_(fs), max_transfer_(std::max(max_transfer, 4096u)) {}

rpc::AcceptStat Nfs3Program::OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) {
  if (call.procedure >= std::size(kProcedures)) return rpc::kProcUnavail;
  Context context{arguments, Writer(reply.message), reply};
  if (call.credential.flavor == rpc::kAuthSys) {
    const rpc::AuthSys auth = rpc::DecodeAuthSys(call.credential.body);
    context.uid = auth.uid;
    context.gid = auth.gid;
  }
  const Procedure& procedure = kProcedures[call.procedure];
  if (procedure.alone) {
    const std::unique_lock lock(fs_.tree());
    (this->*procedure.run)(context);
  } else {
    const std::shared_lock lock(fs_.tree());
    (this->*procedure.run)(context);
  }
  return arguments.ok() ? rpc::kSuccess : rpc::kGarbageArgs;
}

void Nfs3Program::PutPresent(Writer& out, const Node* node) const {
  std::shared_lock<std::shared_mutex> lock;
  if (node) lock = std::shared_lock(node->lock);
  PutPostAttributes(out, fs_, node);
}

void Nfs3Program::Getattr(Context& c) {
  const Bytes handle = GetHandle(c.in);
  if (!c.in.ok()) return;
  Node* node = nullptr;
  const NfsStatus status = Resolve(fs_, handle, node);
  PutStatus(c.out, status);
  if (!node) return;
  const std::shared_lock lock(node->lock);
  PutAttributes(c.out, fs_, *node);
}

void Nfs3Program::Setattr(Context& c) {
  const Bytes handle = GetHandle(c.in);
  const NewAttributes attributes = GetNewAttributes(c.in);
  const bool guarded = rpcrdma::GetBool(c.in);
  FileTime guard;
  if (guarded) {
    guard.seconds = c.in.U32();
    guard.nanoseconds = c.in.U32();
  }
  if (!c.in.ok()) return;
  Node* node = nullptr;
  NfsStatus status = Resolve(fs_, handle, node);
  const Wcc before(node);
  if (node) status = guarded && guard != node->ctime ? NfsStatus::kNotSync : fs_.Set(*node, attributes);
  PutStatus(c.out, status);
  before.Put(c.out, fs_, node);
}

// Everything that makes sense for the kind of file is allowed.
void Nfs3Program::Access(Context& c) {
  enum : uint32_t { kRead = 1, kLookup = 2, kModify = 4, kExtend = 8, kDelete = 16, kExecute = 32 };
  const Bytes handle = GetHandle(c.in);
  const uint32_t wanted = c.in.U32();
  if (!c.in.ok()) return;
  Node* node = nullptr;
  PutStatus(c.out, Resolve(fs_, handle, node));
  PutPresent(c.out, node);
  if (!node) return;
  const bool directory = node->type == FileType::kDirectory;
  c.out.U32(wanted & (kRead | kModify | kExtend | (directory ? kLookup | kDelete : kExecute)));
}

void Nfs3Program::Readlink(Context& c) {
  const Bytes handle = GetHandle(c.in);
  if (!c.in.ok()) return;
  Node* node = nullptr;
  NfsStatus status = Resolve(fs_, handle, node);
  if (status == NfsStatus::kOk && node->type != FileType::kLink) status = NfsStatus::kInval;
  PutStatus(c.out, status);
  PutPresent(c.out, node);
  if (status != NfsStatus::kOk) return;
  c.reply.items.push_back({c.out.size() + 4, static_cast<uint32_t>(node->target.size())});
  rpcrdma::PutString(c.out, node->target);
}

void Nfs3Program::Read(Context& c) {
  const Bytes handle = GetHandle(c.in);
  const uint64_t offset = c.in.U64();
  const uint32_t wanted = c.in.U32();
  if (!c.in.ok()) return;
  Node* node = nullptr;
  NfsStatus status = Resolve(fs_, handle, node);
  if (status == NfsStatus::kOk && node->type != FileType::kRegular)
    status = node->type == FileType::kDirectory ? NfsStatus::kIsDir : NfsStatus::kInval;
  PutStatus(c.out, status);
  if (status != NfsStatus::kOk) return PutPresent(c.out, node);
  const std::shared_lock lock(node->lock);
  const uint64_t left = node->size - std::min(offset, node->size);
  const auto count = static_cast<uint32_t>(std::min<uint64_t>({left, wanted, max_transfer_}));
  PutPostAttributes(c.out, fs_, node);
  c.out.U32(count);
  rpcrdma::PutBool(c.out, count == left);
  c.out.U32(count);
  c.reply.items.push_back({c.out.size(), count});
  PutContents(c, *node, offset, count);
  c.out.Zeros(static_cast<size_t>(RoundUp4(count) - count));
}

// Large contents stay where they are: the Reply has views of them.
void Nfs3Program::PutContents(Context& c, Node& file, uint64_t offset, uint32_t count) {
  constexpr uint32_t kWorthAView = 4096;
  std::vector<rpcrdma::ReplyView>& views = c.reply.views;
  fs_.Read(file, offset, count, [&](Bytes bytes, uint64_t zeros) {
    if (zeros > 0) return c.out.Zeros(static_cast<size_t>(zeros));
    if (count < kWorthAView) return c.out.Put(bytes);
    fs_.frames().Share(bytes);
    c.reply.lender = &fs_.frames();
    const MutableBytes slab = fs_.frames().slab(bytes.data());
    const bool goes_on = !views.empty() && views.back().at == c.out.size() &&
                         views.back().bytes.data() + views.back().bytes.size() == bytes.data() &&
                         views.back().memory.data() == slab.data();
    if (!goes_on) return views.push_back({c.out.size(), bytes, slab});
    views.back().bytes = {views.back().bytes.data(), views.back().bytes.size() + bytes.size()};
  });
}

// The data of a WRITE that fill blocks land in frames, which become the blocks; the Call before them in the frame
// before.
rpcrdma::Landing Nfs3Program::Land(uint64_t before, uint64_t item, uint64_t after) {
  constexpr uint64_t kFrame = Frames::kFrame;
  if (item < kFrame || before > kFrame || before + item + after > Frames::kSlab) return {};
  const MutableBytes taken = fs_.Land(kFrame + item + after);
  if (taken.empty()) return {};
  const auto skip = static_cast<size_t>(kFrame - before);
  const MutableBytes call = taken.subspan(skip, static_cast<size_t>(before + item + after));
  return {call, fs_.frames().slab(taken.data()), fs_.frames()};
}

void Nfs3Program::Write(Context& c) {
  constexpr uint32_t kFileSync = 2;
  const Bytes handle = GetHandle(c.in);
  const uint64_t offset = c.in.U64();
  const uint32_t count = c.in.U32();
  const uint32_t stable = c.in.U32();
  Bytes data = rpcrdma::GetOpaque(c.in);
  if (stable > kFileSync || count > data.size()) c.in.Fail(ParseStatus::kMalformed);
  if (!c.in.ok()) return;
  data = data.first(std::min(count, max_transfer_));
  Node* node = nullptr;
  NfsStatus status = Resolve(fs_, handle, node);
  std::unique_lock<std::shared_mutex> lock;
  if (node) lock = std::unique_lock(node->lock);
  const Wcc before(node);
  if (node) status = fs_.Write(*node, offset, data);
  PutStatus(c.out, status);
  before.Put(c.out, fs_, node);
  if (status != NfsStatus::kOk) return;
  c.out.U32(static_cast<uint32_t>(data.size()));
  c.out.U32(stable);  // it is as safe as it will ever be
  c.out.U64(fs_.instance());
}

void Nfs3Program::Commit(Context& c) {
  const Bytes handle = GetHandle(c.in);
  c.in.Skip(8 + 4);  // offset, count
  if (!c.in.ok()) return;
  Node* node = nullptr;
  NfsStatus status = Resolve(fs_, handle, node);
  if (status == NfsStatus::kOk && node->type != FileType::kRegular) status = NfsStatus::kInval;
  PutStatus(c.out, status);
  std::shared_lock<std::shared_mutex> lock;
  if (node) lock = std::shared_lock(node->lock);
  Wcc(node).Put(c.out, fs_, node);
  if (status == NfsStatus::kOk) c.out.U64(fs_.instance());
}

bool Nfs3Program::About(Context& c) {
  const Bytes handle = GetHandle(c.in);
  if (!c.in.ok()) return false;
  Node* node = nullptr;
  PutStatus(c.out, Resolve(fs_, handle, node));
  PutPresent(c.out, node);
  return node != nullptr;
}

void Nfs3Program::Fsstat(Context& c) {
  if (!About(c)) return;
  const uint64_t free = fs_.capacity() - fs_.used();
  for (const uint64_t bytes : {fs_.capacity(), free, free}) c.out.U64(bytes);
  for (const uint64_t files : {fs_.nodes() + fs_.free_nodes(), fs_.free_nodes(), fs_.free_nodes()}) c.out.U64(files);
  c.out.U32(0);  // seconds that this will not change for
}

void Nfs3Program::Fsinfo(Context& c) {
  constexpr uint32_t kMultiple = 4096, kDirectory = 32768;
  constexpr uint32_t kLinks = 1, kSymlinks = 2, kHomogeneous = 8, kCanSetTime = 16;
  if (!About(c)) return;
  for (int i = 0; i < 2; ++i)  // of READ, of WRITE
    for (const uint32_t bytes : {max_transfer_, max_transfer_, kMultiple}) c.out.U32(bytes);
  c.out.U32(std::min(kDirectory, max_transfer_));
  c.out.U64(MemoryFs::kMaxFileSize);
  PutTime(c.out, {0, 1});
  c.out.U32(kLinks | kSymlinks | kHomogeneous | kCanSetTime);
}

void Nfs3Program::Pathconf(Context& c) {
  if (!About(c)) return;
  c.out.U32(MemoryFs::kMaxLinks);
  c.out.U32(MemoryFs::kMaxName);
  for (const bool value :
       {true /*no_trunc*/, false /*chown_restricted*/, false /*case_insensitive*/, true /*preserved*/})
    rpcrdma::PutBool(c.out, value);
}

}  // namespace stag::serve
