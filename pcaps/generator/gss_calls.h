// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS under RPCSEC_GSS (RFC 2203): the wrapping only; checksums and ciphertexts are any bytes.
#pragma once

#include "tests/support/nfs_messages.h"

namespace stag::evidence {

using test::Buffer;

enum class GssService : uint32_t { kNone = 1, kIntegrity = 2, kPrivacy = 3 };

inline Buffer GssVerifier() { return test::Join({test::Words({6}), test::Opaque(test::Pattern(28, 3))}); }

// rpc_gss_cred_t of version 1 with a handle of 4 bytes; `control`: 0 DATA, 1 INIT, 2 CONTINUE_INIT, 3 DESTROY.
inline Buffer GssCredential(GssService service, uint32_t control = 0) {
  const Buffer handle = test::Opaque(test::Words({0x5e55}));
  return test::Join(
      {test::Words({6}), test::Opaque(test::Join({test::Words({1, control, 1, static_cast<uint32_t>(service)}),
                                                  control == 1 ? test::Words({0}) : handle}))});
}

// Arguments or results as the service wraps them; for privacy `body` is the ciphertext.
inline Buffer GssBody(GssService service, const Buffer& body) {
  switch (service) {
    case GssService::kNone: return body;
    case GssService::kIntegrity:
      return test::Join({test::Opaque(test::Join({test::Words({1}), body})), test::Opaque(test::Pattern(28, 4))});
    case GssService::kPrivacy: return test::Opaque(body);
  }
  return body;
}

inline Buffer GssCall(uint32_t xid, uint32_t version, uint32_t procedure, GssService service, const Buffer& body) {
  return test::Join({test::Words({xid, rpc::kCall, 2, test::kNfs, version, procedure}), GssCredential(service),
                     GssVerifier(), GssBody(service, body)});
}
inline Buffer GssReply(uint32_t xid, GssService service, const Buffer& body) {
  return test::Join(
      {test::Words({xid, rpc::kReply, rpc::kAccepted}), GssVerifier(), test::Words({0}), GssBody(service, body)});
}

}  // namespace stag::evidence
