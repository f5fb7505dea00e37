// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/acceptance.h"

#include "capture/file/output_file.h"
#include "cli/base/output.h"
#include "cli/base/whole_file.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

constexpr size_t kMaxUnusedShown = 10;

template <typename Add>
Result<void> ReadAll(const std::vector<std::string>& paths, Add add) {
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadWhole(path);
    if (!text) return Fail(text.error().message);
    if (const Result<void> added = add(*text); !added) {
      const std::string& why = added.error().message;  // of a line, with its number
      return Fail(fmt::format("{}:{}{}", path, why.find_first_of("0123456789") == 0 ? "" : " ", why));
    }
  }
  return {};
}

}  // namespace

Result<void> Acceptance::Read() {
  auto known = ReadAll(options_.baseline, [&](const std::string& text) { return baseline_.Add(text); });
  if (!known) return known;
  return ReadAll(options_.suppress, [&](const std::string& text) { return list_.Add(text); });
}

conformance::Suppressed Acceptance::Suppressed(bool whole, const conformance::EngineOptions& selection) const {
  conformance::Suppressed out{baseline_.suppressed(), list_.suppressed(), {}};
  if (!whole) return out;
  out.unused = baseline_.Unused(selection);
  for (std::string& entry : list_.Unused(selection)) out.unused.push_back(std::move(entry));
  return out;
}

Result<void> Acceptance::WriteBaseline() const {
  const std::string& path = options_.write_baseline;
  if (baseline_.overflowed()) return Fail(fmt::format("{}: too many different findings for a baseline", path));
  return capture::WriteWhole(path, baseline_.Recorded());
}

void ComplainOfUnused(const conformance::Suppressed& suppressed) {
  const std::vector<std::string>& unused = suppressed.unused;
  for (size_t i = 0; i < unused.size() && i < kMaxUnusedShown; ++i)
    Complain("no finding matched {}", Printable(unused[i]));
  if (unused.size() > kMaxUnusedShown)
    Complain("... nor {} more entries of baselines and suppressions", unused.size() - kMaxUnusedShown);
}

}  // namespace stag::cli
