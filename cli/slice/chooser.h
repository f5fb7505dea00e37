// SPDX-License-Identifier: GPL-2.0-or-later
//
// The first passes over a capture: which findings and which RPCs are asked for. RPCs are known by their serial number,
// which is the same in every pass.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/analysis/shard.h"
#include "cli/slice/frame_set.h"
#include "cli/slice/packet_positions.h"
#include "cli/slice/selection.h"
#include "conformance/engine/engine.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

// A finding, or an RPC, that the slice is to show as the whole capture does.
struct WantedFinding {
  const conformance::RuleInfo* rule = nullptr;
  uint64_t frame = 0;
  uint32_t connection = 0;  // 0: of none
  size_t message = 0;       // a hash of it
};
struct WantedRpc {
  uint64_t serial = 0, call_frame = 0;
  uint32_t connection = 0, xid = 0;
  uint8_t seen = 0;  // SeenOf
};
// What the capture shows of an RPC, in bits: both messages complete, an answer, all phases, recovery, and a
// copy that delivered the Reply.
uint8_t SeenOf(const session::Transaction& t);

// What was chosen.
struct Choice {
  static constexpr size_t kMostChecked = size_t{1} << 20;  // findings and RPCs that are looked for in the slice

  FrameSet rpcs;   // serials
  FrameSet story;  // frames that are asked for themselves: those of findings, the one of --around
  std::vector<WantedRpc> wanted_rpcs;
  std::vector<WantedFinding> wanted_findings;
  uint64_t rpc_count = 0, finding_count = 0;
  int64_t first_time_ns = 0;  // of the capture's first frame
};

// Findings of the capture, those of the selection kept.
class FindingChooser final : public conformance::FindingSink {
 public:
  FindingChooser(const Selection& selection, const Clock& clock, Choice& choice)
      : selection_(selection), clock_(clock), choice_(choice) {}
  void OnFinding(const conformance::Finding& finding) override;
  // How often each rule is broken; of all findings.
  const std::map<std::string_view, uint64_t>& rules() const { return rules_; }

 private:
  const Selection& selection_;
  const Clock& clock_;
  Choice& choice_;
  std::map<std::string_view, uint64_t> rules_;
};

// RPCs of the capture: those of the selection, and those that a frame of choice.story is a part of.
class RpcChooser final : public session::Observer, public fabric::PacketObserver {
 public:
  RpcChooser(const Selection& selection, const Clock& clock, Choice& choice)
      : selection_(selection), clock_(clock), choice_(choice) {}
  void Finish();

  uint64_t seen() const { return seen_; }  // RPCs of the capture
  fabric::ConnectionId connections() const { return connections_; }
  const std::map<std::string, uint64_t>& procedures() const { return procedures_; }

  bool WantsDeliveries() const override { return true; }
  void OnConnection(const session::Connection& connection, const fabric::Event& event) override;
  void OnMessage(const session::Connection&, const session::Message& message, const session::Transaction* t) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation& operation) override;
  void OnNak(const session::Connection& connection, const fabric::Event& event) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override {
    newest_.erase(connection.info.id);
  }
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;

  void OnConnection(Track track, const fabric::ConnectionInfo& info, fabric::Side) override;
  void OnPacket(Track track, const fabric::RcPacket& packet) override { LookAt(track, packet.frame); }
  void OnSegment(Track track, fabric::Side, const link::Packet&, const FrameRef& frame) override {
    LookAt(track, frame);
  }

 private:
  struct Ranked {
    int64_t round_trip_ns = 0;
    WantedRpc rpc;
    // Whether it comes before another: the slowest first, of equals the earlier.
    bool operator<(const Ranked& other) const {
      return round_trip_ns != other.round_trip_ns ? round_trip_ns > other.round_trip_ns : rpc.serial < other.rpc.serial;
    }
  };
  bool AsksForFrames() const { return selection_.ranged() || !selection_.findings.empty(); }
  bool Touches(const FrameRef& first, const FrameRef& last) const;
  bool Fits(const session::Transaction& t) const;
  void LookAt(Track track, const FrameRef& frame) {
    if (frame.number == selection_.around) around_track_ = track;
  }
  void Take(const WantedRpc& rpc);

  const Selection& selection_;
  const Clock& clock_;
  Choice& choice_;
  FrameSet touched_;  // serials of RPCs with a packet in the frames that are asked for
  // By connection: the RPC whose packet was the last, which is what a NAK refuses.
  std::unordered_map<fabric::ConnectionId, uint64_t> newest_;
  std::vector<Ranked> ranks_;  // a heap, the first to go on top
  // --around: the track and the connection of that frame, and RPCs that were under way then.
  Track around_track_ = 0;
  fabric::ConnectionId around_connection_ = 0;
  std::vector<Ranked> under_way_;
  struct Ended {
    uint64_t end = 0;  // its last frame, before that of --around
    Ranked rpc;
  };
  std::unordered_map<fabric::ConnectionId, Ended> ended_;   // the last of each connection
  std::unordered_map<Track, fabric::ConnectionId> tracks_;  // where --around is asked for
  uint64_t seen_ = 0;
  fabric::ConnectionId connections_ = 0;
  std::map<std::string, uint64_t> procedures_;
};

}  // namespace stag::cli
