// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/suggestion.h"

#include <sys/stat.h>

#include <algorithm>

namespace stag::cli {
namespace {

// Letters to insert, to remove, to replace or to swap with their neighbour, to make `b` of `a`.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string ClosestWord(std::string_view word, const std::vector<std::string>& words) {
  constexpr size_t kLongest = 64, kShortestBeginning = 3;
  const size_t dashes = word.starts_with("--") ? 2 : 0;
  if (word.size() > kLongest || word.size() < dashes + 2) return {};
  std::string_view closest;
  size_t least = std::max<size_t>(1, (word.size() - dashes) / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = Distance(word, candidate);
    if (distance < least) {
      least = distance;
      closest = candidate;
    }
  }
  if (closest.empty() && word.size() >= dashes + kShortestBeginning) {
    const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
    const auto found = std::find_if(words.begin(), words.end(), begins);
    if (found != words.end() && std::none_of(found + 1, words.end(), begins)) closest = *found;
  }
  return std::string(closest);
}

bool IsFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

}  // namespace stag::cli
