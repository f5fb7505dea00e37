// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/replaced.h"

#include "text/put.h"

namespace stag::scrub {

std::string ReplacedText(const Replaced& replaced) {
  const auto frames = [](uint64_t n) { return Grouped(n) + (n == 1 ? " frame" : " frames"); };
  std::string text = fmt::format(
      "{}; replaced {} addresses, {} names, {} identifiers, {} numbers and times, {} bytes of data; {} of other "
      "protocols emptied",
      frames(replaced.frames), Grouped(replaced.addresses), Grouped(replaced.names), Grouped(replaced.identifiers),
      Grouped(replaced.numbers), Grouped(replaced.data_bytes), frames(replaced.other_frames));
  if (replaced.blocks > 0) Put(text, "; {} emptied", Count(replaced.blocks, "custom or journal block"));
  if (replaced.unknown_links > 0)
    Put(text, "; {} of a link type that is not known emptied", Count(replaced.unknown_links, "frame"));
  if (replaced.left_out > 0)
    Put(text, "; {} of names, secrets, statistics or unknown things left out", Count(replaced.left_out, "block"));
  if (replaced.forgotten > 0)
    Put(text, "; {} became zeros for lack of memory (--memory)", Count(replaced.forgotten, "packet"));
  return text;
}

}  // namespace stag::scrub
