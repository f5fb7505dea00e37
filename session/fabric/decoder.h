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
#include "session/fabric/stop_counts.h"

namespace stag::link {
struct Packet;
}

namespace stag::fabric {

class PacketObserver;

// How much of each kind may wait or be remembered, whatever the memory limit allows. Tests make them small.
struct DecoderLimits {
  // InfiniBand and RoCE.
  size_t flows = 65536;              // directions of connections, also of those that have ended
  size_t searching = 1024;           // of these, without a partner
  size_t held_packets = 256;         // of one flow without a partner
  uint64_t held_bytes = 256u << 10;  // likewise
  size_t waiting_packets = 1024;     // of one connection, for a packet that is missing
  uint64_t waiting_bytes = 4u << 20;
  size_t reads = 256;           // RDMA Reads of one side that are not complete: initiator depth has eight bits
  size_t cm_waiting = 32;       // CM messages that wait for the one that they answer
  size_t cm_ended = 16384;      // communication ids of connections that have ended
  size_t spare_packets = 1024;  // storage for packets that wait, kept for the next
  // iWARP.
  size_t followed = 4096;    // TCP connections that carry iWARP
  size_t candidates = 2048;  // TCP connections that may yet turn out to
  size_t closed = 4096;      // TCP connections that have ended and whose late packets a PacketObserver sees
  size_t pieces = 4096;      // TCP segments of one direction that wait
  uint64_t piece_bytes = 4u << 20;
  size_t pending_reads = 1024;  // RDMA Reads of one side that are not complete
  size_t spare_pieces = 64;     // storage for segments that wait, kept for the next
  // Both.
  uint64_t send_bytes = 1u << 20;  // of one Send; more are counted, not kept
  size_t originals =
      4096;  // packets, and FPDUs, of all connections that are remembered for repetitions; a power of two
};

struct DecoderOptions {
  uint64_t memory_limit = 64u << 20;  // bytes for reassembly and reordering over all connections
  DecoderLimits limits = {};
  bool verify_crc = false;           // check the ICRC of RoCE packets (iWARP CRC32C is always checked)
  link::TunnelPorts tunnel_ports{};  // of OnFrame
  bool assemble = true;              // put IP packets together from their fragments
  bool slice = false;                // what is missing was left out, not lost: ConnectionInfo::of_slice
  bool keep_copies = false;          // take copies of a packet (copies.h) for packets of their own
  // The file that frames are read from, or null. What of them may have to be compared is read from it again; what is
  // not in the file is hashed. Must outlive the Decoder.
  const Lasting* lasting = nullptr;
  bool sightings = false;             // Sink::OnSighting is called
  PacketObserver* packets = nullptr;  // sees every packet of the connections; must outlive the Decoder
};

struct DecoderStats {
  uint64_t frames = 0;            // frames given
  uint64_t truncated_frames = 0;  // RDMA frames cut by the snap length
  uint64_t duplicates = 0;        // link-level duplicates and retransmissions dropped
  uint64_t gaps = 0;              // kGap events
  uint64_t bad_crc = 0, checked_crc = 0;
  uint64_t ip_fragments = 0;                            // frames with one; put together where all are there
  std::array<uint64_t, link::kTunnelKinds> tunnels{};   // frames out of a link::Tunnel of each kind
  uint64_t copies = 0;                                  // of packets that were captured before: dropped
  uint64_t unclear_copies = 0, first_unclear_copy = 0;  // of these, what may have been sent again; the first frame
  uint64_t tunneled = 0;                                // frames out of any
  StopCounts stopped;                                   // frames that could not be looked into
  uint64_t dropped_for_memory = 0;                      // bytes or packets given up to stay within memory_limit
  uint64_t unreliable = 0;                              // UD (not CM) and UC packets: not followed
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
