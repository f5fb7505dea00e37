// SPDX-License-Identifier: GPL-2.0-or-later
//
// MOUNT version 3 (RFC 1813 appendix I). There is one export, "/"; any directory below it can be mounted (of a
// recording: whatever is asked for is its root). Who mounts is not kept: DUMP gives an empty list.
#include <functional>

#include "protocol/nfs/walk.h"
#include "replay/serve/nfs3.h"
#include "replay/serve/nfs_memory.h"

namespace stag::serve {
namespace {

constexpr uint32_t kMaxMountPath = 1024;  // MNTPATHLEN

// Puts the handle of a directory, or nothing when it says that there is none.
using FindDirectory = std::function<NfsStatus(std::string_view path, Writer& handle)>;

class MountProgram final : public RpcProgram {
 public:
  explicit MountProgram(FindDirectory find) : RpcProgram({nfs::kMountProgram, 3, 3}), find_(std::move(find)) {}

  rpc::AcceptStat OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) override {
    enum : uint32_t { kMnt = 1, kDump = 2, kUmnt = 3, kUmntall = 4, kExport = 5 };
    Writer out(reply.message);
    switch (call.procedure) {
      case kMnt: Mount(arguments, out); break;
      case kDump: rpcrdma::PutBool(out, false); break;
      case kUmnt: (void)rpcrdma::GetOpaque(arguments, kMaxMountPath); break;
      case kUmntall: break;
      case kExport:
        rpcrdma::PutBool(out, true);
        rpcrdma::PutString(out, "/");
        rpcrdma::PutBool(out, false);  // for everybody
        rpcrdma::PutBool(out, false);
        break;
      default: return rpc::kProcUnavail;
    }
    return arguments.ok() ? rpc::kSuccess : rpc::kGarbageArgs;
  }

 private:
  void Mount(Cursor& in, Writer& out) {
    const Bytes path = rpcrdma::GetOpaque(in, kMaxMountPath);
    if (!in.ok()) return;
    std::vector<std::byte> handle;
    Writer to(handle);
    const NfsStatus status = find_({reinterpret_cast<const char*>(path.data()), path.size()}, to);
    PutStatus(out, status);  // mountstat3 has the same numbers
    if (status != NfsStatus::kOk) return;
    out.Put(handle);
    for (const uint32_t word : {2u, uint32_t{rpc::kAuthSys}, uint32_t{rpc::kAuthNone}}) out.U32(word);
  }

  const FindDirectory find_;
};

NfsStatus FindIn(MemoryFs& fs, std::string_view path, Writer& handle) {
  const std::shared_lock lock(fs.tree());
  MemoryFs::Node* node = &fs.root();
  NfsStatus status = NfsStatus::kOk;
  while (!path.empty() && status == NfsStatus::kOk) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (!name.empty()) status = fs.Lookup(*node, name, node);
  }
  if (status == NfsStatus::kOk && node->type != FileType::kDirectory) status = NfsStatus::kNotDir;
  if (status == NfsStatus::kOk) PutHandle(handle, fs, *node);
  return status;
}

std::unique_ptr<RpcService> ServiceOf(std::unique_ptr<RpcProgram> program) {
  std::vector<std::unique_ptr<RpcProgram>> programs;
  programs.push_back(std::move(program));
  return std::make_unique<RpcService>(std::move(programs));
}

}  // namespace

std::unique_ptr<RpcProgram> MakeMountProgram(MemoryFs& fs) {
  return std::make_unique<MountProgram>([&fs](std::string_view path, Writer& out) { return FindIn(fs, path, out); });
}

std::unique_ptr<RpcService> MakeMountService(MemoryFs& fs) { return ServiceOf(MakeMountProgram(fs)); }

std::unique_ptr<RpcService> MakeMountService(Bytes root) {
  return ServiceOf(std::make_unique<MountProgram>([root](std::string_view, Writer& out) {
    out.Opaque(root);
    return NfsStatus::kOk;
  }));
}

std::unique_ptr<RpcService> MakeNfsMemoryService(MemoryFs& fs, uint32_t max_transfer) {
  std::vector<std::unique_ptr<RpcProgram>> programs;
  programs.push_back(std::make_unique<Nfs3Program>(fs, max_transfer));
  programs.push_back(MakeMountProgram(fs));
  return std::make_unique<RpcService>(std::move(programs));
}

}  // namespace stag::serve
