// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/pseudonyms.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace stag::scrub {
namespace {

constexpr size_t kMaxCached = 1u << 14, kMostCachedBytes = 128;  // values, bytes of one
// What a pseudonym is of: values of different kinds have nothing in common.
constexpr char kNameDomain = 'n', kValueDomain = 'v', kTimeDomain = 't', kMacDomain = 'm', kFileDomain = 'f',
               kContentDomain = 'c', kNumberDomain = '#', kPrefixDomain = 'p', kDigitDomain = 'u', kBlockKey = 'k';

bool IsZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool IsText(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte b) { return b >= std::byte{0x20} && b < std::byte{0x7f}; });
}

const unsigned char* Raw(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* Raw(MutableBytes bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

void Pseudonyms::FreeCipher::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Pseudonyms::Pseudonyms(const Key& key) : key_(key), aes_(EVP_CIPHER_CTX_new()) {
  Digest block_key;
  if (!Mac(kBlockKey, {}, block_key))
    throw std::runtime_error("OpenSSL offers no HMAC-SHA256 here; check its configuration");
  if (!aes_ || EVP_EncryptInit_ex(aes_.get(), EVP_aes_256_ecb(), nullptr, Raw(Bytes(block_key)), nullptr) != 1)
    throw std::runtime_error("OpenSSL offers no AES-256 here; check its configuration");
  EVP_CIPHER_CTX_set_padding(aes_.get(), 0);
}

Pseudonyms::~Pseudonyms() = default;

bool Pseudonyms::Mac(char domain, Bytes in, Digest& out) const {
  std::string message(1, domain);
  message.append(reinterpret_cast<const char*>(in.data()), in.size());
  auto size = static_cast<unsigned>(out.size());
  return HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
              reinterpret_cast<const unsigned char*>(message.data()), message.size(), Raw(MutableBytes(out)),
              &size) != nullptr;
}

// It was there for the constructor: what lacks later is memory.
Pseudonyms::Digest Pseudonyms::Mac256(char domain, Bytes in) const {
  Digest digest;
  if (!Mac(domain, in, digest)) throw std::bad_alloc();
  return digest;
}

Pseudonyms::Digest Pseudonyms::Cached(char domain, Bytes in) {
  if (in.size() > kMostCachedBytes) return Mac256(domain, in);
  std::string name(1, domain);
  name.append(reinterpret_cast<const char*>(in.data()), in.size());
  if (values_.size() >= kMaxCached) values_.clear();
  const auto [at, fresh] = values_.try_emplace(std::move(name));
  if (fresh) at->second = Mac256(domain, in);
  return at->second;
}

// One block of AES: a pseudorandom function of its 15 bytes.
std::array<std::byte, 16> Pseudonyms::Block(char domain, uint64_t high, uint64_t low) {
  std::array<std::byte, 16> in, out;
  StoreBe64(in.data(), high);
  in[0] = static_cast<std::byte>(domain);
  StoreBe64(in.data() + 8, low);
  int size = 0;
  EVP_EncryptUpdate(aes_.get(), Raw(MutableBytes(out)), &size, Raw(Bytes(in)), static_cast<int>(in.size()));
  return out;
}

// `seed` stretched: AES-256 in counter mode.
void Pseudonyms::Expand(const Digest& seed, uint64_t offset, MutableBytes out) {
  constexpr uint64_t kBlock = 16;
  std::array<std::byte, kBlock> counter{};
  StoreBe64(counter.data() + 8, offset / kBlock);
  const Cipher cipher(EVP_CIPHER_CTX_new());
  if (!cipher ||
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, Raw(Bytes(seed)), Raw(Bytes(counter))) != 1)
    throw std::bad_alloc();
  int size = 0;
  std::array<std::byte, kBlock> skipped{};
  EVP_EncryptUpdate(cipher.get(), Raw(MutableBytes(skipped)), &size, Raw(Bytes(skipped)),
                    static_cast<int>(offset % kBlock));
  std::fill(out.begin(), out.end(), std::byte{0});
  constexpr size_t kMost = 1u << 24;
  for (size_t at = 0; at < out.size(); at += kMost) {
    const MutableBytes part = out.subspan(at, std::min(kMost, out.size() - at));
    EVP_EncryptUpdate(cipher.get(), Raw(part), &size, Raw(Bytes(part)), static_cast<int>(part.size()));
  }
}

void Pseudonyms::Name(Bytes in, MutableBytes out) {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
  const auto separates = [](std::byte b) { return b == std::byte{'/'} || b == std::byte{'@'}; };
  for (size_t begin = 0; begin < in.size();) {
    if (separates(in[begin])) {
      out[begin] = in[begin];
      ++begin;
      continue;
    }
    size_t end = begin;
    bool dots = true;
    for (; end < in.size() && !separates(in[end]); ++end) dots = dots && in[end] == std::byte{'.'};
    const Bytes part = in.subspan(begin, end - begin);
    const MutableBytes to = out.subspan(begin, end - begin);
    if (dots && part.size() <= 2) {
      std::copy(part.begin(), part.end(), to.begin());
    } else {
      const Digest seed = Cached(kNameDomain, part);
      Expand(seed, 0, to);
      for (std::byte& b : to) b = static_cast<std::byte>(kLetters[std::to_integer<size_t>(b) % 32]);
    }
    begin = end;
  }
}

void Pseudonyms::Opaque(Bytes in, MutableBytes out) {
  if (in.empty()) return;
  if (IsText(in)) return Name(in, out);
  if (IsZero(in)) return std::fill(out.begin(), out.end(), std::byte{0});
  const Digest& seed = Cached(kValueDomain, in);
  if (in.size() <= seed.size()) {
    std::copy_n(seed.begin(), out.size(), out.begin());
  } else {
    Expand(seed, 0, out);
  }
}

// A Feistel network of six rounds over `bits` (even, at most 64) bits; zero changes places with what becomes zero.
uint64_t Pseudonyms::Permute(uint64_t value, unsigned bits) {
  const unsigned half = bits / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  const auto rounds = [&](uint64_t v) {
    uint64_t left = v >> half, right = v & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t mixed = LoadBe64(Block(kNumberDomain, bits << 8 | round, right).data()) & mask;
      left ^= mixed;
      std::swap(left, right);
    }
    return left << half | right;
  };
  if (value == 0) return 0;
  const uint64_t permuted = rounds(value);
  return permuted != 0 ? permuted : rounds(0);
}

void Pseudonyms::Number(Bytes in, MutableBytes out) {
  if (in.size() == 4) return StoreBe32(out.data(), static_cast<uint32_t>(Permute(LoadBe32(in.data()), 32)));
  if (in.size() == 8) return StoreBe64(out.data(), Permute(LoadBe64(in.data()), 64));
  Opaque(in, out);
}

void Pseudonyms::Time(Bytes in, MutableBytes out) {
  if (IsZero(in) || (in.size() != 8 && in.size() != 12)) return Opaque(in, out);
  const Digest seed = Cached(kTimeDomain, in);
  const bool wide = in.size() == 12;
  if (wide) StoreBe32(out.data(), 0);
  StoreBe32(out.data() + (wide ? 4 : 0), LoadBe32(seed.data()) >> 1);
  const bool fraction = !IsZero(in.last(4));
  StoreBe32(out.data() + out.size() - 4, fraction ? LoadBe32(seed.data() + 4) % 1'000'000'000 : 0);
}

void Pseudonyms::UniversalAddress(Bytes in, MutableBytes out) {
  const std::string text(reinterpret_cast<const char*>(in.data()), in.size());
  const size_t low = text.rfind('.');
  const size_t high = low == std::string::npos || low == 0 ? std::string::npos : text.rfind('.', low - 1);
  if (high == std::string::npos) return Name(in, out);
  const Digest seed = Cached(kDigitDomain, in.first(high));
  std::string scrubbed = text;
  size_t drawn = 0;
  const bool v6 = text.find(':') != std::string::npos;
  for (size_t begin = 0; begin < high;) {
    size_t end = begin;
    while (end < high && text[end] != '.' && text[end] != ':') ++end;
    for (size_t i = begin; i < end; ++i) {
      const auto random = std::to_integer<unsigned>(seed[drawn++ % seed.size()]);
      // An octet stays below 200, and is as long as it was.
      const unsigned first = i == begin && end - begin > 1 ? 1 : 0;
      const unsigned digits = v6 ? 16 : end - begin >= 3 && i == begin ? 2 : 10;
      scrubbed[i] = "0123456789abcdef"[first + random % (digits - first)];
    }
    begin = end + 1;
  }
  std::transform(scrubbed.begin(), scrubbed.end(), out.begin(), [](char c) { return static_cast<std::byte>(c); });
}

// Each bit behind the first `kept` ones changes as the bits before it say.
void Pseudonyms::Prefix(std::byte* address, unsigned bits, unsigned kept) {
  const std::string name(reinterpret_cast<const char*>(address), bits / 8);
  if (addresses_.size() >= kMaxCached) addresses_.clear();
  const auto [found, fresh] = addresses_.try_emplace(name);
  std::array<std::byte, 16>& scrubbed = found->second;
  if (fresh) {
    std::array<std::byte, 16> seen{};
    for (unsigned bit = 0; bit < bits; ++bit) {
      const std::byte mask{static_cast<uint8_t>(0x80u >> bit % 8)};
      const std::byte own = address[bit / 8] & mask;
      bool flip = false;
      if (bit >= kept) {
        // Of IPv6 prefixes, longer than what a block takes beside its domain, the digest of the first half is taken.
        uint64_t high = uint64_t{bits} << 16 | bit;
        uint64_t low = LoadBe64(seen.data());
        if (bit > 64) {
          low = LoadBe64(Block(kPrefixDomain, high, low).data()) ^ LoadBe64(seen.data() + 8);
          high |= uint64_t{1} << 48;
        }
        flip = (Block(kPrefixDomain, high, low)[0] & std::byte{1}) != std::byte{0};
      }
      seen[bit / 8] |= own;
      scrubbed[bit / 8] |= flip ? own ^ mask : own;
    }
  }
  std::copy_n(scrubbed.begin(), bits / 8, address);
}

void Pseudonyms::Ipv4(std::byte* address) {
  const uint32_t value = LoadBe32(address);
  if (value == 0 || value == 0xffffffffu) return;
  Prefix(address, 32, 4);
}

void Pseudonyms::Ipv6(std::byte* address) {
  const uint64_t high = LoadBe64(address), low = LoadBe64(address + 8);
  if (high == 0 && low >> 32 == 0xffff) return Ipv4(address + 12);
  if (high == 0 && low <= 1) return;  // unspecified, loopback
  const auto first = std::to_integer<uint8_t>(address[0]);
  const bool link_local = high >> 54 == 0x3fa;
  Prefix(address, 128, link_local || first == 0xff ? 16 : (first & 0xfe) == 0xfc ? 8 : 4);
}

void Pseudonyms::Mac(std::byte* address) {
  constexpr size_t kSize = 6, kGroupPrefix = 3;
  const Bytes in(address, kSize);
  const auto all_ones = [](std::byte b) { return b == std::byte{0xff}; };
  if (IsZero(in) || std::all_of(in.begin(), in.end(), all_ones)) return;
  const bool group = (address[0] & std::byte{1}) != std::byte{0};
  const Digest& seed = Cached(kMacDomain, in);
  if (group) {
    std::copy_n(seed.begin(), kSize - kGroupPrefix, address + kGroupPrefix);
  } else {
    std::copy_n(seed.begin(), kSize, address);
    address[0] = (address[0] & ~std::byte{3}) | std::byte{2};
  }
}

void Pseudonyms::Lid(std::byte* lid) {
  constexpr uint16_t kFirstMulticast = 0xc000;
  uint64_t value = LoadBe16(lid);
  if (value == 0 || value >= kFirstMulticast) return;
  do value = Permute(value, 16);
  while (value >= kFirstMulticast);
  StoreBe16(lid, static_cast<uint16_t>(value));
}

void Pseudonyms::FileData(Bytes handle, uint64_t offset, MutableBytes out) {
  Expand(Cached(kFileDomain, handle), offset, out);
}

void Pseudonyms::Content(Bytes in, MutableBytes out) { Expand(Mac256(kContentDomain, in), 0, out); }

}  // namespace stag::scrub
