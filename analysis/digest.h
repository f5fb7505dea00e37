// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sha256: the digest of what it was fed (OpenSSL's, which uses the processor's instructions for it).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/bytes.h"

struct evp_md_st;
struct evp_md_ctx_st;

namespace stag::analysis {

class Sha256 {
 public:
  using Value = std::array<std::byte, 32>;
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Start();
  void Update(Bytes bytes);
  Value Finish();  // Start() begins the next one

 private:
  const evp_md_st* algorithm_;
  evp_md_ctx_st* context_;
};

// The bytes in base64 (RFC 4648 section 4).
std::string Base64(Bytes bytes);
// "sha256-..." of the text, as a Content-Security-Policy names a style or a script.
std::string SourceHash(std::string_view text);

}  // namespace stag::analysis
