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

namespace stag::replay {

// Who a client is to NFSv4 servers.
struct ClientIdentity {
  std::string owner_suffix;  // put behind the recorded owner
  uint64_t verifier = 0;     // in place of the recorded one
};

// A slot that a Call holds until its answer.
struct HeldSlot {
  uint32_t session = kNoValue;  // which value; kNoValue: none
  uint32_t slot = 0;
};

struct RewrittenCall {
  std::vector<std::byte> message;
  uint64_t item_offset = 0;  // where PlannedCall::item is in it
  HeldSlot slot;
};

class LiveValues {
 public:
  // `plan` must outlive it.
  LiveValues(const Plan& plan, ClientIdentity identity);

  // The live handle of the recorded root.
  void SetRoot(Bytes handle) { Set(plan_.root_value, handle); }
  // False: all slots of the call's session are taken; try again after an answer. What no live reply gave stays as
  // recorded. `out`: storage is reused.
  bool Rewrite(const PlannedCall& call, RewrittenCall& out);
  // The RPC Reply to `call`, walked: its values stand from now on for those of the recorded reply.
  void Learn(const PlannedCall& call, const Values& reply);
  // The Call that held the slot was answered; `done`: its SEQUENCE was, so the slot goes on to the next number.
  void Release(const HeldSlot& slot, bool done);
  // How many Calls were rewritten with a value missing.
  uint64_t unknown() const { return unknown_; }

 private:
  struct Slot {
    uint32_t sequence = 1;  // of the next request on it
    bool taken = false;
  };
  struct Session {
    uint32_t value = kNoValue;
    std::vector<Slot> slots;
  };
  void Set(uint32_t value, Bytes bytes) {
    if (value < live_.size()) live_[value].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Session* FindSession(uint32_t value);
  // False: all are taken. made_: the three words.
  bool TakeSlot(Session& session, uint32_t value, Bytes recorded, HeldSlot& held);
  // The bytes that stand for a use; empty: the recorded ones stay.
  Bytes Replacement(const Use& use, Bytes recorded);

  const Plan& plan_;
  const ClientIdentity identity_;
  std::vector<std::string> live_;  // by value; empty: not known
  std::vector<Session> sessions_;
  Values recorded_, call_;
  std::vector<size_t> matches_;
  std::string made_;  // scratch
  uint64_t unknown_ = 0;
};

}  // namespace stag::replay
