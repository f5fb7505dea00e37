// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/rpc_calls.h"

#include <fmt/format.h>

namespace stag::nfs_client {

RpcCalls::RpcCalls(uint32_t program, uint32_t version, const Credential& credential) : program_(program) {
  constexpr std::string_view kMachine = "stag";
  std::vector<std::byte> body;
  rpc::EncodeAuthSys(0, std::as_bytes(std::span(kMachine)), credential.uid, credential.gid, {}, body);
  rpc::CallHeader header;
  header.msg_type = rpc::kCall;
  header.rpc_version = 2;
  header.program = program;
  header.version = version;
  header.credential = {rpc::kAuthSys, body};
  rpc::Encode(header, header_);
}

void RpcCalls::Begin(uint32_t procedure, std::vector<std::byte>& out) const {
  constexpr size_t kProcedure = 20;  // its place in the header
  const size_t at = out.size();
  out.insert(out.end(), header_.begin(), header_.end());
  StoreBe32(out.data() + at + kProcedure, procedure);
}

RpcResults TakeResults(Bytes reply) {
  constexpr std::string_view kAccept[] = {"SUCCESS",      "PROG_UNAVAIL", "PROG_MISMATCH",
                                          "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};
  const rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (header.status != ParseStatus::kOk) return {{}, "an RPC Reply that cannot be read"};
  if (header.success()) return {reply.subspan(header.length), {}};
  if (header.reply_stat == rpc::kDenied) {
    constexpr uint32_t kAuthError = 1;
    return {{},
            header.reject_stat == kAuthError ? fmt::format("AUTH_ERROR {}", header.auth_stat)
                                             : std::string("RPC_MISMATCH")};
  }
  return {{}, std::string(kAccept[header.accept_stat])};
}

}  // namespace stag::nfs_client
