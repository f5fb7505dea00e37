// SPDX-License-Identifier: GPL-2.0-or-later
//
// LiveValues: the values that the live server gave one client for the recorded ones, and the Calls rewritten with them.
// Also what a live client makes up itself: who it is (NFSv4's owner and verifier), and the slots of its sessions (RFC
// 8881 section 2.10.6). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/replay/plan.h"
#include "replay/replay/value_table.h"

namespace stag::replay {

// Who a client is to NFSv4 servers.
struct ClientIdentity {
  std::string owner_suffix;  // put behind the recorded owner
  uint64_t verifier = 0;     // in place of the recorded one
};

// A slot that a Call holds until its answer.
struct HeldSlot {
  std::string session;  // its key; empty: none
  uint32_t slot = 0;
};

struct RewrittenCall {
  std::vector<std::byte> message;
  uint64_t item_offset = 0;  // where PlannedCall::item is in it, or would be
  Bytes item;                // a large one is not in the message, nor is its padding: where it is recorded
  HeldSlot slot;
};

class LiveValues {
 public:
  // `memory`: bytes that values may take; what was not used for the longest time is forgotten.
  LiveValues(ClientIdentity identity, uint64_t memory) : identity_(std::move(identity)), live_(memory) {}

  // The live value for the recorded one with this key.
  void Set(std::string_view key, Bytes value) { live_.Set(key, value); }
  // False: all slots of the call's session are taken; try again after an answer. What no live reply gave stays as
  // recorded. `out`: storage is reused.
  bool Rewrite(const PlannedCall& call, RewrittenCall& out);
  // The RPC Reply to `call`, walked: its values stand from now on for those of the recorded reply.
  void Learn(const PlannedCall& call, const Values& reply);
  // The Call that held the slot was answered; `done`: its SEQUENCE was, so the slot goes on to the next number.
  void Release(const HeldSlot& slot, bool done);
  // Where the server can call back (RFC 5665: netid and universal address); without it, where the recording says.
  void SetCallback(std::string netid, std::string address) {
    callback_netid_ = std::move(netid);
    callback_address_ = std::move(address);
  }
  // How many Calls were rewritten with a value missing.
  uint64_t unknown() const { return unknown_; }
  // How many values there was no memory for any more.
  uint64_t forgotten() const { return live_.forgotten(); }

 private:
  struct Slot {
    uint32_t sequence = 1;  // of the next request on it
    bool taken = false;
  };
  struct Session {
    std::string key;
    std::vector<Slot> slots;
  };
  Session* FindSession(std::string_view key);
  // The session with this key, without slots; the oldest that is not in use goes when there are too many.
  Session& AddSession(std::string_view key);
  // False: all are taken. made_: the three words.
  bool TakeSlot(Session& session, Bytes recorded, HeldSlot& held);
  // The bytes that stand for a use; empty: the recorded ones stay.
  Bytes Replacement(const Use& use, Bytes recorded);
  Bytes Make(Made made, Bytes recorded);

  const ClientIdentity identity_;
  std::string callback_netid_, callback_address_;
  ValueTable live_;
  std::vector<Session> sessions_;
  Values recorded_, call_;
  std::vector<size_t> matches_;
  std::string made_;  // scratch
  uint64_t unknown_ = 0;
};

}  // namespace stag::replay
