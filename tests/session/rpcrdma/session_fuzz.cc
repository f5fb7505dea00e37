// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arbitrary events of two connections into a Session. Input: a byte that picks the limits, then records of
//   u8 what (low 3 bits: event, bit 3: side, bit 4: connection, bit 5: missing), u8 length, then for RDMA operations
//   u32 handle and u32 offset, then `length` bytes (of a Send, or moved).
// Whatever comes, nothing crashes, the memory limit holds, and a complete message can be copied out at its length.
#include <algorithm>
#include <cstdlib>

#include "protocol/base/cursor.h"
#include "session/nfs4/promises.h"
#include "session/nfs4/status_flags.h"
#include "session/rpcrdma/credit_history.h"
#include "session/rpcrdma/session.h"
#include "tests/fuzz/tiny_limits.h"
#include "tests/support/event_fields.h"

namespace {

using namespace stag;

class Copier : public session::Observer {
 public:
  void OnTransaction(const session::Connection&, const session::Transaction& t) override {
    for (const session::Payload* payload : t.messages())
      if (payload->complete && t.CopyTo(*payload, out_) && out_.size() != payload->length) std::abort();
  }

 private:
  std::vector<std::byte> out_;
};

struct Ignore : session::CreditSink {
  void OnChange(const session::CreditChange&) override {}
  void OnSummary(const session::Connection&, session::Side, const session::CreditSummary& summary) override {
    if (summary.rnr_naks_explained > summary.rnr_naks || summary.overruns > summary.calls) std::abort();
  }
};

struct States final : session::StatusFlagsSink, session::PromiseSink {
  void OnStatusFlags(const session::Connection&, const std::vector<session::FlagSpan>& spans) override {
    if (spans.empty() || spans.size() > nfs::kStatusFlagCount) std::abort();
  }
  void OnPromise(const session::PromiseStep& step) override { promises.Take(step); }
  session::Promises promises;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Copier copier;
  Cursor cursor(std::as_bytes(std::span(data, size)));
  test::TinyLimits limits(cursor.U8());
  session::SessionOptions options = limits.Session();
  if (!limits.tiny()) {
    options.memory_limit = 256 << 10;
    options.max_outstanding = 64;
  }
  Ignore ignore;
  session::CreditHistory history(ignore);
  States states;
  session::StatusFlagsObserver flags(states);
  session::PromiseObserver promises(states);
  session::Session session(options, {&copier, &history, &flags, &promises});
  fabric::ConnectionInfo info[2];
  info[0].id = 1;
  info[0].service_port = 20049;
  info[1].id = 2;
  info[1].slot = 1;
  uint64_t frame = 0;
  while (cursor.remaining() > 0) {
    const uint8_t what = cursor.U8();
    const uint8_t length = cursor.U8();
    constexpr fabric::EventKind kKinds[] = {fabric::EventKind::kSend,        fabric::EventKind::kWrite,
                                            fabric::EventKind::kReadRequest, fabric::EventKind::kReadResponse,
                                            fabric::EventKind::kGap,         fabric::EventKind::kSetup,
                                            fabric::EventKind::kClosed,      fabric::EventKind::kSend};
    const fabric::EventKind kind = kKinds[what & 7];
    test::EventFields f;
    if (kind == fabric::EventKind::kWrite || kind == fabric::EventKind::kReadRequest ||
        kind == fabric::EventKind::kReadResponse) {
      f.handle = cursor.U32();
      f.offset = cursor.U32();
    }
    f.bytes = f.private_data = cursor.Take(std::min<size_t>(length, cursor.remaining()));
    f.length = f.bytes.size();
    if (what & 32) {
      f.length += length;
      f.missing = what & 64 ? fabric::Missing::kLost : fabric::Missing::kTruncatedByCapture;
    }
    fabric::Event event = test::EventOf(kind, f);
    event.from = what >> 3 & 1;
    event.connection = &info[what >> 4 & 1];
    event.frame = event.first_frame = event.now = {++frame, 0};
    session.OnEvent(event);
  }
  session.Finish();
  return 0;
}
