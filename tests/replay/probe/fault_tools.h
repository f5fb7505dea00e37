// SPDX-License-Identifier: GPL-2.0-or-later
//
// What faults are made of: what a message looks like, and what is done with it in place of the server.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "protocol/base/writer.h"
#include "tests/replay/probe/faults.h"

namespace stag::probe::test {

using Invalidate = std::optional<uint32_t>;
using Lengths = std::vector<uint32_t>;
using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::kErrChunk;
using rpcrdma::kErrVers;

// What a receive hook returns: the server does not see the message.
inline bool Refuse(const Seen& message, Scene& scene, uint32_t err = kErrChunk) {
  scene.SendError(message.header.xid, err);
  return false;
}
inline bool Succeed(const Seen& message, Scene& scene) {
  scene.SendSuccess(message);
  return false;
}
inline bool HangUp(const Seen&, Scene& scene) {
  scene.HangUp();
  return false;
}
// The server dies of it.
inline bool Die(const Seen&, Scene& scene) {
  scene.dead = true;
  return false;
}

// An RDMA_MSG with the xid of the Call, and these words as its RPC message.
inline void SendWords(Scene& scene, const Seen& call, std::span<const uint32_t> rpc) {
  Header header;
  header.xid = call.header.xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = 8;
  header.proc = rpcrdma::kMsg;
  Buffer out;
  rpcrdma::Encode(header, out);
  Writer words(out);
  for (const uint32_t word : rpc) words.U32(word);
  scene.Send(std::move(out));
}

// An RPC Reply with these words as results.
inline void ReplyWith(Scene& scene, const Seen& call, std::initializer_list<uint32_t> results) {
  std::vector<uint32_t> words = {call.header.xid, 1, 0, 0, 0, 0};
  words.insert(words.end(), results);
  SendWords(scene, call, words);
}

inline Lengths ReadLengths(const Header& header) {
  Lengths lengths;
  for (const rpcrdma::ReadSegment& read : header.reads) lengths.push_back(read.target.length);
  return lengths;
}
inline Lengths ChunkLengths(const Header& header, const Chunk& chunk) {
  Lengths lengths;
  for (const rpcrdma::Segment& segment : header.Of(chunk)) lengths.push_back(segment.length);
  return lengths;
}
inline bool WriteLike(const Header& header, const Lengths& lengths) {
  return header.write_chunks.size() == 1 && ChunkLengths(header, header.write_chunks[0]) == lengths;
}
inline bool ReplyLike(const Header& header, const Lengths& lengths) {
  return header.reply_chunk && ChunkLengths(header, *header.reply_chunk) == lengths;
}

// Messages that are `like` are answered in place of the server, or changed before it sees them.
template <typename Like, typename Then>
Fault On(std::string_view probe, std::string_view words, Like like, Then then) {
  return {.probe = probe, .words = words, .receive = [=](Seen& message, Scene& scene) {
            if constexpr (std::is_invocable_v<Like, const Seen&, const Scene&>)
              return like(message, scene) ? then(message, scene) : true;
            else
              return like(message) ? then(message, scene) : true;
          }};
}

// Replies to Calls that are `like` are changed.
template <typename Like, typename Change>
Fault Changes(std::string_view probe, std::string_view words, Like like, Change change) {
  return {.probe = probe, .words = words, .send = [=](Seen& message, const Seen& call, Invalidate&, Scene&) {
            if (like(call)) change(message.header, call);
            return true;
          }};
}

// Messages have wrong bits, are cut and are doubled. `random` must outlive it.
inline Fault Nonsense(std::mt19937& random) {
  return {.probe = "", .words = "", .send = [&random](Seen& message, const Seen&, Invalidate&, Scene& scene) {
            if (scene.ordinal == 1 || random() % 4 != 0) return true;
            Buffer bytes = message.Encoded();
            const size_t at = random() % bytes.size();
            if (random() % 8 == 0)
              bytes.resize(at);
            else
              bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
            if (random() % 8 == 0) scene.Send(bytes);
            if (!bytes.empty()) scene.Send(std::move(bytes));
            return false;
          }};
}

// For taking Refuse, Succeed, HangUp and Die as they are.
inline constexpr auto kRefuse = [](Seen& message, Scene& scene) { return Refuse(message, scene); };
inline constexpr std::string_view kRefused = "expected an RPC Reply; came RDMA_ERROR ERR_CHUNK";
inline constexpr std::string_view kEnded = "the connection ended";
inline constexpr std::string_view kGone = "the server is gone";

}  // namespace stag::probe::test
