// SPDX-License-Identifier: GPL-2.0-or-later
//
// What RPCSEC_GSS needs of GSS-API (RFC 2743), with the mechanism Kerberos 5 (RFC 4121): credentials from a key table,
// and security contexts. Errors are texts of the library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/base/result.h"

namespace stag::gss {

using Buffer = std::vector<std::byte>;

// A security context. Threads: one at a time.
class Context {
 public:
  virtual ~Context() = default;
  // Takes the peer's token, and gives the next for it; empty: it needs none. An initiator begins with no token.
  virtual Result<Buffer> Step(Bytes token) = 0;
  virtual bool established() const = 0;
  // GSS_GetMIC and GSS_VerifyMIC.
  virtual Result<Buffer> Mic(Bytes message) = 0;
  virtual bool Verify(Bytes message, Bytes mic) = 0;
  // GSS_Wrap and GSS_Unwrap, with confidentiality; nullopt: it is damaged, or not encrypted.
  virtual Result<Buffer> Wrap(Bytes message) = 0;
  virtual std::optional<Buffer> Unwrap(Bytes wrapped) = 0;
};

// What contexts are made with. Threads: any.
class Credentials {
 public:
  virtual ~Credentials() = default;
  virtual std::unique_ptr<Context> NewContext() = 0;
};

struct InitiatorOptions {
  std::string keytab;     // a file
  std::string principal;  // empty: the first in the key table
  std::string service;    // "nfs@server"
};
// Gets the tickets, too, so that an error is what the KDC says. They are kept in memory, for this alone.
Result<std::shared_ptr<Credentials>> OpenInitiator(const InitiatorOptions& options);
// For any service that has a key in the table.
Result<std::shared_ptr<Credentials>> OpenAcceptor(const std::string& keytab);

}  // namespace stag::gss
