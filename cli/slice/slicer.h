// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slicer: which frames of a capture a slice has. Several passes over it: findings (chooser.h), RPCs (chooser.h), where
// their packets are in their connections (gatherer.h), which frames have these (marker.h), and whether those frames
// alone show what was chosen (verifier.h). Where they do not, the slice gets more of the connection, and is looked at
// again: a stretch of it without gaps, all of it, at last all frames.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/slice/frame_set.h"
#include "cli/slice/input.h"
#include "cli/slice/payload_cutter.h"
#include "cli/slice/selection.h"

namespace stag::cli {

// What a slice takes of one capture.
struct Sliced {
  bool opened = false, damaged = false;
  std::string nothing;  // why nothing of it fits, and what there is; empty: something does
  bool all = false;     // every frame; else `frames`
  FrameSet frames;
  uint64_t read = 0;                            // frames of the capture
  uint64_t rpcs = 0, findings = 0;              // that were chosen
  std::vector<uint32_t> stretched, whole;       // connections of which more was needed
  std::shared_ptr<const PayloadCutter> cutter;  // null: payload stays

  bool Has(uint64_t frame) const { return all || frames.Contains(frame); }
};

// `cut_payload`: for --snap headers. Complaints go to the diagnostics of `output`.
Sliced SliceCapture(const SliceInput& input, const Selection& selection, bool cut_payload, const CommonOptions& options,
                    Output& output);

}  // namespace stag::cli
