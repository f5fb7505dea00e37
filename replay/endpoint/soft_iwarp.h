// SPDX-License-Identifier: GPL-2.0-or-later
//
// Software iWARP: RDMAP (RFC 5040) over DDP (RFC 5041) over MPA (RFC 5044, RFC 6581) on ordinary TCP sockets. Needs no
// device, no driver and no privilege, and talks to any iWARP peer: hardware, the Linux driver siw, another Stag.
//
// A Poll is: Transmit (posted work and Read Responses take turns, message by message; one sendmsg for many FPDUs), one
// recvmsg and all that it completes, completions. Nothing is allocated per message. Whatever the peer can make grow has
// a cap: receives, inbound Reads (IRD), half-open connections of a listener.
#pragma once

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

struct SoftIwarpOptions {
  uint8_t revision = 2;       // of MPA: 2 with enhanced set-up (RFC 6581), or 1
  bool markers = false;       // ask for markers in what this end receives (RFC 5044 section 4.3)
  bool peer_to_peer = false;  // connecting: offer to begin with a ready-to-receive indication (RFC 6581 section 4)
  // FPDUs are as large as so many TCP segments, at most 64 KiB. 1: an FPDU fits one segment (RFC 5044 section 4.1), as
  // hardware likes it. More make larger FPDUs, as siw sends them: less work for both sides.
  uint32_t fpdu_segments = 64;
  // A peer that acknowledges nothing for so long has gone; and one that leaves an RDMA Read unanswered for so long, and
  // a second more for each 64 KiB that it sent of it.
  std::chrono::milliseconds peer_timeout{30'000};
  // How long the end of a connection, or what a peer must send before it begins, may take.
  std::chrono::milliseconds close_timeout{5'000};
};

std::unique_ptr<Transport> MakeSoftIwarp(const SoftIwarpOptions& options = {});

}  // namespace stag::endpoint
