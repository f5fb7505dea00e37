// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag_training CAPTURE...: reads, decodes and judges captures as `stag check` does, and prints how much there was. It
// is linked with instrumented libraries, whose counts show the compiler which way packets take
// (cmake/StagTraining.cmake). It is not installed.
#include <cstdint>
#include <cstdio>
#include <string>

#include "capture/file/reader.h"
#include "capture/times/aligned_reader.h"
#include "conformance/engine/engine.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {
namespace {

class FindingCounter final : public conformance::FindingSink {
 public:
  void OnFinding(const conformance::Finding&) override { ++findings; }
  uint64_t findings = 0;
};

struct Totals {
  uint64_t frames = 0, transactions = 0, findings = 0;
};

// Reads the capture once. False, with a message, when it cannot be read to its end.
bool Judge(const std::string& file, Totals& totals) {
  auto opened = capture::Reader::Open(file);
  if (!opened) {
    std::fprintf(stderr, "stag_training: %s\n", opened.error().message.c_str());
    return false;
  }
  capture::AlignedReader reader(**opened, clocks::Policy::kAuto, {});
  FindingCounter sink;
  conformance::Engine engine({}, sink);
  session::SessionOptions session_options;
  session_options.keep_bulk = false;
  session::Session session(session_options, {&engine});
  fabric::DecoderOptions decoder_options;
  decoder_options.lasting = reader.lasting();
  fabric::Decoder decoder(decoder_options, session);
  Frame frame;
  capture::Reader::Next next = capture::Reader::Next::kEnd;
  while ((next = reader.ReadFrame(frame)) == capture::Reader::Next::kFrame) {
    ++totals.frames;
    decoder.OnFrame(frame);
  }
  decoder.Finish();
  session.Finish();
  totals.transactions += session.stats().transactions;
  totals.findings += sink.findings;
  if (next != capture::Reader::Next::kDamaged) return true;
  std::fprintf(stderr, "stag_training: %s: %s\n", file.c_str(), reader.error().c_str());
  return false;
}

}  // namespace
}  // namespace stag::cli

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: stag_training CAPTURE...\n");
    return 2;
  }
  stag::cli::Totals totals;
  for (int i = 1; i < count; ++i)
    if (!stag::cli::Judge(arguments[i], totals)) return 2;
  std::printf("%llu frames, %llu transactions, %llu findings\n", static_cast<unsigned long long>(totals.frames),
              static_cast<unsigned long long>(totals.transactions), static_cast<unsigned long long>(totals.findings));
  return 0;
}
