// SPDX-License-Identifier: GPL-2.0-or-later
//
// CapturedRow: what `stag capture` did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scrub/scrub_row.h"

namespace stag::cli {

struct CapturedRow {
  uint64_t frames = 0, bytes = 0;
  std::optional<uint64_t> dropped_by_device, dropped_by_system;
  uint64_t dropped_by_stag = 0, not_written = 0, queue_high_water = 0;
  std::optional<std::string> trigger;
  std::vector<std::string> files;
  std::optional<scrub::ReplacedRow> replaced;
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::CapturedRow> : Of<cli::CapturedRow> {
  static constexpr std::string_view kType = "captured", kDoc = "The end of a capture.";
  static constexpr std::array kMembers = {
      Member<&Row::frames>("frames", "Frames that were received."),
      Member<&Row::bytes>("bytes", "Bytes in them.").In("bytes"),
      Member<&Row::dropped_by_device>("dropped_by_device", "Frames that the device dropped; null: it does not tell."),
      Member<&Row::dropped_by_system>("dropped_by_system", "Frames that the kernel dropped; null: it does not tell."),
      Member<&Row::dropped_by_stag>("dropped_by_stag", "Frames that stag dropped, because its queue was full."),
      Member<&Row::not_written>("not_written", "Frames that could not be written."),
      Member<&Row::queue_high_water>("queue_high_water", "Most that the queue held.").In("bytes"),
      Member<&Row::trigger>("trigger", "The trigger that fired; null: none did."),
      Member<&Row::files>("files", "Names of the files that were written."),
      Inline<&Row::replaced>(),
  };
};

}  // namespace stag::results
