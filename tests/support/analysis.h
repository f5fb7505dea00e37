// SPDX-License-Identifier: GPL-2.0-or-later
//
// Analysis: what `stag transactions` and `stag check` would make of a capture, in a form in which a damaged capture can
// be held against the whole one.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "tests/support/run_capture.h"

namespace stag::test {

// The content of every complete message by xid and kind, and how often each rule was broken by which xid, also where
// the finding is another rule's (notes and what is presumed left out).
struct Analysis {
  std::map<std::pair<uint32_t, char>, std::set<size_t>> contents;
  std::map<std::pair<std::string, std::string>, int> findings;
  size_t complete = 0;
  size_t presumed = 0;  // findings
  // Frames that findings are about, and whether of what the client did; the second with notes and what is presumed.
  std::set<std::pair<uint64_t, bool>> accused, suspected;
  // Packets are missing; a message came again, or before its Call; bytes of a message are missing. Findings depend on
  // when that is known.
  bool lossy = false, repeated = false, cut = false;
  size_t early = 0;  // Replies that came before their Calls
};

// With the limits of the product, or others.
struct AnalysisOptions {
  fabric::DecoderOptions decoder;
  session::SessionOptions session;
  conformance::EngineOptions engine;
};
Analysis Analyse(std::span<const OwnedFrame> frames, const AnalysisOptions& options = {});

// What `damaged` has and `whole` does not: bytes of messages, findings. For people; empty: nothing.
std::vector<std::string> NewIn(const Analysis& damaged, const Analysis& whole);

}  // namespace stag::test
