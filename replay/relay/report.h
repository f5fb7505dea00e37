// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a Relay did. "Client" and "server" are its two sides, each with a connection of its own for every client.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "replay/rpcrdma/histogram.h"

namespace stag::relay {

// Messages between the relay and one of its peers; bytes are those of the RPC messages, chunks included.
struct RelayTraffic {
  uint64_t calls = 0, call_bytes = 0;
  uint64_t replies = 0, reply_bytes = 0;
  uint64_t errors = 0;  // RDMA_ERROR
};

// Calls in one direction: of the client (forward), or of the server (backward, RFC 8167).
struct RelayDirectionReport {
  RelayTraffic caller, answerer;  // between the relay and who calls; and who answers
  uint64_t credit_stalls = 0;     // Calls that had to wait in the relay for a credit of who answers
  uint64_t made_long = 0;         // Calls and Replies that were inline on one side and too long for that on the other
  uint64_t refused = 0;           // Calls that the relay itself answered with RDMA_ERROR: bad headers, too large
  std::map<std::string_view, uint64_t>
      bad_replies;                           // why they cannot be passed on (the caller gets ERR_CHUNK); how often
  std::string no_memory;                     // why there was none for a message, the last time; empty: there always was
  uint64_t in_flight = 0;                    // Calls without a Reply when the connection of either side ended
  rpcrdma::Histogram call_rest, reply_rest;  // nanoseconds from receiving a message whole to sending it on
};

struct RelaySideReport {
  uint64_t connections = 0;
  uint64_t ended = 0;   // in order, by either end
  uint64_t broken = 0;  // otherwise
};

inline constexpr int kClientSide = 0, kServerSide = 1;

// Of a rule (faults.h): Calls that it meant, and those on which it was carried out.
struct FaultCount {
  uint64_t meant = 0, injected = 0;
};

struct RelayReport {
  std::array<RelaySideReport, 2> side;
  uint64_t rejected = 0;   // clients: too many, or there was no server for them
  uint64_t dismissed = 0;  // clients: idle ones that gave way to a new one
  uint64_t dropped = 0;    // messages that nobody waited for, or too short for a header
  RelayDirectionReport forward, backward;
  std::vector<FaultCount> faults;            // by rule
  std::map<std::string, uint64_t> troubles;  // why connections broke or were not made, and how often

  void Trouble(std::string text) {
    constexpr size_t kTroubles = 64;  // different ones that are kept
    if (troubles.size() < kTroubles || troubles.contains(text)) ++troubles[std::move(text)];
  }
};

}  // namespace stag::relay
