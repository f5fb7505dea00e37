// SPDX-License-Identifier: GPL-2.0-or-later
//
// Analysis: the way of a capture through the toolkit: Reader -> Decoder -> Session -> observers, with progress, damage
// and what was dropped reported on stderr.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capture/file/reader.h"
#include "cli/common_options.h"
#include "cli/output.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

class Share;

struct Outcome {
  bool opened = false;  // else the file could not be read at all
  bool damaged = false;
  std::string trouble;  // why it could not be opened or is damaged; empty: nothing
  uint64_t frames = 0;
  fabric::DecoderStats decoder;
  session::SessionStats session;
};

// What the observers of a running analysis may ask.
struct Clock {
  uint64_t frame = 0;         // the frame being processed
  int64_t first_time_ns = 0;  // of the first frame of the file
};

// Reads one file to its end, or to where it is damaged. Complaints (no such file, damage, memory) go to stderr. Stops
// early, quietly, when `output` is closed.
Outcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Clock& clock, Output& output,
                std::vector<session::Observer*> observers);

// The same for what `reader` gives; `name` is for messages.
Outcome Analyze(capture::Reader& reader, const std::string& name, const CommonOptions& options, bool keep_bulk,
                Clock& clock, Output& output, std::vector<session::Observer*> observers);

// The same in several threads: see shares.h.
Outcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Output& output,
                std::vector<Share*> shares);

// Calls `analyze` for each file in turn; with several files, text output gets a heading for each where `headings` says
// so. Returns the exit status: kExitTrouble when a file could not be read or is damaged or writing failed, else
// kExitFine.
enum class Headings : uint8_t { kNo, kYes };
int ForEachFile(const CommonOptions& options, Output& output,
                const std::function<Outcome(const std::string& file)>& analyze, Headings headings = Headings::kYes);

// "FILE" for messages and JSON: "-" is "standard input".
std::string DisplayName(const std::string& file);

}  // namespace stag::cli
