// SPDX-License-Identifier: GPL-2.0-or-later
//
// Call: a message that a probe makes, right or wrong, and Message: one that came back. Offered: memory that a Call
// names, with guard bytes around each of its segments, so that what is touched beside them shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/rpcrdma/header.h"
#include "replay/endpoint/endpoint.h"

namespace stag::probe {

struct Call {
  rpcrdma::Header header;      // what a Requester would send, until the probe changes it
  std::vector<std::byte> rpc;  // the RPC Call; begins with its xid
  bool inline_rpc = true;      // sent behind the header; false: a chunk has it
  std::vector<std::byte> Encoded() const;
};
// Of the header and of the RPC Call.
void SetXid(Call& call, uint32_t xid);

struct Message {
  std::vector<std::byte> bytes;
  rpcrdma::Header header;
  std::optional<uint32_t> invalidated;  // a handle, by Send with Invalidate
  // What follows the header; nothing when that cannot be read.
  Bytes payload() const;
};
// "RDMA_ERROR ERR_CHUNK", "an RPC Reply (SUCCESS)".
std::string Describe(const Message& message);

class Offered {
 public:
  // Room for segments of these `lengths`. `content` is put into them one after the other.
  Offered(std::span<const uint32_t> lengths, Bytes content);
  Offered(const Offered&) = delete;
  Offered& operator=(const Offered&) = delete;

  // Of segment `i`.
  MutableBytes bytes(size_t i);
  size_t count() const { return pieces_.size(); }
  size_t size() const;  // of all segments
  rpcrdma::Segment segment(size_t i) const;
  std::vector<rpcrdma::Segment> segments() const;
  // Whether nothing was written beside the segments.
  bool guarded() const;

  std::vector<std::byte> storage;
  endpoint::Region region;  // covers all of the storage
  bool registered = false;

 private:
  struct Piece {
    size_t at, length;
  };
  std::vector<Piece> pieces_;
};

// Add chunks to a Call: a Read chunk at `position`, another Write chunk, the Reply chunk.
void AddRead(Call& call, uint32_t position, const Offered& memory);
void AddWrite(Call& call, const Offered& memory);
void SetReply(Call& call, const Offered& memory);

// `n` bytes that differ from place to place; what long answers and files hold.
std::vector<std::byte> Pattern(size_t n);

}  // namespace stag::probe
