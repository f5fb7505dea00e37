// SPDX-License-Identifier: GPL-2.0-or-later
//
// The last pass: copies the frames of slices to one pcapng file, each with its time and a comment that has its number
// in the file that it comes from, behind those that it had.
#pragma once

#include "cli/slice/slicer.h"

namespace stag::cli {

struct SliceSource {
  SliceInput input;
  Sliced sliced;
  uint64_t written = 0;   // frames
  uint64_t left_out = 0;  // blocks that are no frames, and are not to be copied or cannot be
};

struct SliceTarget {
  std::string path;    // "-": standard output; one that ends with .zst is compressed
  bool merge = false;  // frames by time; else source after source
  bool progress = false;
};

// Fails when the file cannot be written, or cannot hold a frame; then there is no file. What is wrong with a source is
// reported to `diagnostics` and marked in it.
Result<void> WriteSlice(std::vector<SliceSource>& sources, const SliceTarget& target, Diagnostics& diagnostics);

}  // namespace stag::cli
