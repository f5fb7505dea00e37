// SPDX-License-Identifier: GPL-2.0-or-later
//
// In place of kerberos.cc where GSS-API of MIT Kerberos was not found.
#include "replay/gss/kerberos.h"

namespace stag::gss {
namespace {

constexpr const char* kAbsent = "there is no RPCSEC_GSS: this stag was built without the headers of libgssapi_krb5";

}  // namespace

Result<std::shared_ptr<Credentials>> OpenInitiator(const InitiatorOptions&) { return Fail(kAbsent); }
Result<std::shared_ptr<Credentials>> OpenAcceptor(const std::string&) { return Fail(kAbsent); }

}  // namespace stag::gss
