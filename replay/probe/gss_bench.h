// SPDX-License-Identifier: GPL-2.0-or-later
//
// What probes of RPCSEC_GSS have in common: a context with the server, Calls of it, and what their Replies must be.
// Each function ends the probe when something else came.
#pragma once

#include "replay/gss/initiator.h"
#include "replay/probe/nfs3_bench.h"

namespace stag::probe {

// Skips the probe when there is no key table.
void NeedGss(const Bench& bench);
// Makes a Long Call of what does not fit inline.
void Fit(Link& link, Call& call);

class GssBench {
 public:
  // Makes a context on this connection. Skips the probe when the server takes none.
  GssBench(Bench& bench, Link& link);
  // One more, with these values where a server has to ignore them (RFC 2203 section 5.2.2), and with a Write chunk of
  // so many bytes that has to come back unused.
  GssBench(Bench& bench, Link& link, const gss::Protection& undefined, uint32_t write_chunk = 0);

  gss::Initiator& context() { return context_; }
  // The next sequence number.
  gss::Protection Next(rpc::GssService service) { return {context_.NextSequence(), service}; }
  // A NULL of the target's program.
  Call Null(const gss::Protection& protection) { return MakeNull(protection, rpc::kGssData); }
  // With these arguments behind its header, as they are.
  Call NullWith(const gss::Protection& protection, Bytes body);
  Call Destroy(const gss::Protection& protection) { return MakeNull(protection, rpc::kGssDestroy); }
  Call Nfs3(uint32_t procedure, const gss::Protection& protection, Bytes arguments);
  Call Read(const gss::Protection& protection, uint64_t offset, uint32_t count);
  // Up to the count of the data.
  Data WriteArguments(uint64_t offset, uint32_t count) const;

  // What a Reply brings, verified.
  Data Results(Link& link, const Call& call, const gss::Protection& protection, const Message& answer);
  // Ends the probe when the server denies the principal the file: that tells nothing.
  void ExpectData(Bytes results, std::span<const Bytes> chunks, Bytes expected) const;
  void ExpectWritten(Bytes results, size_t count) const;
  // A NULL is answered rightly.
  void AskNull(Link& link, rpc::GssService service = rpc::kGssNone);

 private:
  void Create(Link& link, const gss::Protection& undefined, uint32_t write_chunk, bool first);
  Call MakeNull(const gss::Protection& protection, uint32_t proc);
  Call Take(Call call, Result<gss::Buffer> rpc) const;

  Bench& bench_;
  gss::Initiator context_;
};

// Write chunks that a Reply to `call` brought nothing in. `why`: in words.
void ExpectUnused(Link& link, const Call& call, const Message& answer, std::string_view why);
// An RPC Reply (AUTH_ERROR) with this auth_stat.
void ExpectDenied(Link& link, const Call& call, const Message& answer, uint32_t auth_stat);

}  // namespace stag::probe
