// SPDX-License-Identifier: GPL-2.0-or-later
//
// Workload: what a Job is in one protocol: its Call, and what its Reply says. One for each connection.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "replay/generate/contents.h"
#include "replay/generate/options.h"
#include "replay/nfs_client/caller.h"

namespace stag::generate {

inline constexpr uint32_t kFillSize = 1 << 20;  // bytes of a WRITE that fills a new file

struct Verdict {
  std::string failure;               // empty: none. "NFS3ERR_STALE", or what cannot be true of the results
  bool wrong = false;                // the failure is not a status: the results are not what they have to be
  bool over = false;                 // and the connection is of no more use: the session is lost
  Bytes data;                        // READ, ECHO
  bool eof = false;                  // READ
  uint64_t written = 0;              // WRITE: bytes
  std::optional<uint64_t> verifier;  // WRITE: changes when the server may have lost what it has not made stable
};

class Workload {
 public:
  virtual ~Workload() = default;
  // On a new connection, with nothing outstanding. The first time (`again` false) files are made.
  virtual Result<void> Begin(nfs_client::Caller& caller, bool again) = 0;
  // Removes the files, unless they are to be kept, and ends the session.
  virtual Result<void> End(nfs_client::Caller& caller) = 0;
  // Whether the protocol allows another Call now.
  virtual bool Ready() const { return true; }
  // What `call` points to is valid until the next call. May take a session slot.
  virtual void Encode(Job& job, rpcrdma::CallSpec& call) = 0;
  // `results`: of a successful RPC Reply; `chunks`: what came in the Write chunks. Valid as long as these.
  virtual Verdict Judge(const Job& job, Bytes results, std::span<const Bytes> chunks) = 0;
  // The Job ended without results (`called`: the Call may have been executed).
  virtual void Drop(const Job& /*job*/) {}
};

std::unique_ptr<Workload> MakePlainWorkload(const LoadOptions& options);  // NULL, ECHO
std::unique_ptr<Workload> MakeNfs3Workload(const LoadOptions& options, std::vector<Part> share);
std::unique_ptr<Workload> MakeNfs4Workload(const LoadOptions& options, uint32_t connection, std::vector<Part> share);

// Lays out Calls for the inline thresholds of a connection, and puts data where they go out from without being copied.
class Planner {
 public:
  explicit Planner(const LoadOptions& options);
  void Begin(rpcrdma::Requester& requester) { requester_ = &requester; }
  // For results of at most `results` bytes, and `data` of a READ: which chunks the Call offers.
  void PlanReply(rpcrdma::CallSpec& call, uint64_t results, uint32_t data = 0);
  // The data of a WRITE or ECHO, which end the Call, behind the message: job.size bytes that are those of `file` from
  // `offset` on with --verify, otherwise any. `reduce`: they may go by a Read chunk.
  void PutData(rpcrdma::CallSpec& call, const Job& job, uint32_t file, uint64_t offset, bool reduce) const;

 private:
  static constexpr uint64_t kTransportHeader = 28;  // without chunks
  const LoadOptions& options_;
  const uint32_t largest_;
  rpcrdma::Requester* requester_ = nullptr;
  uint32_t offered_ = 0;
};

// The largest data of any Job.
uint32_t LargestSize(const JobOptions& options);

// Writes a new file from begin to end as generation 0, in pieces of at most `piece` bytes.
Result<void> FillFile(Workload& workload, nfs_client::Caller& caller, const LoadOptions& options, uint32_t part,
                      uint32_t piece);

}  // namespace stag::generate
