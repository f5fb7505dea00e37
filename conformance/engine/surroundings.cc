// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/surroundings.h"

#include <algorithm>

#include "protocol/base/bytes.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpc/rpcbind.h"

namespace stag::conformance {

namespace {

using fabric::Aside;

constexpr uint32_t kRpcbindPort = 111;
constexpr size_t kMaxAddresses = 256;  // of one rpcbind message

std::string_view View(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Without the record mark that a TCP segment starts with when it starts a record.
Bytes WithoutRecordMark(Bytes bytes, uint64_t& length) {
  if (bytes.size() < 12 || LoadBe32(bytes.data()) != (0x80000000u | static_cast<uint32_t>(length - 4))) return bytes;
  length -= 4;
  return bytes.subspan(4);
}

}  // namespace

bool IsGssNfsCall(const session::Message& message, const session::Transaction* transaction) {
  return message.role == session::Role::kCall && transaction && !transaction->backward && message.call.gss &&
         message.call.status == ParseStatus::kOk && message.call.program == nfs::kNfsProgram;
}

const Surroundings::Host* Surroundings::Find(const Hosts& hosts, const Address& address) {
  for (size_t i = 0; i < hosts.size(); ++i)
    if (hosts.FromEnd(i).address == address) return &hosts.FromEnd(i);
  return nullptr;
}

void Surroundings::Before(const Aside& aside) {
  addresses_.clear();
  if (aside.kind == Aside::Kind::kRpcbind) TakeRpcbind(aside);
}

void Surroundings::After(const Aside& aside) {
  if (aside.kind == Aside::Kind::kRefused && aside.from.number == kNfsTcpPort && !RefusesNfs(aside.from.address))
    refusing_.Add({aside.from.address, aside.frame, 0});
}

void Surroundings::After(const session::Connection& connection, const session::Message& message,
                         const session::Transaction* transaction) {
  if (!IsGssNfsCall(message, transaction)) return;
  const Address& server = connection.info.endpoint[1 - message.from].address;
  if (!ServesGss(server)) gss_.Add({server, message.frame, connection.info.id});
}

void Surroundings::TakeRpcbind(const Aside& aside) {
  uint64_t length = aside.length;
  const Bytes message = WithoutRecordMark(aside.bytes, length);
  const auto add = [this](std::string_view netid, std::string_view address) {
    if (addresses_.size() < kMaxAddresses) addresses_.push_back({netid, address});
  };
  if (aside.to.number == kRpcbindPort) {
    const rpc::CallHeader call = rpc::DecodeCall(message, length);
    RpcbindCall known{call.xid, call.procedure, aside.from, {}, 0};
    const ParseStatus status = rpc::VisitRpcbindCall(call, message, length, [&](Bytes netid, Bytes address) {
      known.netid_size = std::min(netid.size(), known.netid.size());
      std::copy_n(View(netid).data(), known.netid_size, known.netid.data());
      add(View(netid), View(address));
    });
    if (status == ParseStatus::kOk) calls_.Add(known);
    return;
  }
  const rpc::ReplyHeader reply = rpc::DecodeReply(message, length);
  for (size_t i = 0; i < calls_.size(); ++i) {
    const RpcbindCall& call = calls_.FromEnd(i);
    if (call.xid != reply.xid || !(call.caller == aside.to)) continue;
    (void)rpc::VisitRpcbindReply(call.procedure, reply, message, length, [&](Bytes netid, Bytes address) {
      const std::string_view asked(call.netid.data(), call.netid_size);
      if (!netid.empty()) return add(View(netid), View(address));
      if (asked == "rdma" || asked == "rdma6") add(asked, View(address));  // others: judged with the call
    });
    return;
  }
}

}  // namespace stag::conformance
