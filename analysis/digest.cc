// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/digest.h"

#include <openssl/evp.h>

#include <new>
#include <span>
#include <stdexcept>

namespace stag::analysis {

namespace {

struct FreeAlgorithm {
  void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
};

// Found once: later there may be no memory to look for it.
const EVP_MD* Algorithm() {
  static const std::unique_ptr<EVP_MD, FreeAlgorithm> algorithm = [] {
    std::unique_ptr<EVP_MD, FreeAlgorithm> found(EVP_MD_fetch(nullptr, "SHA256", nullptr));
    if (!found) throw std::runtime_error("OpenSSL offers no SHA-256 here; check its configuration");
    return found;
  }();
  return algorithm.get();
}

}  // namespace

Sha256::Sha256() : algorithm_(Algorithm()), context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Start() {
  if (EVP_DigestInit_ex(context_, algorithm_, nullptr) != 1) throw std::bad_alloc();
}

void Sha256::Update(Bytes bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }

Sha256::Value Sha256::Finish() {
  Value value;
  EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(value.data()), nullptr);
  return value;
}

std::string Base64(Bytes bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with the zero that OpenSSL puts behind it
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

std::string SourceHash(std::string_view text) {
  Sha256 sha;
  sha.Start();
  sha.Update(std::as_bytes(std::span(text)));
  return "sha256-" + Base64(sha.Finish());
}

}  // namespace stag::analysis
