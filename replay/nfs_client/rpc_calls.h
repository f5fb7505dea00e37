// SPDX-License-Identifier: GPL-2.0-or-later
//
// RpcCalls: the headers of the RPC Calls to one program (RFC 5531), with AUTH_SYS; and what a Reply's header says.
#pragma once

#include <string>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/rpc/message.h"

namespace stag::nfs_client {

struct Credential {
  uint32_t uid = 0, gid = 0;
};

class RpcCalls {
 public:
  RpcCalls(uint32_t program, uint32_t version, const Credential& credential);
  // Bytes of a header.
  size_t size() const { return header_.size(); }
  // Appends the header of a Call; its xid is 0.
  void Begin(uint32_t procedure, std::vector<std::byte>& out) const;
  uint32_t program() const { return program_; }

 private:
  const uint32_t program_;
  std::vector<std::byte> header_;
};

// The largest header of a successful Reply with an empty verifier: xid, REPLY, accepted, verifier, SUCCESS.
inline constexpr uint32_t kReplyHeaderSize = 24;

// The results behind the header of a successful Reply; otherwise `failure` says what it is: "PROG_UNAVAIL",
// "AUTH_ERROR 1".
struct RpcResults {
  Bytes bytes;
  std::string failure;
};
RpcResults TakeResults(Bytes reply);

}  // namespace stag::nfs_client
