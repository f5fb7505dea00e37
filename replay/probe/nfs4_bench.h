// SPDX-License-Identifier: GPL-2.0-or-later
//
// What probes with NFSv4.1 have in common: a client with a session (RFC 8881 section 2.10), which repeats, awaits and
// mends nothing by itself; COMPOUNDs and what came of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "protocol/nfs/nfs4_operations.h"
#include "replay/nfs_client/nfs4_calls.h"
#include "replay/probe/nfs3_bench.h"

namespace stag::probe {

// Statuses that probes ask for (RFC 8881 section 15.1).
enum Nfs4Status : uint32_t {
  kErrNotSupported = 10004,
  kErrGrace = 10013,
  kErrMinorVersion = 10021,
  kErrStaleClient = 10022,
  kErrOpIllegal = 10044,
  kErrBadSession = 10052,
  kErrBadSlot = 10053,
  kErrCompleteAlready = 10054,
  kErrMisordered = 10063,
  kErrSequencePos = 10064,
  kErrReqTooBig = 10065,
  kErrRepTooBig = 10066,
  kErrRepTooBigToCache = 10067,
  kErrUncached = 10068,
  kErrTooManyOps = 10070,
  kErrNotInSession = 10071,
  kErrClientBusy = 10074,
  kErrFalseRetry = 10076,
  kErrBadHighSlot = 10077,
};
std::string Nfs4StatusText(uint32_t status);

// The results of a COMPOUND.
struct Compounded {
  Data bytes;
  uint32_t status = 0, count = 0;  // of the whole; how many operations have a result
  // What is behind the result of a SEQUENCE that succeeded: what a repetition must not change.
  Bytes behind_sequence() const;
  nfs_client::nfs4::CompoundResults results() const { return nfs_client::nfs4::CompoundResults(bytes); }
};

struct Nfs4Terms {
  nfs_client::nfs4::Channel fore{65536, 65536, 2048, 16, 16};
  bool reclaimed = true;    // RECLAIM_COMPLETE is done
  uint32_t back_slots = 0;  // the connection is the session's back channel, too, with so many slots; 0: it is none
};

class Nfs4 {
 public:
  using Add = std::function<void(nfs_client::nfs4::Compound&)>;

  // EXCHANGE_ID and CREATE_SESSION on a new connection. Skips the probe when the server has no NFSv4.1.
  explicit Nfs4(Bench& bench, const Nfs4Terms& terms = {});
  // What the server still has of this client goes, as far as it can be reached.
  ~Nfs4();
  Nfs4(const Nfs4&) = delete;
  Nfs4& operator=(const Nfs4&) = delete;

  Link& link() { return *link_; }
  // Calls go over another connection from now on.
  Link& Reconnect();
  Bench& bench() { return bench_; }
  const nfs_client::nfs4::SessionId& id() const { return id_; }
  uint64_t client() const { return client_; }
  const std::string& owner() const { return owner_; }
  const nfs_client::nfs4::Channel& fore() const { return fore_; }  // as granted
  uint32_t create_sequence() const { return create_sequence_; }
  bool has_back_channel() const { return has_back_channel_; }  // as granted
  uint32_t slots() const { return static_cast<uint32_t>(sequences_.size()); }

  // The slot's next.
  nfs_client::nfs4::Sequence Next(uint32_t slot = 0, bool cache = false);
  // A COMPOUND of what `add` adds; behind a SEQUENCE.
  Call Bare(const Add& add);
  Call At(const nfs_client::nfs4::Sequence& sequence, const Add& add);
  Call Make(const Add& add, uint32_t slot = 0) { return At(Next(slot), add); }

  // Of a COMPOUND, which has minor version 1.
  void SetMinorVersion(Call& call, uint32_t version) const;

  static Compounded Take(Link& link, const Call& call, const Message& answer);
  Compounded Ask(const Call& call) { return Take(*link_, call, link_->Ask(call)); }
  // Ends the probe when the COMPOUND has another status. `what`: in words.
  static void Expect(const Compounded& came, uint32_t status, std::string_view what);
  Call CreateSession(uint64_t client, uint32_t sequence, const nfs_client::nfs4::Channel& fore,
                     uint32_t back_slots = 0);

 private:
  Bench& bench_;
  Link* link_;
  const std::string owner_;
  uint64_t client_ = 0;
  uint32_t create_sequence_ = 0;
  nfs_client::nfs4::SessionId id_{};
  nfs_client::nfs4::Channel fore_;
  std::vector<uint32_t> sequences_;
  bool has_back_channel_ = false;
};
inline constexpr uint32_t kCallbackProgram = 0x40000000;  // that sessions ask for

// PUTROOTFH and GETATTR: what every server has.
void AddRoot(nfs_client::nfs4::Compound& compound);

}  // namespace stag::probe
