// SPDX-License-Identifier: GPL-2.0-or-later
//
// Between: a RelayLink with a client on one side and a server on the other, all driven by one thread: what the peers
// send is made by hand.
#pragma once

#include "replay/relay/link.h"
#include "replay/rpcrdma/settings.h"
#include "tests/replay/endpoint/pair.h"

namespace stag::relay::test {

using endpoint::test::Content;
using rpcrdma::Header;
using std::chrono::milliseconds;
using namespace stag::test;

// Private data of the four: what each side of each connection says.
struct Said {
  Buffer client = rpcrdma::EncodeSettings(4096, 4096, true), to_client = rpcrdma::EncodeSettings(4096, 4096, true);
  Buffer server = rpcrdma::EncodeSettings(4096, 4096, true), to_server = rpcrdma::EncodeSettings(4096, 4096, true);
};

class Between {
 public:
  explicit Between(const RelayLinkOptions& options = {}, const Said& said = {}, uint32_t receive_size = 4096,
                   uint64_t memory = rpcrdma::ChunkMemory::kDefault)
      : options_(options),
        memory_(memory),
        client_pair_(Client(options, said, receive_size)),
        server_pair_(Server(options, said, receive_size)),
        client(client_pair_.client),
        server(server_pair_.server) {
    report.faults.resize(options_.faults.rules.size());
    link = std::make_unique<RelayLink>(RelayLink::End{std::move(client_pair_.server.endpoint), said.to_client},
                                       RelayLink::End{std::move(server_pair_.client.endpoint), said.to_server},
                                       options_, memory_, report);
  }

  // Until `done`; false when that took too long.
  template <typename Done>
  bool Drive(Done done) {
    const auto end = std::chrono::steady_clock::now() + endpoint::test::kPatience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      client.Poll({});
      link->Poll();
      server.Poll({});
    }
    return true;
  }
  // A while, in which nothing more may happen.
  void Settle() {
    for (int i = 0; i < 50; ++i) {
      client.Poll({});
      link->Poll();
      server.Poll(std::chrono::microseconds(200));
    }
  }
  // The next message that `peer` gets, its header decoded to `header`; the payload.
  Buffer Next(endpoint::test::Peer& peer, Header& header) {
    const size_t n = taken_[&peer]++;
    if (!Drive([&] { return peer.messages.size() > n; })) {
      ADD_FAILURE() << "no message came";
      return {};
    }
    const Buffer& message = peer.messages[n];
    rpcrdma::Decode(message, message.size(), header);
    if (header.status != ParseStatus::kOk) return message;
    return {message.begin() + header.length, message.end()};
  }

  RelayReport report;

 private:
  static endpoint::test::Ends Client(const RelayLinkOptions& options, const Said& said, uint32_t receive_size) {
    endpoint::test::Ends ends;
    ends.client.private_data = said.client;
    ends.server.private_data = said.to_client;
    ends.client.receive_size = receive_size;
    RelayLink::Prepare(options, receive_size, ends.server);
    return ends;
  }
  static endpoint::test::Ends Server(const RelayLinkOptions& options, const Said& said, uint32_t receive_size) {
    endpoint::test::Ends ends;
    ends.client.private_data = said.to_server;
    ends.server.private_data = said.server;
    ends.server.receive_size = receive_size;
    RelayLink::Prepare(options, receive_size, ends.client);
    return ends;
  }

  const RelayLinkOptions options_;
  rpcrdma::ChunkMemory memory_;
  endpoint::test::Pair client_pair_, server_pair_;
  std::map<const endpoint::test::Peer*, size_t> taken_;

 public:
  endpoint::test::Peer &client, &server;
  std::unique_ptr<RelayLink> link;
};

// Of any length: from memory that is registered and kept.
inline Result<void> Post(endpoint::test::Peer& from, const Buffer& message, std::optional<uint32_t> invalidate = {}) {
  const Bytes piece(endpoint::test::Registered(from, message, endpoint::Access::kLocal).bytes);
  return from->Send(std::span(&piece, 1), 0, invalidate);
}

inline Buffer Message(const Header& header, const Buffer& payload = {}) {
  Buffer out;
  rpcrdma::Encode(header, out);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

inline constexpr uint32_t kProgram = 100003;

inline Buffer NullCall(uint32_t xid) { return MakeCall(xid, kProgram, 3, 0); }
inline Header Call(uint32_t xid, uint32_t credit = 32) { return MakeHeader(rpcrdma::kMsg, xid, credit); }
inline rpcrdma::Segment SegmentOf(const endpoint::Region& region) {
  return {region.handle, static_cast<uint32_t>(region.bytes.size()), region.offset};
}
// RDMA_MSG or RDMA_NOMSG with the chunks of `call`, whose segments return `lengths`.
inline Header ReplyTo(const Header& call, uint32_t proc, const std::vector<uint32_t>& lengths, uint32_t credit = 32) {
  Header reply = MakeHeader(proc, call.xid, credit);
  reply.write_chunks = call.write_chunks;
  reply.reply_chunk = call.reply_chunk;
  reply.segments = call.segments;
  for (size_t i = 0; i < reply.segments.size(); ++i) reply.segments[i].length = lengths.at(i);
  return reply;
}
inline bool IsError(const Header& header, uint32_t xid, uint32_t err) {
  return header.status == ParseStatus::kOk && header.proc == rpcrdma::kError && header.xid == xid && header.err == err;
}

}  // namespace stag::relay::test
