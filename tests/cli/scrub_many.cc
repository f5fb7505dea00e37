// SPDX-License-Identifier: GPL-2.0-or-later
//
// scrub_many DIRECTORY FILE...: scrubs each capture, with a fixed key, into DIRECTORY/1.pcapng, 2.pcapng and so on, as
// stag scrub does: for tests that have hundreds of small ones, in one process.
#include <cstdio>

#include "capture/file/reader.h"
#include "tests/cli/scrubbed.h"

namespace {

using namespace stag;

bool Scrub(const std::string& from, const std::string& to) {
  auto reader = capture::Reader::Open(from);
  auto file = scrub::ScrubbedFile::Create(to);
  if (!reader || !file) return false;
  scrub::Pseudonyms pseudonyms(test::kScrubKey);
  scrub::Replaced replaced;
  scrub::Scrubber scrubber(**file, pseudonyms, replaced, {{}, 32u << 20, {}});
  Frame frame;
  capture::Reader::Next next = capture::Reader::Next::kEnd;
  while ((next = (*reader)->ReadFrame(frame)) == capture::Reader::Next::kFrame)
    if (!scrubber.OnFrame(frame)) return false;
  scrubber.Finish();
  return next == capture::Reader::Next::kEnd && (*file)->Finish().has_value();
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    if (Scrub(argv[i], std::string(argv[1]) + "/" + std::to_string(i - 1) + ".pcapng")) continue;
    std::fprintf(stderr, "%s cannot be scrubbed\n", argv[i]);
    return 1;
  }
  return 0;
}
