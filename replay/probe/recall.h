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
  // Ends the probe as inconclusive when the server makes no Call.
  explicit Recall(Bench& bench);
  // The delegation is returned.
  ~Recall();
  Recall(const Recall&) = delete;
  Recall& operator=(const Recall&) = delete;

  Nfs4& client() { return client_; }
  const Message& callback() const { return *callback_; }
  // Answers the callback: CB_NULL, CB_SEQUENCE and CB_RECALL succeed, another operation is illegal.
  void Answer();

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
