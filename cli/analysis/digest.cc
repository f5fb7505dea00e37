// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/digest.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace stag::cli {

Sha256::Sha256() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  if (!algorithm_ || !context_) throw std::runtime_error("OpenSSL offers no SHA-256 here; check its configuration");
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
  EVP_MD_free(algorithm_);
}

void Sha256::Start() { EVP_DigestInit_ex(context_, algorithm_, nullptr); }

void Sha256::Update(Bytes bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }

Sha256::Value Sha256::Finish() {
  Value value;
  EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(value.data()), nullptr);
  return value;
}

}  // namespace stag::cli
