// SPDX-License-Identifier: GPL-2.0-or-later
//
// Endpoint: one end of a live RDMA connection, on any fabric: a reliable connected queue pair (verbs.h) or RDMAP over
// an ordinary TCP socket (soft_iwarp.h). A Transport makes Endpoints, by connecting and by listening.
//
// The use is that of a queue pair. Work is posted (Send, Read, Write), handed over in batches by Flush or Poll, and
// ends with a Completion. Receives are the endpoint's own: `receives` buffers of `receive_size` bytes are always
// posted; a completed one belongs to the caller until Release.
//
// Ownership: bytes that posted work names must stay until its completion. A Region's memory belongs to the endpoint
// that registered it and goes with it. Threads: an Endpoint, its Regions and its Listener are used by one thread at a
// time; different Endpoints of a Transport by different threads. Errors: a call fails only for reasons of this side
// (bad argument, no memory, not open); what the peer or the network does ends the connection: state() is kBroken and
// trouble() says why, once every posted work was completed (kFlushed).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/base/address.h"
#include "protocol/base/bytes.h"
#include "protocol/base/result.h"
#include "replay/endpoint/event_log.h"
#include "session/fabric/fabric_event.h"

namespace stag::endpoint {

// "nfs.example.org:20049", "10.0.0.1:20049", "[2001:db8::1]:20049".
struct HostPort {
  std::string host;
  uint16_t port = 20049;  // NFS/RDMA (RFC 8166 section 9)
};
Result<HostPort> ParseHostPort(std::string_view text, uint16_t default_port = 20049);

struct EndpointOptions {
  uint32_t sends = 256;          // work requests that may be posted and not completed
  uint32_t receives = 128;       // receive buffers posted; 0: none, until Receive()
  uint32_t receive_size = 4096;  // bytes of each
  uint16_t inbound_reads = 16;   // IRD: RDMA Reads that this end answers at a time (RFC 6581; CM Responder Resources)
  uint16_t outbound_reads = 16;  // ORD: RDMA Reads that this end has under way at a time (CM Initiator Depth)
  std::vector<std::byte> private_data;  // consumer private data, at most max_private_data() of the Transport
  bool crc = true;  // software iWARP: ask for CRC32C (RFC 5044 section 7.1); other fabrics always have one
  std::chrono::milliseconds connect_timeout{10'000};
  int cancel = -1;  // a descriptor: once it is readable, Dial waits for nothing any more; -1: none
  // Gets every fabric event of the connection, as a capture of it would give them: both sides' set-up, Sends, RDMA
  // operations and refusals (over verbs without the peer's RDMA operations: ConnectionInfo::rdma_hidden). Called on the
  // thread that uses the endpoint; endpoints on several threads may share it. Must outlive them. nullptr: nobody
  // listens, and no event is made. What a LateSink has not looked at is kept from changing: completions come later.
  EventLog* events = nullptr;
};

enum class Access : uint8_t {
  kLocal,       // source of Sends and Writes, target of Reads
  kSource,      // source of Sends and Writes, and nothing is written there
  kRemoteRead,  // and the peer may read it (a Read chunk)
  kRemoteWrite  // and the peer may write it (a Write or Reply chunk)
};

// Registered memory. `handle` and `offset` are what the peer names it by: an RDMA segment (RFC 8166 section 4.1.1).
struct Region {
  MutableBytes bytes;
  uint32_t handle = 0;
  uint64_t offset = 0;
  Access access = Access::kLocal;
  uint64_t cookie = 0;  // the implementation's
};

enum class Work : uint8_t { kSend, kReceive, kRead, kWrite };
enum class CompletionStatus : uint8_t {
  kOk,
  kRefused,  // the peer said no (remote access, remote operation, invalid request); the connection is broken
  kFlushed,  // the connection broke or closed before; whether the peer saw it is not known
};

struct Completion {
  Work work = Work::kSend;
  CompletionStatus outcome = CompletionStatus::kOk;
  uint64_t id = 0;                      // as given when posted; of a receive: for Release
  Bytes bytes;                          // kReceive: the message; valid until Release
  std::optional<uint32_t> invalidated;  // kReceive: a Send with Invalidate; the handle is invalid now
};
// How many of them users of an endpoint take at once.
inline constexpr size_t kCompletions = 64;

enum class State : uint8_t { kOpen, kClosed, kBroken };

// Why a connection ended, for programs and for people.
struct Trouble {
  enum class Kind : uint8_t {
    kNone,
    kPeerClosed,    // in order: DREQ, FIN
    kPeerVanished,  // RST, retries exceeded, time-out
    kNoReceive,     // a Send came and no receive was posted, at the peer (RNR retries exceeded, Terminate) or here
    kRemoteAccess,  // the peer refused access to its memory
    kRemoteError,   // another refusal of the peer (NAK, Terminate)
    kLocalAccess,   // this end refused the peer access: bad handle, range or direction
    kPeerProtocol,  // the peer broke the fabric's protocol
    kLocal,         // resources of this machine
  };
  Kind kind = Kind::kNone;
  std::string text;  // one sentence
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const fabric::ConnectionInfo& info() const { return info_; }
  // The peer's consumer private data, from its request or reply.
  Bytes peer_private_data() const { return peer_private_data_; }
  // RDMA Reads that may be under way in each direction, after the set-up: the smaller of what both sides said.
  uint16_t inbound_reads() const { return inbound_reads_; }
  uint16_t outbound_reads() const { return outbound_reads_; }
  virtual State state() const = 0;
  // Whether work can be posted. While a connection ends it is not taken any more, and state() is still kOpen.
  virtual bool takes_work() const = 0;
  virtual const Trouble& trouble() const = 0;
  // Whether this end can Send with Invalidate.
  virtual bool can_invalidate() const { return true; }
  // Whether the peer cannot write to memory because it is, or was, the target of an RDMA Read: false for iWARP
  // adapters, where the sink of a Read is open to the peer's RDMA Writes as long as it is registered (RFC 5040
  // section 5.5).
  virtual bool reads_are_private() const { return true; }

  // Memory of `size` bytes, zeroed, or `memory` of the caller's, which must outlive the registration.
  virtual Result<Region> Register(size_t size, Access access) = 0;
  virtual Result<Region> Register(MutableBytes memory, Access access) = 0;
  // The handle becomes invalid; what arrives for it later breaks the connection. Storage that Register(size) made goes.
  virtual void Deregister(Region& region) = 0;
  // Gives a region another handle (the old one becomes invalid), as after a remote invalidation.
  virtual Result<void> Renew(Region& region) = 0;
  // Gives a region this handle, which no other valid region of the endpoint has, and this offset. Fails where the
  // fabric chooses them.
  virtual Result<void> Rename(Region& /*region*/, uint32_t /*handle*/, uint64_t /*offset*/) {
    return Fail("the fabric chooses handles and offsets");
  }

  // The pieces one after the other make the message; each lies in registered memory of this endpoint or in a received
  // message that is not released, or they are at most max_inline() bytes in all (copied at once). `invalidate`: a Send
  // with Invalidate of that handle of the peer's. At most max_pieces().
  virtual Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate = {}) = 0;
  // Reads `into.size()` bytes of the peer's memory to `into`, which lies in a region with a valid handle. Posted Reads
  // beyond outbound_reads() wait their turn, and what is posted after them waits, too.
  virtual Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) = 0;
  virtual Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) = 0;
  virtual size_t max_inline() const = 0;
  virtual size_t max_pieces() const = 0;

  // Posts `count` more receives than `receives`; for what is to run short on purpose, set `receives` to 0 and use this.
  virtual Result<void> Receive(uint32_t count) = 0;
  // Gives a received message's buffer back; it is posted again.
  virtual void Release(const Completion& completion) = 0;

  // Hands posted work over. Poll does it, too.
  virtual void Flush() = 0;
  // Completions, in order for each kind of work, at most out.size(). Waits up to `wait` for the first; 0: does not
  // wait, but where all that could be given out is kept back for a LateSink (EndpointOptions::events), a millisecond at
  // most. Returns how many; none with state() kOpen: the time is over; none otherwise: there will be no more.
  virtual size_t Poll(std::span<Completion> out, std::chrono::microseconds wait) = 0;
  // For waiting on several endpoints (poll(2)): once Poll gave nothing, it becomes readable when there is something to
  // do for Poll. Time-outs do not show: Poll now and then all the same. -1: there is none.
  virtual int descriptor() = 0;

  // In order: what is posted goes out first. Completions still come until state() is not kOpen. An endpoint that is
  // destroyed while it is open just ends.
  virtual void Disconnect() = 0;

 protected:
  Endpoint() = default;
  fabric::ConnectionInfo info_;
  std::vector<std::byte> peer_private_data_;
  uint16_t inbound_reads_ = 0, outbound_reads_ = 0;
};

// Somebody who wants to connect, before anything was answered.
class Incoming {
 public:
  virtual ~Incoming() = default;
  virtual Bytes private_data() const = 0;
  virtual std::string peer() const = 0;  // "10.0.0.1:40000"
  // It has hung up, as far as is known.
  virtual bool gone() const { return false; }
  virtual Result<std::unique_ptr<Endpoint>> Accept(const EndpointOptions& options) = 0;
  virtual void Reject(Bytes private_data) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual uint16_t port() const = 0;
  // nullptr: nobody came in that time. An Incoming that is destroyed without an answer hangs up.
  virtual Result<std::unique_ptr<Incoming>> Wait(std::chrono::milliseconds wait) = 0;
  // Becomes readable when Wait has something to do; call it until it gives nullptr.
  virtual int descriptor() const = 0;
  // Why the last Wait accepted nobody although somebody may be there: this machine has no descriptors, or no memory.
  // Empty: that is not so. See Acceptor.
  virtual std::string TakeShortage() { return {}; }
};

// A connection that was asked for: the peer's answer, before anything was made of it.
class Outgoing {
 public:
  virtual ~Outgoing() = default;
  // Once: the endpoint, or why there is none. Does not wait.
  virtual Result<std::unique_ptr<Endpoint>> Finish() = 0;
};

// A way to reach peers: a kind of fabric, or one device of it.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;  // "iwarp" (software), "rxe0", "mlx5_0"
  virtual size_t max_private_data() const = 0;
  // Whether a Send with Invalidate of the peer's can invalidate handles of this end; otherwise the peer must not try.
  virtual bool remote_invalidation() const { return true; }
  // Asks for a connection and waits for the answer, on any thread: `options.events` gets nothing until Finish, which is
  // called by the thread that will use the endpoint. (The time-out does not bound what the system itself waits for:
  // names, and the driver siw, whose connect(2) may take 2 minutes.)
  virtual std::unique_ptr<Outgoing> Dial(const HostPort& to, const EndpointOptions& options) = 0;
  // Both. The error says what failed and what to do: no route, refused (and why, when the peer said), no permission.
  Result<std::unique_ptr<Endpoint>> Connect(const HostPort& to, const EndpointOptions& options) {
    return Dial(to, options)->Finish();
  }
  // An empty host: every address of this machine. Port 0: any.
  virtual Result<std::unique_ptr<Listener>> Listen(const HostPort& at) = 0;
};

}  // namespace stag::endpoint
