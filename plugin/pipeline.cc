// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/pipeline.h"

#include <memory>

#include "plugin/prefs.h"
#include "plugin/recorder.h"
#include "session/fabric/decoder.h"

namespace stag::plugin {
namespace {

class Pipeline {
 public:
  Pipeline()
      : store_(uint64_t{preferences.memory_mib} << 20),
        recorder_(store_, preferences.reassemble),
        engine_(EngineOptions(), recorder_),
        session_({}, Observers()),
        decoder_({}, session_) {}

  void Feed(const Frame& frame) {
    if (finished_ || frame.ref.number < last_) return;
    if (frame.ref.number == last_) store_.Forget(static_cast<uint32_t>(last_));
    last_ = frame.ref.number;
    recorder_.set_frame(frame.bytes);
    decoder_.OnFrame(frame);
    recorder_.set_frame({});
  }

  void Finish() {
    if (finished_) return;
    finished_ = true;
    decoder_.Finish();
    session_.Finish();
  }

  const Store& store() const { return store_; }

 private:
  static conformance::EngineOptions EngineOptions() {
    conformance::EngineOptions options;
    options.profile = static_cast<conformance::Profile>(preferences.profile);
    return options;
  }
  std::vector<session::Observer*> Observers() {
    if (!preferences.check) return {&recorder_};
    return {&recorder_, &engine_};
  }

  Store store_;
  Recorder recorder_;
  conformance::Engine engine_;
  session::Session session_;
  fabric::Decoder decoder_;
  uint64_t last_ = 0;  // number of the last frame fed
  bool finished_ = false;
};

std::unique_ptr<Pipeline> pipeline;

}  // namespace

void StartPipeline() { pipeline = std::make_unique<Pipeline>(); }
void StopPipeline() { pipeline.reset(); }
void FinishPipeline() {
  if (pipeline) pipeline->Finish();
}
void Feed(const Frame& frame) {
  if (pipeline) pipeline->Feed(frame);
}
const FrameRecord* RecordOf(uint32_t frame) { return pipeline ? pipeline->store().Find(frame) : nullptr; }
uint32_t ConnectionCount() { return pipeline ? pipeline->store().connections() : 0; }

}  // namespace stag::plugin
