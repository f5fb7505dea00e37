// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arbitrary events of two connections into an Engine, under each profile. Input: a byte that picks the profile and the
// limits, then records of u8 what (low 3 bits: event, bit 3: side, bit 4: connection, bit 5: with Invalidate, bit 6:
// truncated), u8 length, then for RDMA operations and NAKs u32 handle and u32 offset, then `length` bytes (of a Send,
// of private data, or moved). Whatever comes, nothing crashes, each finding is whole and comes when it is proven, and
// the report, of a kind that depends on the input, can be written; one in JSON is JSON.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "conformance/engine/engine.h"
#include "conformance/report/documents.h"
#include "protocol/base/cursor.h"
#include "tests/fuzz/tiny_limits.h"
#include "tests/support/event_fields.h"

namespace {

using namespace stag;

class Judge : public conformance::FindingSink {
 public:
  // `choice`: of the kind of report, and of whether it has all rules or those that were broken.
  explicit Judge(size_t choice)
      : json_((choice % kKinds == 2 || choice % kKinds == 3) && choice / kKinds % 4 == 0),
        all_rules_(choice / kKinds % 64 == 0),
        reporter_(Make(choice % kKinds)) {
    reporter_->BeginFile("fuzz");
  }
  std::vector<session::Observer*> Observers() { return reporter_->Observers(); }
  void OnFinding(const conformance::Finding& finding) override {
    if (!finding.rule || finding.message.empty() || finding.frame.number > finding.proven.number) std::abort();
    if (finding.proven.number < last_) std::abort();
    if (!std::is_sorted(finding.related_frames.begin(), finding.related_frames.end())) std::abort();
    last_ = finding.proven.number;
    reporter_->OnFinding(finding);
  }
  void Finish(const conformance::Engine& engine) {
    conformance::Summary summary;
    summary.files = 1;
    summary.rules = engine.Tallies();
    if (!all_rules_)
      std::erase_if(summary.rules,
                    [](const conformance::RuleTally& tally) { return tally[conformance::Outcome::kFail] == 0; });
    reporter_->EndFile(summary, "");
    reporter_->Finish({});
    if (json_ && !nlohmann::json::accept(out_)) std::abort();
  }

 private:
  static constexpr size_t kKinds = 6;
  std::unique_ptr<conformance::Reporter> Make(size_t kind) {
    const conformance::Write to = [this](std::string_view text) { out_.append(text); };
    switch (kind) {
      case 0: return conformance::MakeTextReporter(to, true, false);
      case 1: return conformance::MakeJsonlReporter(to);
      case 2: return conformance::MakeJsonReporter(to, "0");
      case 3: return conformance::MakeSarifReporter(to, "0");
      case 4: return conformance::MakeJunitReporter(to, {});
      default: return conformance::MakeHtmlReporter(to, "0");
    }
  }

  uint64_t last_ = 0;
  std::string out_;
  const bool json_, all_rules_;
  const std::unique_ptr<conformance::Reporter> reporter_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Judge judge(std::hash<std::string_view>{}({reinterpret_cast<const char*>(data), size}));
  test::TinyLimits limits(data[0] >> 2);
  conformance::EngineOptions options = limits.Engine();
  options.profile = static_cast<conformance::Profile>(data[0] & 3);
  options.verify = conformance::Verify::kStop;
  conformance::Engine engine(options, judge);
  session::SessionOptions session_options = limits.Session();
  if (!limits.tiny()) session_options.memory_limit = 256 << 10;
  std::vector<session::Observer*> observers = judge.Observers();
  observers.push_back(&engine);
  session::Session session(session_options, std::move(observers));
  fabric::ConnectionInfo info[2];
  info[0].id = 1;
  info[0].service_port = 20049;
  info[0].roles_known = true;
  info[1].id = 2;
  info[1].slot = 1;
  Cursor cursor(std::as_bytes(std::span(data, size)).subspan(1));
  uint64_t frame = 0;
  while (cursor.remaining() > 0) {
    const uint8_t what = cursor.U8();
    const uint8_t length = cursor.U8();
    using enum fabric::EventKind;
    constexpr fabric::EventKind kKinds[] = {kSend, kWrite, kReadRequest, kReadResponse, kGap, kSetup, kClosed, kNak};
    const fabric::EventKind kind = kKinds[what & 7];
    ++frame;
    test::EventFields f;
    if (kind != kSend && kind != kSetup) {
      f.handle = f.nak.handle = cursor.U32();
      f.offset = f.nak.offset = cursor.U32();
    }
    f.bytes = f.private_data = cursor.Take(std::min<size_t>(length, cursor.remaining()));
    f.length = f.nak.length = length;
    if (f.bytes.size() < length || (what & 0x40)) {
      f.bytes = f.bytes.first(f.bytes.size() / 2);
      f.missing = fabric::Missing::kTruncatedByCapture;
    }
    if (what & 0x20) f.invalidated = length;
    f.first = f.last = true;
    f.setup.message = static_cast<fabric::SetupMessage>(length % 6);
    f.nak.kind = static_cast<fabric::NakKind>(length % 6);
    f.nak.refused.number = frame > 1 ? frame - 1 - length % 3 % frame : 0;
    f.close_reason = static_cast<fabric::CloseReason>(length % 6);
    fabric::Event event = test::EventOf(kind, f);
    event.from = what >> 3 & 1;
    event.connection = &info[what >> 4 & 1];
    event.frame = event.first_frame = event.now = {frame, 0};
    session.OnEvent(event);
  }
  session.Finish();
  judge.Finish(engine);
  return 0;
}
