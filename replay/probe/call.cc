// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/rpc/message.h"
#include "replay/nfs_client/rpc_calls.h"

namespace stag::probe {
namespace {

constexpr size_t kGuard = 64;          // bytes before, between and behind segments
constexpr std::byte kUntouched{0xa5};  // what they hold

rpcrdma::Chunk Append(rpcrdma::Header& header, const Offered& memory) {
  const rpcrdma::Chunk chunk{static_cast<uint32_t>(header.segments.size()), static_cast<uint32_t>(memory.count())};
  for (const rpcrdma::Segment& segment : memory.segments()) header.segments.push_back(segment);
  return chunk;
}

}  // namespace

std::vector<std::byte> Call::Encoded() const {
  std::vector<std::byte> out;
  rpcrdma::Encode(header, out);
  if (inline_rpc) out.insert(out.end(), rpc.begin(), rpc.end());
  return out;
}

void SetXid(Call& call, uint32_t xid) {
  call.header.xid = xid;
  StoreBe32(call.rpc.data(), xid);
}

Bytes Message::payload() const {
  return header.status == ParseStatus::kOk ? Bytes(bytes).subspan(header.length) : Bytes{};
}

std::string Describe(const Message& message) {
  const rpcrdma::Header& header = message.header;
  if (header.words < 4) return fmt::format("a message of {} bytes, which is no header", message.bytes.size());
  if (header.proc == rpcrdma::kError) {
    std::string text = fmt::format("RDMA_ERROR {}", header.err == rpcrdma::kErrVers || header.err == rpcrdma::kErrChunk
                                                        ? rpcrdma::ErrorName(header.err)
                                                        : std::to_string(header.err));
    if (header.error_range) text += fmt::format(" {}..{}", header.vers_low, header.vers_high);
    return header.vers == rpcrdma::kVersion1 ? text : fmt::format("{} with version {}", text, header.vers);
  }
  if (header.vers != rpcrdma::kVersion1) return fmt::format("a message of version {}", header.vers);
  if (header.status != ParseStatus::kOk)
    return fmt::format("a header that cannot be read: {}", rpcrdma::DefectText(header.defect));
  if (header.proc != rpcrdma::kMsg) return rpcrdma::ProcName(header.proc);
  const Bytes payload = message.payload();
  if (rpc::DecodeReply(payload, payload.size()).status != ParseStatus::kOk)
    return fmt::format("an RDMA_MSG whose {} bytes are no RPC Reply", payload.size());
  const std::string failure = nfs_client::TakeResults(payload).failure;
  return fmt::format("an RPC Reply ({})", failure.empty() ? "SUCCESS" : failure);
}

Offered::Offered(std::span<const uint32_t> lengths, Bytes content) {
  size_t at = kGuard;
  for (const uint32_t length : lengths) {
    pieces_.push_back({at, length});
    at += length + kGuard;
  }
  storage.assign(at, kUntouched);
  for (size_t i = 0; i < pieces_.size() && !content.empty(); ++i) {
    const size_t n = std::min(content.size(), pieces_[i].length);
    std::ranges::copy(content.first(n), bytes(i).begin());
    content = content.subspan(n);
  }
}

MutableBytes Offered::bytes(size_t i) { return MutableBytes(storage).subspan(pieces_[i].at, pieces_[i].length); }

size_t Offered::size() const {
  size_t sum = 0;
  for (const Piece& piece : pieces_) sum += piece.length;
  return sum;
}

rpcrdma::Segment Offered::segment(size_t i) const {
  return {region.handle, static_cast<uint32_t>(pieces_[i].length), region.offset + pieces_[i].at};
}

std::vector<rpcrdma::Segment> Offered::segments() const {
  std::vector<rpcrdma::Segment> all;
  for (size_t i = 0; i < pieces_.size(); ++i) all.push_back(segment(i));
  return all;
}

bool Offered::guarded() const {
  const auto untouched = [this](size_t from, size_t to) {
    return std::all_of(storage.begin() + static_cast<std::ptrdiff_t>(from),
                       storage.begin() + static_cast<std::ptrdiff_t>(to), [](std::byte b) { return b == kUntouched; });
  };
  size_t at = 0;
  for (const Piece& piece : pieces_) {
    if (!untouched(at, piece.at)) return false;
    at = piece.at + piece.length;
  }
  return untouched(at, storage.size());
}

void AddRead(Call& call, uint32_t position, const Offered& memory) {
  for (const rpcrdma::Segment& segment : memory.segments()) call.header.reads.push_back({position, segment});
}

void AddWrite(Call& call, const Offered& memory) { call.header.write_chunks.push_back(Append(call.header, memory)); }

void SetReply(Call& call, const Offered& memory) { call.header.reply_chunk = Append(call.header, memory); }

std::vector<std::byte> Pattern(size_t n) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8) * 7 + 1);
  return bytes;
}

}  // namespace stag::probe
