// SPDX-License-Identifier: GPL-2.0-or-later
//
// Pseudonyms: what stands in the place of a value: as long as it, the same for the same value, and told by a key alone
// (HMAC-SHA256 and AES-256 of OpenSSL). What is all zeros stays so. docs/security.md says what that promises.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "protocol/base/address.h"
#include "protocol/base/bytes.h"

struct evp_cipher_ctx_st;

namespace stag::scrub {

class Pseudonyms {
 public:
  using Key = std::array<std::byte, 32>;
  explicit Pseudonyms(const Key& key);
  ~Pseudonyms();
  Pseudonyms(const Pseudonyms&) = delete;
  Pseudonyms& operator=(const Pseudonyms&) = delete;

  // `out` is as long as `in` and may be the same bytes.
  // Text: the parts between '/' and '@' become letters and digits, but for "." and "..".
  void Name(Bytes in, MutableBytes out);
  // Printable ASCII becomes a name, other bytes become bytes.
  void Opaque(Bytes in, MutableBytes out);
  // A permutation of the 4- or 8-byte (big-endian) numbers.
  void Number(Bytes in, MutableBytes out);
  // Seconds of 4 or 8 bytes that fit into 31 bits, nanoseconds of 4 below 10^9.
  void Time(Bytes in, MutableBytes out);
  // A universal address (RFC 5665 section 5.2.3): the digits of the IP address; its form, and the port, stay.
  void UniversalAddress(Bytes in, MutableBytes out);

  // Addresses whose first n bits agree have pseudonyms whose first n bits agree. Of IPv4 the first 4 bits stay, of IPv6
  // the first 4, 8 (unique local) or 16 (link-local, multicast). IPv4-mapped IPv6 addresses and GIDs are treated as
  // IPv4.
  void Ipv4(std::byte* address);
  void Ipv6(std::byte* address);
  // Individual addresses get the locally administered bit, group addresses keep their first three bytes.
  void Mac(std::byte* address);
  // A permutation of the individual LIDs; others stay.
  void Lid(std::byte* lid);

  // The bytes from `offset` on in the place of the content of the file that has this handle.
  void FileData(Bytes handle, uint64_t offset, MutableBytes out);
  // In the place of just this content.
  void Content(Bytes in, MutableBytes out);

 private:
  using Digest = std::array<std::byte, 32>;
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  using Cipher = std::unique_ptr<evp_cipher_ctx_st, FreeCipher>;

  // False: OpenSSL offers none, or there is no memory.
  bool Mac(char domain, Bytes in, Digest& out) const;
  Digest Mac256(char domain, Bytes in) const;
  Digest Cached(char domain, Bytes in);
  std::array<std::byte, 16> Block(char domain, uint64_t high, uint64_t low);
  uint64_t Permute(uint64_t value, unsigned bits);
  void Prefix(std::byte* address, unsigned bits, unsigned kept);
  static void Expand(const Digest& seed, uint64_t offset, MutableBytes out);

  Digest key_;
  Cipher aes_;
  std::unordered_map<std::string, Digest> values_;  // a cache
  std::unordered_map<std::string, std::array<std::byte, 16>> addresses_;
};

}  // namespace stag::scrub
