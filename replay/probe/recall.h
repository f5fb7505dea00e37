// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recall: a client with a back channel (RFC 8881 section 2.10.3.1) and the first Call that the server makes on it. That
// comes with the session, or, where there is a directory of --nfs4-export, because the client has a delegation of a
// file that another client opens to write: CB_RECALL.
#pragma once

#include <optional>

#include "replay/probe/nfs4_file.h"

namespace stag::probe {

// An RPC Reply of the client's, SUCCESS without results.
Call ReplyTo(uint32_t xid, Bench& bench);

class Recall {
 public:
  // `slots`: of the back channel. Ends the probe as inconclusive when the server makes no Call.
  explicit Recall(Bench& bench, uint32_t slots = 1);
  // The delegation is returned.
  ~Recall();
  Recall(const Recall&) = delete;
  Recall& operator=(const Recall&) = delete;

  Nfs4& client() { return client_; }
  const Message& callback() const { return *callback_; }
  // Of the callback; nullopt: it is no CB_COMPOUND that begins with CB_SEQUENCE.
  std::optional<uint32_t> slot() const;
  // Answers the callback: CB_NULL, CB_SEQUENCE and CB_RECALL succeed, another operation is illegal.
  void Answer();
  // CB_SEQUENCE fails with this status, and ends the CB_COMPOUND.
  void Refuse(uint32_t status);
  // Whether the server calls again: callback() is that Call then.
  bool Again();
  // Answers callbacks until one has a slot, and has a delegation recalled for that where there is a directory. False:
  // none has.
  bool ReachSlot();

 private:
  void Provoke();

  Bench& bench_;
  Nfs4 client_;
  std::optional<Nfs4File> file_;
  nfs_client::nfs4::StateId delegation_{};
  std::optional<Message> callback_;
  bool opening_ = false;  // the other client's OPEN has no answer yet
};

}  // namespace stag::probe
