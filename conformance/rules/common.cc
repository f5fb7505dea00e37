// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/rules/common.h"

namespace stag::conformance {

namespace {

using fabric::Missing;

bool IsCut(const session::Payload& payload) { return payload.present && payload.stream.size() < payload.stream_length; }

}  // namespace

Outcome Undecoded(const Context& c) {
  if (c.message && c.message->missing == Missing::kLost) return Outcome::kGap;
  if (c.message && c.message->missing == Missing::kTruncatedByCapture) return Outcome::kTruncated;
  if (c.transaction && (c.transaction->call_send_missing || c.transaction->reply_send_missing ||
                        IsCut(c.transaction->call) || IsCut(c.transaction->reply)))
    return c.connection.lossy ? Outcome::kGap : Outcome::kTruncated;
  return Outcome::kUpperLayer;
}

Outcome Unseen(const Context& c) {
  if (!Undisturbed(c)) return c.connection.lossy ? Outcome::kGap : Outcome::kNoSetup;
  if (const Outcome bytes = Undecoded(c); bytes != Outcome::kUpperLayer) return bytes;
  if (c.connection.lossy || c.connection.evicted_transactions > 0) return Outcome::kGap;
  if (!c.connection.setup_seen) return Outcome::kNoSetup;
  if (c.connection.truncated_messages > 0) return Outcome::kTruncated;
  return Outcome::kUpperLayer;
}

}  // namespace stag::conformance
