// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/pipeline.h"

#include <algorithm>
#include <memory>

#include "plugin/delivery_recorder.h"
#include "plugin/prefs.h"
#include "plugin/record_store_builder.h"
#include "session/fabric/decoder.h"
#include "session/transport/transport_statistics.h"

namespace stag::plugin {
namespace {

constexpr uint32_t kLastQueuePair = 0xffffff;

// Bytes that state may take. `part`: of what the Session has, which has most.
uint64_t StateMemory(uint64_t part) { return (uint64_t{std::max(preferences.state_mib, 1u)} << 20) / part; }

class Pipeline {
 public:
  Pipeline()
      : store_(uint64_t{preferences.memory_mib} << 20),
        builder_(store_, preferences.reassemble),
        deliveries_(store_),
        engine_(EngineOptions(), builder_),
        session_(SessionOptions(), Observers()),
        statistics_({.memory = StateMemory(8)}, &builder_),
        decoder_(DecoderOptions(), session_) {
    Take(preferences.service_ports, ports_);
    Take(preferences.queue_pairs, queue_pairs_);
  }

  void Feed(const Frame& captured, const link::Packet& packet) {
    Frame frame = captured;
    if (finished_ || frame.ref.number < last_) return;
    if (frame.ref.number == last_) store_.Forget(static_cast<uint32_t>(last_));
    last_ = frame.ref.number;
    times_.Take(frame);
    builder_.set_frame(frame.ref.number, frame.bytes);
    decoder_.OnPacket(packet, frame.ref);
    builder_.set_frame(frame.ref.number, {});
    const FrameRecord* record = store_.Find(static_cast<uint32_t>(last_));
    if (record && !record->messages().empty()) last_message_ = last_;
    if (!told_ && times_.two() && last_message_ == last_) TellClocks();
  }

  void Finish() {
    if (finished_) return;
    finished_ = true;
    times_.Finish();
    if (!told_ && times_.two() && last_message_ != 0) TellClocks();
    decoder_.Finish();
    session_.Finish();
  }

  void NamePort(uint32_t port) { ports_.push_back({port, port}); }
  void NameAllQueuePairs() { queue_pairs_.assign(1, {1, kLastQueuePair}); }
  const RecordStore& store() const { return store_; }
  const FrameTimes& times() const { return times_; }

 private:
  void TellClocks() { store_.RareAt(last_message_).two_clocks = told_ = true; }
  static conformance::EngineOptions EngineOptions() {
    conformance::EngineOptions options;
    options.memory_limit = StateMemory(16);
    options.profile = static_cast<conformance::Profile>(preferences.profile);
    return options;
  }
  fabric::DecoderOptions DecoderOptions() {
    fabric::DecoderOptions options;
    options.memory_limit = StateMemory(4);
    options.packets = &statistics_;
    options.sightings = session_.wants_deliveries();
    return options;
  }
  session::SessionOptions SessionOptions() const {
    session::SessionOptions options;
    options.memory_limit = StateMemory(1);
    options.service_ports = &ports_;
    options.queue_pairs = &queue_pairs_;
    return options;
  }
  static void Take(const range_t* from, std::vector<session::NumberRange>& to) {
    for (unsigned i = 0; from && i < from->nranges; ++i) to.push_back({from->ranges[i].low, from->ranges[i].high});
  }
  std::vector<session::Observer*> Observers() {
    if (!preferences.check) return {&builder_, &deliveries_};
    return {&builder_, &deliveries_, &engine_};
  }

  std::vector<session::NumberRange> ports_, queue_pairs_;
  RecordStore store_;
  RecordStoreBuilder builder_;
  DeliveryRecorder deliveries_;
  conformance::Engine engine_;
  session::Session session_;
  transport::TransportStatistics statistics_;
  fabric::Decoder decoder_;
  FrameTimes times_;
  uint64_t last_ = 0;          // number of the last frame fed
  uint64_t last_message_ = 0;  // and of the last one that shows a message
  bool told_ = false;          // that there are two clocks
  bool finished_ = false;
};

std::unique_ptr<Pipeline> pipeline;

}  // namespace

void StartPipeline() { pipeline = std::make_unique<Pipeline>(); }
void StopPipeline() { pipeline.reset(); }
void FinishPipeline() {
  if (pipeline) pipeline->Finish();
}
void Feed(const Frame& frame, const link::Packet& packet) {
  if (pipeline) pipeline->Feed(frame, packet);
}
const FrameRecord* RecordOf(uint32_t frame) { return pipeline ? pipeline->store().Find(frame) : nullptr; }
const FrameTimes& Times() { return pipeline->times(); }
void NamePort(uint32_t port) {
  if (pipeline) pipeline->NamePort(port);
}
void NameAllQueuePairs() {
  if (pipeline) pipeline->NameAllQueuePairs();
}
uint32_t ConnectionCount() { return pipeline ? pipeline->store().connections() : 0; }

}  // namespace stag::plugin
