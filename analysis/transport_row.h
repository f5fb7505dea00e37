// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransportRow: the packets of one side of a connection, and what the fabric did to them
// (session/transport/transport.h).
#pragma once

#include <string_view>

#include "analysis/row_head.h"
#include "session/transport/transport.h"

namespace stag::analysis {

struct NakCounts {
  uint64_t sequence = 0, rnr = 0, invalid_request = 0, remote_access = 0, remote_operation = 0;
};

// Members that only InfiniBand and RoCE have, or only iWARP, are left out for the others.
struct TransportCounts {
  TransportCounts() = default;
  TransportCounts(const transport::Health& health, const session::Connection& connection, fabric::Side side);

  uint64_t bytes = 0, out_of_order = 0, spurious_retransmissions = 0, changed_retransmissions = 0,
           max_bytes_in_flight = 0;
  // InfiniBand, RoCE.
  results::Omittable<uint64_t> packets, retransmitted_packets, repeated_responses, lost_from_capture;
  results::Omittable<NakCounts> naks;
  results::Omittable<results::Duration> rnr_stall;
  results::Omittable<uint64_t> go_back_n, timeouts, ce_packets, cnp, fecn_packets, becn_packets;
  results::Omittable<std::optional<uint32_t>> path_mtu;
  // iWARP.
  results::Omittable<uint64_t> segments, retransmitted_segments, zero_windows, resets, crc_errors, damaged_segments,
      lost_from_capture_bytes, largest_segment;
};

struct TransportRow {
  TransportRow() = default;
  TransportRow(const session::Connection& connection, const transport::Health& health, fabric::Side side,
               int64_t origin_ns);

  RowHead head;
  std::string_view direction, fabric;
  TransportCounts counts;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::NakCounts> : Part<analysis::NakCounts> {
  static constexpr std::array kMembers = {
      Member<&Row::sequence>("sequence", "PSN sequence errors.").Column("sequence"),
      Member<&Row::rnr>("rnr", "Receiver not ready.").Column("RNR"),
      Member<&Row::invalid_request>("invalid_request", "Invalid requests."),
      Member<&Row::remote_access>("remote_access", "Remote access errors."),
      Member<&Row::remote_operation>("remote_operation", "Remote operational errors."),
  };
};

template <>
struct Record<analysis::TransportCounts> : Part<analysis::TransportCounts> {
  static constexpr std::array kMembers = {
      Member<&Row::packets>("packets", "InfiniBand, RoCE: packets, with acknowledgments, without CM and CNP.")
          .Column("packets"),
      Member<&Row::segments>("segments", "iWARP: TCP segments with payload.").Column("segments"),
      Member<&Row::bytes>("bytes", "RDMA payload; iWARP: TCP payload.").In("bytes").Column("payload"),
      Member<&Row::retransmitted_packets>("retransmitted_packets",
                                          "Request packets whose PSN was seen before in this direction; a Read Request "
                                          "for a part of an earlier one is one, too.")
          .Column("again"),
      Member<&Row::retransmitted_segments>("retransmitted_segments",
                                           "iWARP: segments all of whose bytes were seen before.")
          .Column("segments again"),
      Member<&Row::spurious_retransmissions>("spurious_retransmissions",
                                             "Retransmissions of packets that the other side had: "
                                             "nothing was lost but an acknowledgment.")
          .Column("for nothing"),
      Member<&Row::repeated_responses>("repeated_responses", "Read Responses whose PSN was seen before.")
          .Column("responses again"),
      Member<&Row::lost_from_capture>("lost_from_capture",
                                      "PSNs never seen that were delivered, as later packets show: the capture lost "
                                      "them.")
          .Column("not captured"),
      Member<&Row::out_of_order>("out_of_order", "Lower than one seen before, and new.").Column("disorder"),
      Member<&Row::naks>("naks", "NAKs that this side sent.").Column("NAK"),
      Member<&Row::rnr_stall>("rnr_stall_us", "From each RNR NAK that this side got to the next packet with its PSN.")
          .Column("RNR stall"),
      Member<&Row::go_back_n>("go_back_n", "Runs of retransmissions after a sequence NAK.").Column("go back N"),
      Member<&Row::timeouts>("timeouts", "Runs of retransmissions after no NAK.").Column("timeouts"),
      Member<&Row::ce_packets>("ce_packets", "With ECN Congestion Experienced in the IP header.").Column("CE"),
      Member<&Row::cnp>("cnp", "Congestion notification packets.").Column("CNP"),
      Member<&Row::zero_windows>("zero_windows", "iWARP: segments without SYN, FIN and RST that close the window.")
          .Column("zero windows"),
      Member<&Row::resets>("resets", "iWARP: segments with RST.").Column("resets"),
      Member<&Row::crc_errors>("crc_errors", "iWARP: FPDUs whose CRC32C is wrong.").Column("CRC errors"),
      Member<&Row::damaged_segments>("damaged_segments",
                                     "iWARP: segments with a wrong TCP checksum whose numbers fit nothing seen."),
      Member<&Row::changed_retransmissions>("changed_retransmissions",
                                            "Retransmissions with other bytes, over what was captured of both.")
          .Column("changed"),
      Member<&Row::fecn_packets>("fecn_packets", "With the FECN bit of the BTH."),
      Member<&Row::becn_packets>("becn_packets", "With the BECN bit of the BTH."),
      Member<&Row::path_mtu>("path_mtu", "Path MTU of the queue pair; null: not known.").In("bytes"),
      Member<&Row::lost_from_capture_bytes>("lost_from_capture_bytes",
                                            "iWARP: bytes of the stream never seen that were delivered.")
          .In("bytes"),
      Member<&Row::largest_segment>("largest_segment", "iWARP: payload of the largest segment.").In("bytes"),
      Member<&Row::max_bytes_in_flight>("max_bytes_in_flight",
                                        "Most bytes of Sends and RDMA Writes (iWARP: of the stream) that were sent and "
                                        "not acknowledged yet.")
          .In("bytes"),
  };
};

template <>
struct Record<analysis::TransportRow> : Of<analysis::TransportRow> {
  static constexpr std::string_view kType = "transport";
  static constexpr std::string_view kDoc =
      "The packets of one side of a connection, and what the fabric did to them; two rows of a connection, the "
      "client's "
      "first. "
      "Packets are counted in the row of their sender, also NAKs.";
  static constexpr std::array kMembers = {
      Inline<&Row::head>(),
      Member<&Row::direction>("direction", "c2s: sent by the client; s2c: by the server.").Column("dir"),
      Member<&Row::fabric>("fabric", "InfiniBand, RoCEv1, RoCEv2 or iWARP.").Column("fabric"),
      Inline<&Row::counts>(),
  };
};

}  // namespace stag::results
