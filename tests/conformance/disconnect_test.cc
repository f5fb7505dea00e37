// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a CM disconnect proves. Its messages have no packet sequence number: a message that the capture lost in front of
// them together with its acknowledgement leaves no trace. Captures with a disconnect, without one of the last messages
// and what acknowledges it: there is no error that the whole capture does not have, but where the side whose memory an
// RDMA operation touches refuses it, which is a proof of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "protocol/ib/cm.h"
#include "protocol/ib/transport.h"
#include "protocol/link/packet.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/run_capture.h"

namespace stag::conformance {
namespace {

namespace fs = std::filesystem;
using test::OwnedFrame;

constexpr size_t kTail = 60;  // frames in front of a disconnect

// What no disconnect proves: it is one at once.
const std::map<std::string_view, std::string_view> kAtOnce = {
    {"WRLIST-017", "the Call that is lost advertises the memory of an answered one again"}};

struct Seen {
  Address source, destination;
  uint32_t qp = 0, psn = 0;
  bool disconnect = false, message = false, response = false, refusal = false;
};

Seen Look(const OwnedFrame& frame) {
  const link::Packet packet = link::Decode(frame.view());
  Seen seen;
  if (packet.status != ParseStatus::kOk || packet.carrier == link::Carrier::kTcp ||
      packet.carrier == link::Carrier::kOther || packet.carrier == link::Carrier::kRpcbind)
    return seen;
  seen.source = packet.source;
  seen.destination = packet.destination;
  const ib::Transport t = ib::ParseTransport(packet.payload, packet.wire_length);
  if (t.status != ParseStatus::kOk) return seen;
  const ib::OpcodeInfo& info = ib::LookUpOpcode(t.bth.opcode);
  seen.qp = t.bth.destination_qp;
  seen.psn = t.bth.psn;
  if (info.service == ib::Service::kUd && seen.qp == ib::kGsiQp) {
    const ib::CmMessage cm = ib::ParseCm(ib::ParseMad(t.data, t.data_length));
    seen.disconnect = cm.status == ParseStatus::kOk && cm.kind == ib::CmKind::kDisconnectRequest;
  }
  if (info.service != ib::Service::kRc) return seen;
  seen.response = info.response;
  seen.refusal = info.aeth && ib::KindOf(t.aeth.syndrome) == ib::AethKind::kNak && (t.aeth.syndrome & 31) != 0;
  seen.message = !info.response && info.operation == ib::Operation::kSend && info.first && info.last;
  return seen;
}

// How often each rule is broken.
std::map<std::string, size_t> Errors(std::span<const OwnedFrame> frames) {
  test::Findings findings;
  Engine engine({}, findings);
  test::Run(frames, {}, {.keep_bulk = false}, {&engine});
  std::map<std::string, size_t> errors;
  for (const Finding& finding : findings.all)
    if (finding.severity == Severity::kError) ++errors[std::string(finding.rule->id)];
  return errors;
}

// Without message `m` and what acknowledges it before `end`: the first such packet, or `all`.
std::vector<OwnedFrame> Lose(std::span<const OwnedFrame> frames, std::span<const Seen> seen, size_t m, size_t end,
                             bool all) {
  std::vector<OwnedFrame> left;
  size_t acknowledgements = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Seen& s = seen[i];
    const bool acknowledges = i > m && i < end && s.response && s.source == seen[m].destination &&
                              s.destination == seen[m].source && ib::PsnDistance(s.psn, seen[m].psn) >= 0 &&
                              ib::PsnDistance(s.psn, seen[m].psn) < 1000;
    if (i == m || (acknowledges && (all || acknowledgements++ == 0))) continue;
    left.push_back(frames[i]);
    left.back().ref.number = left.size();
  }
  return left;
}

TEST(Disconnect, WhatIsLostInFrontOfItMakesNoError) {
  size_t cuts = 0;
  for (const char* folder : {"/pcaps/real", "/pcaps/rules"})
    for (const auto& entry : fs::recursive_directory_iterator(std::string(STAG_SOURCE_DIR) + folder)) {
      const std::string path = entry.path();
      if (path.find(".pcap") == std::string::npos || path.find("siw") != std::string::npos) continue;
      const auto frames = test::LoadFrames(path);
      std::vector<Seen> seen;
      for (const OwnedFrame& frame : frames) seen.push_back(Look(frame));
      std::optional<std::map<std::string, size_t>> whole;
      for (size_t end = 0; end < frames.size(); ++end) {
        if (!seen[end].disconnect) continue;
        if (!whole) whole = Errors(frames);
        for (size_t m = end - std::min(end, kTail); m < end; m += test::kStride) {
          const auto tail = std::span(seen).subspan(m, end - m);
          if (!seen[m].message || std::ranges::any_of(tail, &Seen::refusal)) continue;
          for (const bool all : {false, true}) {
            ++cuts;
            for (const auto& [rule, times] : Errors(Lose(frames, seen, m, end, all)))
              EXPECT_TRUE(times <= (*whole)[rule] || kAtOnce.contains(rule))
                  << path << " without frame " << m + 1 << (all ? " and all acknowledgements: " : ": ") << rule;
          }
        }
      }
    }
  std::cout << cuts << " cuts\n";
  EXPECT_GT(cuts, 200u);
}

}  // namespace
}  // namespace stag::conformance
