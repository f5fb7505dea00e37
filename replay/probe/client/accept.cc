// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a connection is accepted: private data (RFC 8797) that say less, more or nothing, refusals, and late answers.
#include <fmt/format.h>

#include "replay/probe/client/picks.h"
#include "replay/probe/link.h"

namespace stag::probe::client {
namespace {

Buffer Encoded(const rpcrdma::PrivateData& data) {
  Buffer bytes;
  rpcrdma::Encode(data, bytes);
  return bytes;
}

Buffer Foreign(size_t n) { return Buffer(n, std::byte{0x5c}); }

// No Send of the client has more bytes, on connections from `first` on.
void AtMost(Trick& trick, size_t bytes, size_t first = 1) {
  trick.watch = [=](const Seen& message, Scene& scene, Play&) {
    if (scene.ordinal >= first && message.size > bytes)
      Failed(fmt::format("Sends of at most {} bytes", bytes), fmt::format("one of {} bytes", message.size));
  };
}

// Private data that have to be taken as none: both thresholds are 1024 bytes.
void AsNone(Trick& trick, Buffer data) {
  trick.in_terms = true;
  trick.terms = [data](size_t, rpcrdma::ResponderOptions& options) {
    options.send_private_data = false;
    return std::optional(data);
  };
  AtMost(trick, rpcrdma::kDefaultThreshold);
}

void NoData(Trick& trick) { AsNone(trick, {}); }
void OtherVersion(Trick& trick) {
  AsNone(trick, Encoded({.version = 2, .flags = 1, .send_size = 255, .receive_size = 255}));
}
void TooShort(Trick& trick) {
  Buffer data = Encoded({.version = 1, .flags = 1, .send_size = 3, .receive_size = 3});
  data.resize(6);
  AsNone(trick, data);
}
void ForeignOnly(Trick& trick) { AsNone(trick, Foreign(16)); }

void ForeignBefore(Trick& trick) {
  trick.in_terms = true;
  trick.terms = [](size_t, rpcrdma::ResponderOptions& options) {
    Buffer data = Foreign(5);
    const Buffer ours = rpcrdma::Responder::PrivateData(options);
    data.insert(data.end(), ours.begin(), ours.end());
    return std::optional(data);
  };
}

void Raw(Trick& trick, const rpcrdma::PrivateData& data) {
  trick.in_terms = true;
  trick.terms = [data](size_t, rpcrdma::ResponderOptions& options) {
    options.send_size = data.send_bytes();
    options.receive_size = data.receive_bytes();
    options.remote_invalidation = data.remote_invalidation();
    return std::optional(Encoded(data));
  };
}
void ReservedBits(Trick& trick) { Raw(trick, {.version = 1, .flags = 0xfe, .send_size = 3, .receive_size = 3}); }
void LargestSizes(Trick& trick) { Raw(trick, {.version = 1, .flags = 1, .send_size = 255, .receive_size = 255}); }
void SmallestSizes(Trick& trick) {
  Raw(trick, {.version = 1, .flags = 1, .send_size = 0, .receive_size = 0});
  AtMost(trick, rpcrdma::kDefaultThreshold);
}

// The first connection ends after some Calls; the thresholds of the next ones are others.
void Changes(Trick& trick, bool shrinks) {
  trick.terms = [=](size_t ordinal, rpcrdma::ResponderOptions& options) -> std::optional<Buffer> {
    options.send_private_data = (ordinal == 1) == shrinks;
    return {};
  };
  trick.call = [](Seen&, Scene& scene, Play& play) {
    play.HangUp(scene);
    return false;
  };
}
void Shrinks(Trick& trick) {
  Changes(trick, true);
  AtMost(trick, rpcrdma::kDefaultThreshold, 2);
}
void Grows(Trick& trick) { Changes(trick, false); }

void LateAccept(Trick& trick) {
  trick.in_terms = true;
  trick.greet = [](size_t ordinal, Play&) { return ordinal == 1 ? Greeting::kAcceptLate : Greeting::kAccept; };
}

void First(Trick& trick, Greeting greeting, size_t requests = 1) {
  trick.greet = [=](size_t ordinal, Play& play) {
    if (ordinal > requests) return Greeting::kAccept;
    ++play.fired;
    return greeting;
  };
}
void Reject(Trick& trick) { First(trick, Greeting::kReject); }
void RejectWithData(Trick& trick) {
  First(trick, Greeting::kReject);
  trick.reject_data = Foreign(24);
}
// More than any fabric has room for.
void RejectWithMost(Trick& trick) {
  First(trick, Greeting::kReject);
  trick.reject_data = Foreign(1024);
}
// Twice: over iWARP, a client may take the first time for a sign that the server knows only MPA revision 1 (RFC 6581
// section 10).
void NoAnswer(Trick& trick) { First(trick, Greeting::kHangUp, 2); }

// After a connection that was good, the next one is refused.
void RejectAgain(Trick& trick) {
  auto refused = std::make_shared<bool>(false);
  trick.call = [](Seen&, Scene& scene, Play& play) {
    play.HangUp(scene);
    return false;
  };
  trick.greet = [refused](size_t, Play& play) {
    if (play.fired == 0 || *refused) return Greeting::kAccept;
    *refused = true;
    return Greeting::kReject;
  };
}

// The refusal in between has private data with the largest sizes; the connection behind it is accepted without any.
void RejectWithTerms(Trick& trick) {
  RejectAgain(trick);
  trick.reject_data = Encoded({.version = 1, .flags = 1, .send_size = 255, .receive_size = 255});
  trick.terms = [](size_t ordinal, rpcrdma::ResponderOptions& options) -> std::optional<Buffer> {
    options.send_private_data = ordinal == 1;
    return {};
  };
  AtMost(trick, rpcrdma::kDefaultThreshold, 2);
}

constexpr std::string_view kAbsent = "RFC 8797 5.1, RFC 8797 5.2, RFC 8166 3.3.3";
using enum Taken;

}  // namespace

std::span<const ClientProbe> AcceptProbes() {
  static const ClientProbe probes[] = {
      {"accept.no-private-data", "Without private data the defaults hold",
       "The connection is accepted without private data. Both thresholds are 1024 bytes: no Send is larger, and the "
       "work succeeds.",
       kAbsent, "PVT-011, THRESH-001", kFault, kFault, NoData},
      {"accept.unknown-version", "Private data of an unknown version are as none",
       "Private data of version 2 with the largest sizes. No Send of the client is larger than 1024 bytes.", kAbsent,
       "PVT-011, PVT-013, THRESH-001", kFault, kFault, OtherVersion},
      {"accept.too-short", "Private data that are too short are as none",
       "The first six bytes of private data. No Send of the client is larger than 1024 bytes.", kAbsent,
       "PVT-011, PVT-013, THRESH-001", kFault, kFault, TooShort},
      {"accept.foreign-only", "Private data of somebody else are as none",
       "16 bytes without the format identifier. No Send of the client is larger than 1024 bytes.", kAbsent,
       "PVT-011, THRESH-001", kFault, kFault, ForeignOnly},
      {"accept.foreign-before", "Private data behind foreign bytes do no harm",
       "Five foreign bytes, then private data. The work succeeds.", "RFC 8797 5.2", "PVT-012", kFault, kFault,
       ForeignBefore},
      {"accept.reserved-bits", "Reserved bits are ignored",
       "Private data with all reserved bits set and R clear. The work succeeds.", "RFC 8797 4", "PVT-004", kFault,
       kFault, ReservedBits},
      {"accept.largest-sizes", "The largest sizes are accepted",
       "Private data with 262144 bytes for both sizes. The client stays within its own.", "RFC 8797 4.2",
       "PVT-009, PVT-010", kFault, kFault, LargestSizes},
      {"accept.smallest-sizes", "The smallest sizes are kept",
       "Private data with 1024 bytes for both sizes. No Send of the client is larger.", "RFC 8797 4.2",
       "PVT-009, THRESH-001", kFault, kFault, SmallestSizes},
      {"accept.size-shrinks", "A new connection has terms of its own: smaller ones",
       "A connection with 4096 bytes ends; the next one has no private data. No Send on it is larger than 1024 bytes.",
       "RFC 8797 4", "PVT-014, THRESH-001", kFault, kAllowed, Shrinks},
      {"accept.size-grows", "A new connection has terms of its own: larger ones",
       "A connection without private data ends; the next one has 4096 bytes, and Replies of more than 1024 bytes come "
       "inline. The client has receives for them.",
       "RFC 8797 4", "PVT-014, PVT-015", kFault, kAllowed, Grows},
      {"accept.late", "A late answer is an answer",
       "The first connection is accepted after four times the time of --settle. The work succeeds.", "RFC 8166 4.5.5",
       "", kFault, kFault, LateAccept},
      {"reject.first", "A client that is rejected lives",
       "The first connection is rejected. The work may fail; the client can connect again.", "RFC 8166 4.5.5", "",
       kAllowed, kAllowed, Reject},
      {"reject.private-data", "A client that is rejected with private data lives",
       "The first connection is rejected with 24 bytes of private data. The work may fail; the client can connect "
       "again.",
       "RFC 8166 4.5.5, RFC 8797 4", "", kAllowed, kAllowed, RejectWithData},
      {"reject.largest-data", "A client that is rejected with much private data lives",
       "The first connection is rejected with as many bytes of private data as there is room for. The work may fail; "
       "the client can connect again.",
       "RFC 8166 4.5.5, RFC 8797 4", "", kAllowed, kAllowed, RejectWithMost},
      {"reject.rpcrdma-data", "Private data of a refusal are no terms",
       "A connection ends in the midst of the work, the next one is rejected with private data of the largest sizes, "
       "and a third is accepted without any. No Send on that is larger than 1024 bytes.",
       "RFC 8797 4, RFC 8797 5.1", "PVT-011, PVT-014, THRESH-001", kAdvice, kAllowed, RejectWithTerms},
      {"reject.no-answer", "A client that gets no answer lives",
       "The first two requests for a connection end without an answer. The work may fail; the client can connect "
       "again.",
       "RFC 8166 4.5.5", "", kAllowed, kAllowed, NoAnswer},
      {"reject.reconnect", "A client that is rejected once tries again",
       "A connection ends in order in the midst of the work, and the next one is rejected once. The Calls come again, "
       "and the work succeeds.",
       "RFC 8166 4.5.5", "CONN-006", kAdvice, kAllowed, RejectAgain},
  };
  return probes;
}

}  // namespace stag::probe::client
