// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small makers of RPC-over-RDMA headers, RPC messages and XDR, for tests and for generated captures.
#pragma once

#include <initializer_list>
#include <vector>

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"

namespace stag::test {

using Buffer = std::vector<std::byte>;

// A version 1 header with 32 credits and no chunks.
rpcrdma::Header MakeHeader(uint32_t proc, uint32_t xid, uint32_t credit = 32);
void AddRead(rpcrdma::Header& header, uint32_t position, rpcrdma::Segment segment);
void AddWriteChunk(rpcrdma::Header& header, const std::vector<rpcrdma::Segment>& segments);
void SetReplyChunk(rpcrdma::Header& header, const std::vector<rpcrdma::Segment>& segments);

// RPC messages with AUTH_NONE; `body` follows the header.
Buffer MakeCall(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure, const Buffer& body = {});
Buffer MakeReply(uint32_t xid, const Buffer& body = {}, uint32_t accept_stat = 0);

// XDR: numbers as 32-bit words, and opaques with count and padding.
Buffer Words(std::initializer_list<uint32_t> words);
Buffer Opaque(const Buffer& data);
Buffer Join(std::initializer_list<Buffer> parts);
// `n` bytes that differ from place to place and by `seed`.
Buffer Pattern(size_t n, uint32_t seed = 1);

}  // namespace stag::test
