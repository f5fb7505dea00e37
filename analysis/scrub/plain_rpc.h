// SPDX-License-Identifier: GPL-2.0-or-later
//
// PlainRpc: ONC RPC over TCP, with record marks (RFC 5531 section 11), and over UDP: rpcbind, MOUNT, NLM, NFS and its
// callbacks beside an RDMA mount. A record is scrubbed when its segments come in order and its Reply's Call was seen;
// what does not is left as it is: zeros.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/scrub/rpc_scrubber.h"
#include "analysis/scrub/scrubbed_frames.h"
#include "protocol/base/budget.h"
#include "protocol/link/packet.h"

namespace stag::scrub {

struct PlainRpcLimits {
  size_t directions = 4096, calls = 16384;
  uint64_t bytes = 32u << 20;  // of unfinished records, and as many of what Calls asked for
};

class PlainRpc {
 public:
  PlainRpc(ScrubbedFrames& frames, RpcScrubber& rpc, const PlainRpcLimits& limits)
      : frames_(frames), rpc_(rpc), limits_(limits), waiting_(limits.bytes), asked_(limits.bytes) {}

  // A TCP segment, frame `frame` of them.
  void OnSegment(const link::Packet& packet, uint64_t frame);
  // A UDP datagram of `length` bytes. False: it is nothing known.
  bool OnDatagram(const link::Packet& packet, Bytes payload, uint64_t length, uint64_t frame);

 private:
  // One direction of a TCP connection.
  struct Direction {
    explicit Direction(Budget& budget) : charge(budget) {}
    bool in_record = false;  // the next byte, `next`, is one of a record that has begun, or begins one
    uint32_t next = 0;
    std::vector<std::byte> bytes;  // not consumed yet
    std::vector<Place> places;     // theirs
    Charge charge;                 // what they take
  };
  // A Call, for its Reply: without views of the message.
  struct KnownCall {
    explicit KnownCall(Budget& budget) : charge(budget) {}
    rpc::CallHeader header;
    std::vector<std::vector<std::byte>> handles;
    std::vector<FileRange> reads;
    uint64_t serial = 0;
    Charge charge;  // what it takes
  };

  bool Message(const std::string& from, const std::string& to, Bytes message, uint64_t length,
               std::vector<std::byte>& out);
  void Keep(std::string name, KnownCall call);
  void Consume(const std::string& from, const std::string& to, Direction& direction);
  void Drop(Direction& direction);

  ScrubbedFrames& frames_;
  RpcScrubber& rpc_;
  const PlainRpcLimits limits_;
  Budget waiting_, asked_;                                 // of directions, of Calls
  std::unordered_map<std::string, Direction> directions_;  // by who sends, to whom
  std::unordered_map<std::string, KnownCall> calls_;       // by who is to answer, whom, and xid
  std::deque<std::pair<std::string, uint64_t>> oldest_;    // of them: name and serial
  uint64_t serial_ = 0;
};

}  // namespace stag::scrub
