// SPDX-License-Identifier: GPL-2.0-or-later
//
// Requester: the calling side of one live connection (RFC 8166). RPC Calls in; RPC-over-RDMA messages out, with their
// chunks in registered memory; Replies rebuilt and handed back. Keeps the credits (section 3.3), the thresholds
// (section 3.3.2, RFC 8797), remote invalidation, and an account of every Call: each one ends in exactly one Answer.
//
// Memory: a slot for each Call that may be outstanding. Its regions are registered when first needed and kept, unless
// `fresh_handles` asks for a new handle for every Call. In the steady state nothing is allocated or registered.
// Threads: as its Endpoint, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/rpcrdma/header.h"
#include "replay/endpoint/endpoint.h"

namespace stag::rpcrdma {

struct RequesterOptions {
  uint32_t credits = 32;            // requested in every Call; slots, and receives that are posted
  uint32_t send_size = 4096;        // largest Send of this side, and ...
  uint32_t receive_size = 4096;     // ... its receives (RFC 8797 section 4: 1024 to 262144, multiples of 1024)
  uint32_t segment_size = 1 << 20;  // chunks are split into segments of at most so many bytes ...
  uint32_t segments = 1;            // ... and into so many at least, of equal length (in words), if they have the bytes
  bool remote_invalidation = true;  // the R flag
  bool send_private_data = true;
  bool fresh_handles = false;    // every Call has new handles, which become invalid when it is answered (section 4.4.1)
  bool ignore_credits = false;   // on purpose
  bool pad_read_chunks = false;  // XDR padding as bytes of the Read chunk (RFC 8166 section 3.4.5.2 allows it)
};

// How a Call is sent. All bytes are the caller's and are copied by Send, but for `item`.
struct CallSpec {
  Bytes message;             // the whole, unreduced RPC Call, XDR padding included; its xid is replaced
  uint64_t item_offset = 0;  // of the argument that goes by a Read chunk, just behind its count; 0: none
  uint32_t item_length = 0;  // without padding; 0: no Read chunk
  // The argument, when `message` has neither it nor its padding: it goes out from where it lies, by a Read chunk,
  // inline or at Position Zero. In ItemRoom(), or in memory that stays as it is until the Answer (or the Requester's
  // end), and that the peer may read until then: it is registered for this Call alone.
  Bytes item = {};
  bool position_zero = false;                   // a Long Call although it might fit (it is one anyway when it does not)
  std::span<const uint32_t> write_chunks = {};  // bytes that each Write chunk offers
  uint32_t reply_chunk = 0;                     // bytes that the Reply chunk offers; 0: none
  uint64_t cookie = 0;                          // comes back with the Answer
};

enum class AnswerKind : uint8_t {
  kReply,    // an RPC Reply, of whatever status
  kErrVers,  // RDMA_ERROR
  kErrChunk,
  kBad,   // something that is no answer to this Call: see `text`
  kLost,  // the connection ended first; whether the Call was executed is not known
};

struct Answer {
  AnswerKind kind = AnswerKind::kReply;
  uint64_t cookie = 0;
  uint32_t xid = 0;
  Bytes message;  // the RPC Reply as it came: inline, or from the Reply chunk; reduced results are not in it
  std::span<const Bytes> chunks;  // what came in each Write chunk of the Call; empty where it came back unused
  std::chrono::nanoseconds latency{0};
  std::string_view text = {};  // kBad: what is wrong
};
// All views are valid during the call.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void OnAnswer(const Answer& answer) = 0;
  // A Call of the server (RFC 8167): the message as it came. `reply`: filled by the sink, an RPC Reply; empty: none.
  virtual void OnBackwardCall(Bytes message, std::vector<std::byte>& reply);
};

struct RequesterStats {
  uint64_t calls = 0, answers = 0, lost = 0, errors = 0, backward_calls = 0;
  uint64_t bad = 0;        // answers of AnswerKind::kBad
  uint64_t discarded = 0;  // messages: with a header that cannot be read (section 4.5), or for no Call
  uint64_t sent_bytes = 0, received_bytes = 0;  // RPC messages, unreduced
  uint64_t credit_stalls = 0;                   // times that CanSend was false for lack of credits alone
  uint32_t grant = 1, max_outstanding = 0;
};

class Requester {
 public:
  // The private data of a connection request with these options.
  static std::vector<std::byte> PrivateData(const RequesterOptions& options);
  // Fills what `options` says of receives and private data into the endpoint's options; first clears what `transport`
  // cannot do (the R flag).
  static void Prepare(const endpoint::Transport& transport, RequesterOptions& options,
                      endpoint::EndpointOptions& endpoint);

  Requester(std::unique_ptr<endpoint::Endpoint> endpoint, const RequesterOptions& options, AnswerSink& sink);
  ~Requester();

  // Whether credits and slots allow a Call now.
  bool CanSend();
  // Registered memory for the argument of the Call that is sent next. What was put there stays for the Calls that use
  // it later. Empty: there is none (CanSend is false, or no memory).
  struct Room {
    MutableBytes bytes;
    bool fresh = false;  // nothing was put there yet
  };
  Room ItemRoom(uint32_t size);
  // The xid that the Call got. Errors: no credit or slot (CanSend says so before), a CallSpec that contradicts itself,
  // the connection is not open.
  Result<uint32_t> Send(const CallSpec& call);
  // Answers go to the sink. Waits up to `wait` for the first. Returns how many; 0 with open() false: there are no more.
  size_t Poll(std::chrono::microseconds wait);

  bool open() const;
  // While the connection ends, answers may still come, but Send fails.
  bool ending() const;
  uint32_t outstanding() const;
  // The largest Send in each direction (RFC 8797 section 4.2).
  uint32_t call_threshold() const, reply_threshold() const;
  const RequesterStats& stats() const;
  endpoint::Endpoint& endpoint();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::rpcrdma
