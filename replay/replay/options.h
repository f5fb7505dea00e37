// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a plan is played. Whoever fills it in keeps to what is said here.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/replay/plan.h"

namespace stag::replay {

struct PlayCounts {
  uint64_t answers = 0, bytes = 0, outstanding = 0, errors = 0;
};

struct PlayOptions {
  endpoint::HostPort to;

  // When a Call is sent, once the plan allows it: at its recorded time, divided by `speed` (0: as soon as possible); at
  // most `rate` Calls a second over all clients (0: no limit).
  double speed = 0;
  double rate = 0;
  uint64_t loops = 1;                         // each on new connections; 0: until `duration`
  std::chrono::nanoseconds duration{0};       // then nothing more is sent; 0: no limit
  uint32_t clients = 1;                       // that play the whole plan, each for itself
  uint32_t first_client = 1;                  // the number of the first of them
  std::chrono::milliseconds timeout{10'000};  // for an answer
  uint32_t reconnects = 0;                    // of each connection
  // How long a Call is sent again when the server puts it off (PutOff()) and the recorded one did not; 0: never.
  std::chrono::milliseconds put_off{120'000};

  // In place of what was recorded.
  std::optional<uint32_t> credits;                  // to request
  std::optional<uint32_t> send_size, receive_size;  // bytes, RFC 8797
  bool no_private_data = false, no_remote_invalidation = false;
  bool ignore_credits = false;
  uint32_t segment_size = 1 << 20;

  std::vector<std::byte> root;         // live handle of the recorded root; empty: none
  uint64_t values_memory = 32u << 20;  // bytes for the live values of all clients
  endpoint::EventLog* events = nullptr;
  bool crc = true;  // see EndpointOptions
  // Called when all is ready: waits for the moment to begin, and returns it. Empty: begin at once.
  std::function<std::chrono::steady_clock::time_point()> ready;
  int stop = -1;                                    // a descriptor: once it is readable, nothing more is sent
  std::function<void(const PlayCounts&)> progress;  // called now and then; may be empty
};

}  // namespace stag::replay
