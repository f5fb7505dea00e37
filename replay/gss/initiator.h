// SPDX-License-Identifier: GPL-2.0-or-later
//
// Initiator: a client's RPCSEC_GSS context (RFC 2203): the Calls that make it and end it, credentials and verifiers of
// Calls, what the service makes of their arguments, and what Replies bring. It sends nothing. Threads: one at a time.
#pragma once

#include "protocol/rpc/message.h"
#include "protocol/rpc/rpcsec_gss.h"
#include "replay/gss/kerberos.h"

namespace stag::gss {

// Of a Call: what the credential's header is about, in which order, and how it is protected.
struct Target {
  uint32_t xid = 0, program = 0, version = 0, procedure = 0;
};
struct Protection {
  uint32_t sequence = 0;
  uint32_t service = rpc::kGssNone;  // rpc::GssService
};

class Initiator {
 public:
  // `credentials` must outlive it.
  explicit Initiator(Credentials& credentials) : context_(credentials.NewContext()) {}

  // Context creation (section 5.2): RPC Calls of NULL until it is established. `undefined`: what the credential says,
  // which a server has to ignore (section 5.2.2). The error says what Kerberos has against it.
  Result<Buffer> Create(const Target& target, const Protection& undefined = {});
  // The Reply to such a Call, a whole RPC message that succeeds. The error says what is wrong with it.
  Result<void> Created(Bytes reply);
  bool established() const { return established_; }
  // The server's GSS-API makes none.
  bool refused() const { return refused_; }
  uint32_t window() const { return window_; }
  Bytes handle() const { return handle_; }
  // Another handle, to be wrong.
  void SetHandle(Bytes handle) { handle_.assign(handle.begin(), handle.end()); }
  uint32_t NextSequence() { return ++sequence_; }
  // The next is one more.
  void SetSequence(uint32_t last) { sequence_ = last; }

  // An RPC Call with these arguments (section 5.3), or without any that ends the context (section 5.4).
  Result<Buffer> Call(const Target& target, const Protection& protection, Bytes arguments);
  Result<Buffer> Destroy(const Target& target, const Protection& protection);
  // The arguments as the service makes them; `inner`: the sequence number in them, which is that of the credential.
  Result<Buffer> Protect(uint32_t service, uint32_t inner, Bytes arguments);
  // The header of a Call, with its verifier.
  Result<Buffer> Header(const Target& target, uint32_t proc, const Protection& protection);

  // The results of a Reply that succeeds, a whole RPC message. The error says which checksum is wrong
  // (section 5.3.3.2).
  Result<Buffer> Results(Bytes reply, const Protection& protection);

 private:
  Result<void> VerifyWord(const rpc::Auth& verifier, uint32_t word);

  std::unique_ptr<Context> context_;
  Buffer handle_, token_;
  uint32_t window_ = 0, sequence_ = 0;
  bool begun_ = false, established_ = false, refused_ = false;
};

}  // namespace stag::gss
