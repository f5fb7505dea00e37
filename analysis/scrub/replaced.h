// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a scrubbing replaced: values by kind.
#pragma once

#include <cstdint>
#include <string>

namespace stag::scrub {

struct Replaced {
  uint64_t frames = 0;
  uint64_t addresses = 0;      // IP, GID, LID, MAC, GUID, universal addresses
  uint64_t names = 0;          // of files, hosts, owners, links, attributes
  uint64_t identifiers = 0;    // handles, stateids, sessions, clients, cookies, verifiers, tokens
  uint64_t numbers = 0;        // users, groups, files, sizes, times of files
  uint64_t data_bytes = 0;     // of files
  uint64_t zeroed_bytes = 0;   // payload that nobody could tell apart
  uint64_t other_frames = 0;   // of other protocols: emptied behind their headers
  uint64_t blocks = 0;         // of the file that are no frames: emptied
  uint64_t left_out = 0;       // blocks of the file that have no number: names, secrets, statistics, unknown ones
  uint64_t unknown_links = 0;  // frames of link types that nobody knows: emptied, among `other_frames`
  uint64_t forgotten = 0;      // packets that became zeros for lack of memory
};

// "10 frames; replaced 20 addresses, ..."
std::string ReplacedText(const Replaced& replaced);

}  // namespace stag::scrub
