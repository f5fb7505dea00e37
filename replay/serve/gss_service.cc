// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/gss_service.h"

namespace stag::serve {

std::unique_ptr<rpcrdma::Service> GssService::NewConnection() {
  auto connection = inner_.NewConnection();
  if (!connection) return std::make_unique<GssService>(inner_, acceptor_);
  return std::unique_ptr<GssService>(new GssService(std::move(connection), acceptor_));
}

void GssService::OnCall(Bytes call, rpcrdma::ServiceReply& reply) {
  rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  if (header.status != ParseStatus::kOk || header.credential.flavor != rpc::kRpcsecGss)
    return inner_.OnCall(call, reply);
  gss::Acceptor::Taken taken = acceptor_.Take(call, header);
  if (taken.verdict == gss::Acceptor::Verdict::kDiscard) return;
  if (taken.verdict == gss::Acceptor::Verdict::kAnswer) {
    reply.message = std::move(taken.reply);
    return;
  }
  header.credential = header.verifier = {};
  plain_.clear();
  rpc::Encode(header, plain_);
  plain_.insert(plain_.end(), taken.arguments.begin(), taken.arguments.end());
  inner_.OnCall(plain_, reply);
  if (reply.refused || reply.message.empty()) return;
  // What moves, or is wrapped, is copied anyway.
  reply.Flatten();
  const auto moved = acceptor_.Finish(taken, reply.message);
  if (!moved) return reply.items.clear();
  for (rpcrdma::ResultItem& item : reply.items) item.offset += *moved;
}

}  // namespace stag::serve
