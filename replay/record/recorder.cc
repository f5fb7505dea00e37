// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/recorder.h"

#include "replay/record/tape.h"

namespace stag::record {

Result<std::unique_ptr<FrameRecorder>> FrameRecorder::Create(const std::string& path, const std::string& made_by,
                                                             const std::string& what) {
  const capture::FileNotes notes{
      .application = made_by,
      .comment = what +
                 ": what went over its connections. The frames are made from the operations that its endpoints "
                 "saw, they were not captured: times and contents are real, packet sequence numbers, "
                 "acknowledgments and lower headers are made up.",
      .interface_name = "endpoint",
      .interface_description = "Operations of live endpoints"};
  auto writer = capture::FileWriter::Create(path, capture::FileFormat::kPcapng, LinkType::kEthernet, notes);
  if (!writer) return tl::unexpected(writer.error());
  return std::unique_ptr<FrameRecorder>(new FrameRecorder(std::make_unique<Tape>(std::move(*writer))));
}

FrameRecorder::FrameRecorder(std::unique_ptr<Tape> tape) : tape_(std::move(tape)) {}
FrameRecorder::~FrameRecorder() { Finish(); }

void FrameRecorder::OnEvent(const fabric::Event& event) {
  const fabric::ConnectionInfo& info = *event.connection;
  tape_->set_time(event.now.time_ns);
  std::unique_ptr<Track>& track = tracks_[info.id];
  if (!track)
    track = info.fabric == fabric::FabricKind::kIwarp ? MakeIwarpTrack(*tape_, info) : MakeRoceTrack(*tape_, info);
  track->OnEvent(event);
  if (event.kind() == fabric::EventKind::kClosed) tracks_.erase(info.id);
}

void FrameRecorder::Finish() {
  for (auto& [id, track] : tracks_) track->Finish();
  tracks_.clear();
  tape_->Close();
}

const std::string& FrameRecorder::trouble() const { return tape_->trouble(); }
uint64_t FrameRecorder::frames() const { return tape_->frames(); }
uint64_t FrameRecorder::lost() const { return tape_->lost(); }
uint64_t FrameRecorder::left_out() const { return tape_->left_out(); }

}  // namespace stag::record
