// SPDX-License-Identifier: GPL-2.0-or-later
//
// Decoder: frames, or the packets in them, in; fabric events out. Routes each frame's packet to the InfiniBand/RoCE
// tracker or the iWARP tracker. One pass, bounded memory, no allocation per packet in the steady state.
#pragma once

#include <array>
#include <memory>

#include "protocol/base/frame.h"
#include "protocol/base/lasting.h"
#include "protocol/link/tunnel.h"
#include "session/fabric/fabric_event.h"

namespace stag::link {
struct Packet;
}

namespace stag::fabric {

class PacketObserver;

struct DecoderOptions {
  uint64_t memory_limit = 64u << 20;  // bytes for reassembly and reordering over all connections
  bool verify_crc = false;            // check the ICRC of RoCE packets (iWARP CRC32C is always checked)
  link::TunnelPorts tunnel_ports{};   // of OnFrame
  bool keep_copies = false;           // take copies of a packet (copies.h) for packets of their own
  // The file that frames are read from, or null. What of them may have to be compared is read from it again; what is
  // not in the file is hashed. Must outlive the Decoder.
  const Lasting* lasting = nullptr;
  PacketObserver* packets = nullptr;  // sees every packet of the connections; must outlive the Decoder
};

struct DecoderStats {
  uint64_t frames = 0;            // frames given
  uint64_t truncated_frames = 0;  // RDMA frames cut by the snap length
  uint64_t duplicates = 0;        // link-level duplicates and retransmissions dropped
  uint64_t gaps = 0;              // kGap events
  uint64_t bad_crc = 0, checked_crc = 0;
  uint64_t ip_fragments = 0;
  std::array<uint64_t, link::kTunnelKinds> tunnels{};  // frames out of a link::Tunnel of each kind
  uint64_t copies = 0;                                 // of packets that were captured before: dropped
  uint64_t tunneled = 0;                               // frames out of any
  uint64_t nested_too_deeply = 0;                      // of these: further tunnels in them were not followed
  uint64_t dropped_for_memory = 0;                     // bytes or packets given up to stay within memory_limit
  uint64_t unreliable = 0;                             // UD (not CM) and UC packets: not followed
};

class Decoder {
 public:
  Decoder(const DecoderOptions& options, Sink& sink);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Frames must come with ascending numbers. The frame's bytes are not kept past the call.
  void OnFrame(const Frame& frame);
  // Likewise, for a caller that has decoded the frame itself: the packet that it carries.
  void OnPacket(const link::Packet& packet, const FrameRef& frame);
  // End of capture: what was held back for reordering comes out, and every open connection is closed (kEndOfCapture).
  void Finish();
  const DecoderStats& stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::fabric
