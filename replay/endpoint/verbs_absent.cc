// SPDX-License-Identifier: GPL-2.0-or-later
//
// In place of the other verbs_*.cc where libibverbs and librdmacm were not found.
#include "replay/endpoint/verbs.h"

namespace stag::endpoint {

bool VerbsBuilt() { return false; }

Result<std::unique_ptr<Transport>> MakeVerbs(const std::string& device) {
  return Fail(device + " cannot be used: this stag was built without libibverbs and librdmacm");
}

}  // namespace stag::endpoint
