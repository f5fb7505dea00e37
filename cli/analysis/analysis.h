// SPDX-License-Identifier: GPL-2.0-or-later
//
// Analysis: a capture goes through Reader -> Decoder -> Session -> observers. Progress is shown on stderr; damage and
// what was dropped for lack of memory are reported.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/file/reader.h"
#include "capture/times/aligned_reader.h"
#include "capture/times/ordered_reader.h"
#include "cli/analysis/shard.h"
#include "cli/base/common_options.h"
#include "cli/base/output.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

struct FileOutcome {
  bool opened = false;  // else the file could not be read at all
  bool damaged = false;
  std::string trouble;  // why it could not be opened or is damaged; empty: nothing
  bool slice = false;   // the file says that it is one
  uint64_t frames = 0;
  int64_t first_time_ns = 0, last_time_ns = 0;  // of the first and the last frame
  capture::Disorder disorder;
  fabric::DecoderStats decoder;
  session::SessionStats session;
};

// Reads one file to its end, or to where it is damaged. Complaints (no such file, damage, memory) go to the diagnostics
// of `output`. Stops early, quietly, when `output` is closed.
FileOutcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Clock& clock, Output& output,
                    std::vector<session::Observer*> observers, fabric::PacketObserver* packets = nullptr);

// The same for what `reader` gives; `name` is for messages.
FileOutcome Analyze(capture::Reader& reader, const std::string& name, const CommonOptions& options, bool keep_bulk,
                    Clock& clock, Output& output, std::vector<session::Observer*> observers,
                    fabric::PacketObserver* packets = nullptr);

// The same with one shard or several, in as many threads; at least one. They must outlive the call. `packets` sees the
// packets of all connections, in the reading thread.
FileOutcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Output& output,
                    std::vector<Shard*> shards, fabric::PacketObserver* packets = nullptr);
template <typename S>
FileOutcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Output& output,
                    const std::vector<std::unique_ptr<S>>& shards, fabric::PacketObserver* packets = nullptr) {
  std::vector<Shard*> all;
  all.reserve(shards.size());
  for (const auto& shard : shards) all.push_back(shard.get());
  return Analyze(file, options, keep_bulk, output, std::move(all), packets);
}

// The bytes that frames may take which wait for others.
uint64_t WindowMemory(const CommonOptions& options);
// In which order frames are to be taken.
capture::Order OrderOf(const CommonOptions& options);
// What became of frames whose times go back: for people, or empty.
std::string DisorderText(const capture::Disorder& disorder);
// How the capture's clocks are to be taken.
clocks::Policy ClocksOf(const CommonOptions& options);
// The UDP ports of tunnels.
link::TunnelPorts TunnelPortsOf(const CommonOptions& options);

// "FILE" for messages and JSON: "-" is "standard input".
std::string DisplayName(const std::string& file);

}  // namespace stag::cli
