// SPDX-License-Identifier: GPL-2.0-or-later
//
// A capture file as a Recording, for the commands that play it or answer from it.
#pragma once

#include <string>

#include "cli/base/common_options.h"
#include "cli/base/output.h"
#include "replay/recording/recording.h"

namespace stag::cli {

struct LoadedRecording {
  recording::Recording recording;
  bool damaged = false;  // the file could not be read to its end (which was complained about)
};

// Reads `file` ("-": standard input) with `options.memory`; what does not fit goes to a temporary file. A file
// without RPC-over-RDMA is an error, too; its text is empty when the trouble was complained about already.
Result<LoadedRecording> LoadRecording(const std::string& file, const CommonOptions& options, Output& output);

}  // namespace stag::cli
