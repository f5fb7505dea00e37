// SPDX-License-Identifier: GPL-2.0-or-later
//
// What RPCSEC_GSS version 1 (RFC 2203) puts into RPC messages: credentials, and the arguments and results of context
// creation and of Calls with integrity and privacy. Pure; views point into the bytes that were decoded. What GSS-API
// makes of tokens and checksums is no part of it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::rpc {

inline constexpr uint32_t kGssVersion = 1;
inline constexpr uint32_t kGssMaxSequence = 0x80000000;  // MAXSEQ, the largest (section 5.3.1)
// auth_stat of a Call that is denied (section 4).
inline constexpr uint32_t kGssCredProblem = 13, kGssCtxProblem = 14;
// Major status of GSS-API in GssInitResults (RFC 2744 section 3.9.1).
inline constexpr uint32_t kGssComplete = 0, kGssContinueNeeded = 1, kGssFailure = 13 << 16;

// The body of a credential (section 5.3.1), of any version and with any values; what follows it is not looked at.
struct GssCredential {
  ParseStatus status = ParseStatus::kMalformed;
  uint32_t version = 0, proc = 0, sequence = 0, service = 0;
  Bytes handle;
};
GssCredential DecodeGssCredential(Bytes body);

// The results of RPCSEC_GSS_INIT and RPCSEC_GSS_CONTINUE_INIT (section 5.2.3.1), which must be all there is.
struct GssInitResults {
  ParseStatus status = ParseStatus::kMalformed;
  Bytes handle;
  uint32_t major = 0, minor = 0, window = 0;
  Bytes token;
};
GssInitResults DecodeGssInitResults(Bytes results);
void Encode(const GssInitResults& results, std::vector<std::byte>& out);

// One opaque, which must be all there is: the token of context creation (section 5.2.2), and what privacy makes of
// arguments or results (rpc_gss_priv_data, section 5.3.2.3).
std::optional<Bytes> DecodeGssToken(Bytes arguments);

// rpc_gss_integ_data (section 5.3.2.2), which must be all there is.
struct GssIntegrity {
  ParseStatus status = ParseStatus::kMalformed;
  Bytes data;      // rpc_gss_data_t: what the checksum is of
  Bytes checksum;  // of GSS_GetMIC
};
GssIntegrity DecodeGssIntegrity(Bytes body);
void Encode(const GssIntegrity& body, std::vector<std::byte>& out);

// rpc_gss_data_t (section 5.3.2.2): a sequence number, then the arguments or results, four bytes at least.
inline constexpr size_t kGssDataHeader = 4;

// What the verifier of a Reply is the checksum of: the Call's sequence number (section 5.3.3.2), or the window of a new
// context (section 5.2.3.1).
inline std::array<std::byte, 4> GssWord(uint32_t value) {
  std::array<std::byte, 4> bytes;
  StoreBe32(bytes.data(), value);
  return bytes;
}

}  // namespace stag::rpc
