// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/load_options.h"

#include <optional>

#include "cli/base/common_options.h"
#include "text/parse.h"

namespace stag::cli {
namespace {

using generate::Operation;

constexpr uint32_t kMostWeight = 1'000'000, kMostSize = 64u << 20;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::optional<uint32_t> ParseWeight(std::string_view text) {
  const auto weight = ParseNumber<uint32_t>(text);
  return weight && *weight <= kMostWeight ? weight : std::nullopt;
}

std::optional<Operation> FindOperation(std::string_view text) {
  const std::string name = UpperCase(text);
  for (size_t i = 0; i < generate::kOperations; ++i)
    if (name == generate::OperationName(static_cast<Operation>(i))) return static_cast<Operation>(i);
  return {};
}

// "4K" or "4K-1M".
std::optional<generate::SizeRange> ParseRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto low = ParseSize(text.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : ParseSize(text.substr(dash + 1));
  if (!low || !high || *low == 0 || *low > *high || *high > kMostSize) return {};
  return generate::SizeRange{static_cast<uint32_t>(*low), static_cast<uint32_t>(*high), 1};
}

}  // namespace

std::string TakeMix(const std::string& text, generate::Mix& mix) {
  mix = {};
  uint64_t sum = 0;
  for (const std::string_view part : Split(text, ',')) {
    const size_t equals = part.find('=');
    const auto operation = FindOperation(part.substr(0, equals));
    const auto weight = equals == std::string_view::npos ? 1 : ParseWeight(part.substr(equals + 1));
    if (!operation || !weight) return text + " is not a mix of operations like read=70,write=20,getattr=10";
    generate::Weight(mix, *operation) += *weight;
    sum += *weight;
  }
  return sum > 0 ? "" : text + " has no operation with a weight";
}

std::string TakeSizes(const std::string& text, std::vector<generate::SizeRange>& sizes) {
  sizes.clear();
  uint64_t sum = 0;
  for (const std::string_view part : Split(text, ',')) {
    const size_t colon = part.find(':');
    const auto range = ParseRange(part.substr(0, colon));
    const auto weight = colon == std::string_view::npos ? 1 : ParseWeight(part.substr(colon + 1));
    if (!range || !weight) return text + " is not a size up to 64M like 4K, 4K-1M or 4K:50,64K:50";
    sum += *weight;
    if (*weight > 0) sizes.push_back({range->low, range->high, *weight});
  }
  return sum > 0 ? "" : text + " has no size with a weight";
}

std::string TakeDuration(const std::string& text, std::chrono::nanoseconds& duration) {
  constexpr std::chrono::hours kMost{365 * 24};
  duration = std::chrono::nanoseconds(ParseDuration(text).value_or(0));
  const bool fine = duration.count() > 0 && duration <= kMost;
  return fine ? std::string{} : text + " is not a time like 10s, 250ms, 2m or 1h";
}

std::string TakeDuration(const std::string& text, std::chrono::milliseconds& duration) {
  std::chrono::nanoseconds exact{0};
  std::string complaint = TakeDuration(text, exact);
  duration = std::chrono::ceil<std::chrono::milliseconds>(exact);
  return complaint;
}

std::string TakeHex(const std::string& text, size_t most_bytes, std::vector<std::byte>& bytes) {
  bytes.clear();
  std::string complaint = text + " is not 1 to " + std::to_string(most_bytes) + " bytes in hexadecimal";
  if (text.empty() || text.size() % 2 != 0 || text.size() / 2 > most_bytes) return complaint;
  for (size_t i = 0; i < text.size(); i += 2) {
    const auto value = ParseNumber<uint8_t>(std::string_view(text).substr(i, 2), 16);
    if (!value) return complaint;
    bytes.push_back(std::byte{*value});
  }
  return {};
}

}  // namespace stag::cli
