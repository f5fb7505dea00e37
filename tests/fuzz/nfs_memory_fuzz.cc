// SPDX-License-Identifier: GPL-2.0-or-later
//
// A hostile NFSv3 client. The input is a list of Calls: a byte for the procedure (the top bit: MOUNT), two for the
// length, arguments; in these, a word 0xFEEDnnnn stands for the handle of the n-th node. Every Call gets a whole Reply
// whose items lie in it, and memory stays within its bound.
#include <vector>

#include "protocol/base/cursor.h"
#include "protocol/nfs/walk.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"

namespace {
void Require(bool condition) {
  if (!condition) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stag;
  serve::MemoryFs fs(256 << 10);
  const auto service = serve::MakeNfsMemoryService(fs, 16384);
  Cursor input(std::as_bytes(std::span(data, size)));
  std::vector<std::byte> call;
  rpcrdma::ServiceReply reply;
  for (int calls = 0; calls < 200 && input.remaining() > 0; ++calls) {
    const uint8_t what = input.U8();
    const Bytes raw = input.Take(std::min<size_t>(input.U16(), input.remaining()));
    rpc::CallHeader header;
    header.msg_type = rpc::kCall;
    header.rpc_version = 2;
    header.program = what & 0x80 ? nfs::kMountProgram : nfs::kNfsProgram;
    header.version = 3;
    header.procedure = what & 0x7f;
    call.clear();
    rpc::Encode(header, call);
    Writer out(call);
    Cursor arguments(raw);
    while (arguments.remaining() >= 4) {
      const uint32_t word = arguments.U32();
      serve::MemoryFs::Node* const node = word >> 16 == 0xfeed ? fs.Find(word & 0xffff) : nullptr;
      node ? serve::PutHandle(out, fs, *node) : out.U32(word);
    }
    out.Put(arguments.Rest());
    reply.Clear();
    service->OnCall(call, reply);
    (void)reply.Flatten();
    Require(rpc::DecodeReply(reply.message, reply.message.size()).status == ParseStatus::kOk);
    Require(reply.message.size() < 20000 && reply.message.size() % 4 == 0 && fs.used() <= fs.capacity());
    for (const rpcrdma::ResultItem& item : reply.items)
      Require(item.offset + RoundUp4(item.length) <= reply.message.size());
  }
  return 0;
}
