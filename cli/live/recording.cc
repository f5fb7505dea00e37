// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/recording.h"

#include "cli/analysis/analysis.h"
#include "text/put.h"

namespace stag::cli {

Result<LoadedRecording> LoadRecording(const std::string& file, const CommonOptions& options, Output& output) {
  CommonOptions half = options;  // the other half is for what is kept
  half.memory = options.memory / 2;
  recording::RecordingBuilder recorder(options.memory - half.memory);
  Clock clock;
  const FileOutcome outcome = Analyze(file, half, true, clock, output, {&recorder});
  if (!outcome.opened) return Fail({});
  auto recording = recorder.Finish();
  if (!recording) return tl::unexpected(recording.error());
  if (recording->rpcs.empty() && recording->cut == 0)
    return Fail(fmt::format("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame")));
  return LoadedRecording{std::move(*recording), outcome.damaged};
}

}  // namespace stag::cli
