// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/recorder.h"

#include "replay/record/packet_synthesizer.h"
#include "session/fabric/hidden_rdma.h"

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
  auto writer = capture::FileWriter::Create(path, capture::FileFormat::kPcapng, LinkType::kEthernet, notes,
                                            capture::CompressionOf(path));
  if (!writer) return tl::unexpected(writer.error());
  return std::unique_ptr<FrameRecorder>(new FrameRecorder(std::make_unique<FrameWriter>(std::move(*writer))));
}

FrameRecorder::FrameRecorder(std::unique_ptr<FrameWriter> writer) : writer_(std::move(writer)) {}
FrameRecorder::~FrameRecorder() { Finish(); }

void FrameRecorder::OnEvent(const fabric::Event& event) {
  const fabric::ConnectionInfo& info = *event.connection;
  writer_->set_time(event.now.time_ns);
  std::unique_ptr<PacketSynthesizer>& packets = packets_[info.id];
  if (!packets) {
    packets =
        info.fabric == fabric::FabricKind::kIwarp ? MakeIwarpPackets(*writer_, info) : MakeRocePackets(*writer_, info);
    for (const fabric::Side side : {fabric::Side{0}, fabric::Side{1}})
      if (info.rdma_hidden[side]) writer_->set_comment(fabric::kHiddenRdma[side]);
  }
  packets->OnEvent(event);
  if (event.kind() == fabric::EventKind::kClosed) packets_.erase(info.id);
}

void FrameRecorder::Finish() {
  for (auto& [id, packets] : packets_) packets->Finish();
  packets_.clear();
  writer_->Close();
}

const std::string& FrameRecorder::trouble() const { return writer_->trouble(); }
uint64_t FrameRecorder::frames() const { return writer_->frames(); }
uint64_t FrameRecorder::lost() const { return writer_->lost(); }
uint64_t FrameRecorder::left_out() const { return writer_->left_out(); }

}  // namespace stag::record
