// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/pseudonyms.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/cli/scrubbed.h"

namespace stag::scrub {
namespace {

using test::kScrubKey;

Bytes Raw(const std::string& text) { return std::as_bytes(std::span(text)); }

class PseudonymsTest : public ::testing::Test {
 protected:
  template <typename Fn>
  std::string Of(const std::string& text, Fn fn) {
    std::string out(text.size(), '\0');
    fn(Raw(text), std::as_writable_bytes(std::span(out)));
    return out;
  }
  std::string Name(const std::string& text) {
    return Of(text, [this](Bytes in, MutableBytes out) { pseudonyms.Name(in, out); });
  }
  std::string Opaque(const std::string& text) {
    return Of(text, [this](Bytes in, MutableBytes out) { pseudonyms.Opaque(in, out); });
  }
  std::string Universal(const std::string& text) {
    return Of(text, [this](Bytes in, MutableBytes out) { pseudonyms.UniversalAddress(in, out); });
  }
  uint32_t Number(uint32_t value) {
    std::array<std::byte, 4> in, out;
    StoreBe32(in.data(), value);
    pseudonyms.Number(in, out);
    return LoadBe32(out.data());
  }
  uint32_t Ipv4(uint32_t value) {
    std::array<std::byte, 4> address;
    StoreBe32(address.data(), value);
    pseudonyms.Ipv4(address.data());
    return LoadBe32(address.data());
  }

  Pseudonyms pseudonyms{kScrubKey};
};

TEST_F(PseudonymsTest, NamesAreReplacedPartByPart) {
  const std::string name = Name("report-2026.txt");
  EXPECT_EQ(name.size(), 15u);
  EXPECT_NE(name, "report-2026.txt");
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567"), std::string::npos);
  EXPECT_EQ(Name("report-2026.txt"), name);
  EXPECT_EQ(Name("/export/../report-2026.txt"), "/" + Name("export") + "/../" + name);
  EXPECT_EQ(Name("alice@example.org"), Name("alice") + "@" + Name("example.org"));
  EXPECT_EQ(Name("."), ".");
  EXPECT_NE(Name("..."), "...");
}

TEST_F(PseudonymsTest, AnotherKeyGivesOthers) {
  Pseudonyms::Key key = kScrubKey;
  key[31] = std::byte{9};
  Pseudonyms other(key);
  std::string name(6, '\0');
  other.Name(Raw("export"), std::as_writable_bytes(std::span(name)));
  EXPECT_NE(name, Name("export"));
  std::array<std::byte, 4> address{std::byte{10}, std::byte{1}, std::byte{2}, std::byte{3}};
  other.Ipv4(address.data());
  EXPECT_NE(LoadBe32(address.data()), Ipv4(0x0a010203));
}

TEST_F(PseudonymsTest, OpaqueValues) {
  const std::string handle("\x01\x00\x07\x81\xff\x20", 6), zeros(8, '\0');
  EXPECT_EQ(Opaque(zeros), zeros);
  EXPECT_NE(Opaque(handle), handle);
  EXPECT_EQ(Opaque(handle), Opaque(handle));
  EXPECT_EQ(Opaque("Linux NFSv4.1 host"), Name("Linux NFSv4.1 host"));
  EXPECT_EQ(Opaque(std::string(100, '\x80')).size(), 100u);
  EXPECT_EQ(Opaque(""), "");
}

TEST_F(PseudonymsTest, NumbersArePermuted) {
  std::set<uint32_t> seen;
  for (uint32_t value = 0; value < 5000; ++value) seen.insert(Number(value));
  EXPECT_EQ(seen.size(), 5000u);
  EXPECT_EQ(Number(0), 0u);
  EXPECT_NE(Number(1000), 1000u);
}

TEST_F(PseudonymsTest, AddressesKeepTheirPrefixes) {
  const uint32_t first = Ipv4(0x0a010203);
  for (unsigned bit = 4; bit < 32; ++bit) {
    const uint32_t other = Ipv4(0x0a010203 ^ (1u << (31 - bit)));
    EXPECT_EQ(__builtin_clz(first ^ other), static_cast<int>(bit));
  }
  EXPECT_EQ(first >> 28, 0u);
  EXPECT_EQ(Ipv4(0), 0u);
  EXPECT_EQ(Ipv4(0xffffffff), 0xffffffffu);
}

TEST_F(PseudonymsTest, Ipv6KeepsItsPrefixesToo) {
  std::array<std::byte, 16> one{};
  one[0] = std::byte{0x20}, one[1] = std::byte{0x01}, one[15] = std::byte{7};
  std::array<std::byte, 16> other = one;
  other[9] ^= std::byte{0x10};
  pseudonyms.Ipv6(one.data()), pseudonyms.Ipv6(other.data());
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + 9, other.begin()));
  EXPECT_EQ(std::to_integer<int>((one[9] ^ other[9]) & std::byte{0xf0}), 0x10);
  EXPECT_EQ(std::to_integer<int>(one[0]) >> 4, 2);
}

TEST_F(PseudonymsTest, MappedAddressesAreThoseOfIpv4) {
  std::array<std::byte, 16> mapped{};
  mapped[10] = mapped[11] = std::byte{0xff};
  StoreBe32(mapped.data() + 12, 0xc0000201);
  pseudonyms.Ipv6(mapped.data());
  EXPECT_EQ(LoadBe32(mapped.data() + 12), Ipv4(0xc0000201));
  EXPECT_EQ(LoadBe32(mapped.data() + 8), 0x0000ffffu);
}

TEST_F(PseudonymsTest, UniversalAddressesKeepTheirFormAndPort) {
  const std::string address = Universal("192.0.2.17.78.81");
  EXPECT_TRUE(address.ends_with(".78.81"));
  EXPECT_NE(address, "192.0.2.17.78.81");
  EXPECT_EQ(address[3], '.');
  EXPECT_EQ(address[5], '.');
  EXPECT_EQ(address[0], '1');
  EXPECT_EQ(Universal("192.0.2.17.8.1").substr(0, 10), address.substr(0, 10));
  EXPECT_EQ(Universal("fe80::1.78.81").substr(4, 2), "::");
}

TEST_F(PseudonymsTest, LidsStayIndividual) {
  std::set<uint16_t> seen;
  for (unsigned lid = 1; lid < 0xc000; lid += 7) {
    std::array<std::byte, 2> bytes;
    StoreBe16(bytes.data(), static_cast<uint16_t>(lid));
    pseudonyms.Lid(bytes.data());
    const uint16_t becomes = LoadBe16(bytes.data());
    EXPECT_TRUE(becomes > 0 && becomes < 0xc000);
    EXPECT_TRUE(seen.insert(becomes).second);
  }
}

TEST_F(PseudonymsTest, TimesAreTimes) {
  std::array<std::byte, 12> in{}, out{};
  StoreBe32(in.data() + 4, 1'700'000'000);
  StoreBe32(in.data() + 8, 999'999'999);
  pseudonyms.Time(in, out);
  EXPECT_EQ(LoadBe32(out.data()), 0u);
  EXPECT_LT(LoadBe32(out.data() + 8), 1'000'000'000u);
  EXPECT_NE(LoadBe32(out.data() + 4), 1'700'000'000u);
}

TEST_F(PseudonymsTest, FileDataDependsOnThePlaceAlone) {
  std::vector<std::byte> all(5000), part(1001);
  pseudonyms.FileData(Raw("handle"), 4096, all);
  pseudonyms.FileData(Raw("handle"), 4096 + 37, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 37));
  pseudonyms.FileData(Raw("other"), 4096 + 37, part);
  EXPECT_FALSE(std::equal(part.begin(), part.end(), all.begin() + 37));
}

}  // namespace
}  // namespace stag::scrub
