// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv4.1 from the client's side (RFC 8881): COMPOUNDs are built operation by operation, and their results are read in
// the same order. What a server returns is not trusted: results that do not decode leave CompoundResults with ok()
// false. Views point into the results.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/nfs/nfs4_operations.h"
#include "replay/nfs_client/rpc_calls.h"

namespace stag::nfs_client::nfs4 {

inline constexpr uint32_t kCompound = 1, kHandleMax = 128;
using StateId = std::array<std::byte, 16>;
using SessionId = std::array<std::byte, 16>;

// channel_attrs4, without RDMA (section 18.36.3).
struct Channel {
  uint32_t request_bytes = 0, response_bytes = 0, cached_bytes = 0;
  uint32_t operations = 0, requests = 0;
};

struct Sequence {
  SessionId session{};
  uint32_t sequence = 0, slot = 0, highest_slot = 0;
  bool cache = false;  // sa_cachethis
};

class Compound {
 public:
  // Appends the header of a Call and of its COMPOUND.
  Compound(const RpcCalls& calls, std::vector<std::byte>& out);

  // `owner`: co_ownerid; `verifier`: of this incarnation of the client.
  Compound& ExchangeId(std::string_view owner, uint64_t verifier);
  // Without a backchannel, AUTH_NONE for one that would come.
  Compound& CreateSession(uint64_t client, uint32_t sequence, const Channel& fore, const Channel& back);
  Compound& DestroySession(const SessionId& session);
  Compound& DestroyClientId(uint64_t client);
  Compound& ReclaimComplete();
  Compound& Put(const Sequence& sequence);  // SEQUENCE
  Compound& PutRootHandle();
  Compound& PutHandle(Bytes handle);
  Compound& GetHandle();
  Compound& Lookup(std::string_view name);
  // The file of that name in the current directory, to read and write, no delegation wanted. `create`: made when it is
  // not there (UNCHECKED4), and cut to size 0.
  Compound& Open(uint64_t client, std::string_view owner, std::string_view name, bool create);
  // The file of that name in the current directory, to read, with a delegation if the server gives one.
  Compound& OpenDelegated(uint64_t client, std::string_view owner, std::string_view name);
  Compound& ReturnDelegation(const StateId& delegation);
  Compound& Close(const StateId& state);
  Compound& Remove(std::string_view name);
  Compound& GetAttributes();  // type, change, size
  Compound& Read(const StateId& state, uint64_t offset, uint32_t count);
  // Up to the count of the data, which follow, and nothing else.
  Compound& Write(const StateId& state, uint64_t offset, uint32_t count, uint32_t stable);
  // Any other operation; its arguments are to be put there.
  Writer& Operation(uint32_t op);
  // Bytes of the Call so far.
  size_t size() const { return out_.size(); }

 private:
  std::vector<std::byte>& bytes_;
  Writer out_;
  size_t count_at_;
  uint32_t count_ = 0;
};

class CompoundResults {
 public:
  explicit CompoundResults(Bytes results);

  // Each reads the result of the next operation, which must be that one. False: it failed, or cannot be read, or one
  // before did: see status() and failed().
  bool ExchangeId(uint64_t& client, uint32_t& sequence);
  bool CreateSession(SessionId& session, Channel& fore);
  bool Sequence();
  bool GetHandle(Bytes& handle);
  // `delegation`: of zeros when none was given.
  bool Open(StateId& state, StateId* delegation = nullptr);
  bool GetAttributes(uint32_t& type, uint64_t& size);
  // `chunks`: what came in the Write chunks of the Call.
  bool Read(std::span<const Bytes> chunks, Bytes& data, bool& eof);
  bool Write(uint32_t& count, uint64_t& verifier);
  // Those whose results are of no interest: the status decides. Nothing may be read after them but more of these,
  // PUTROOTFH, PUTFH and LOOKUP excepted, which have no more than a status.
  bool Plain(uint32_t op);

  bool ok() const { return in_.ok(); }
  uint32_t status() const { return status_; }  // of the operation that failed; 0: none did
  uint32_t failed() const { return failed_; }  // its number

 private:
  bool Begin(uint32_t op);
  bool End() const { return in_.ok(); }

  Cursor in_;
  uint32_t left_ = 0;  // results that are still to come
  uint32_t status_ = 0, failed_ = 0;
};

// The most that the results of SEQUENCE, PUTFH and one more operation can have, inline, without the data of a READ.
inline constexpr uint32_t kResultsSize = 12 + 44 + 8 + 64;

}  // namespace stag::nfs_client::nfs4
