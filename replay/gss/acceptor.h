// SPDX-License-Identifier: GPL-2.0-or-later
//
// Acceptor: a server's RPCSEC_GSS contexts (RFC 2203), of all its connections: what becomes of a Call, and what its
// Reply needs. At most kMaxContexts are kept; a new one takes the place of the oldest. Threads: any.
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <mutex>

#include "protocol/rpc/message.h"
#include "protocol/rpc/rpcsec_gss.h"
#include "replay/gss/kerberos.h"

namespace stag::gss {

class Acceptor {
  struct Peer;

 public:
  static constexpr uint32_t kWindow = 128;  // sequence numbers
  static constexpr size_t kMaxContexts = 1024;

  explicit Acceptor(std::shared_ptr<Credentials> credentials) : credentials_(std::move(credentials)) {}

  enum class Verdict : uint8_t {
    kExecute,  // `arguments`; the Reply is finished by Finish
    kAnswer,   // `reply`: a control message's, or a refusal
    kDiscard,  // silently: the sequence number was seen, or is below the window (section 5.3.3.1)
  };
  struct Taken {
    Verdict verdict = Verdict::kAnswer;
    Buffer reply, arguments;
    Buffer verifier;  // of the Reply to a Call that is executed
    std::shared_ptr<Peer> peer;
    uint32_t sequence = 0, service = 0;
  };
  // `header`: of `call`, a whole RPC message that could be read, with a credential of RPCSEC_GSS.
  Taken Take(Bytes call, const rpc::CallHeader& header);
  // Makes the Reply to a Call that was executed, an RPC message with an empty verifier, that of its context, its
  // results as the service asks (section 5.3.3.2). Returns by how many bytes results moved that are not wrapped;
  // nullopt: they are.
  std::optional<size_t> Finish(const Taken& taken, Buffer& reply);

 private:
  // A context, with what was seen of its sequence numbers.
  struct Peer {
    std::unique_ptr<Context> context;
    uint32_t newest = 0;
    std::bitset<kWindow> seen;  // bit i: newest - i
  };
  Taken Create(Bytes call, const rpc::CallHeader& header, const rpc::GssCredential& credential);
  static bool IsNew(Peer& peer, uint32_t sequence);

  std::mutex mutex_;  // of all below, and of all contexts
  std::shared_ptr<Credentials> credentials_;
  std::map<uint64_t, std::shared_ptr<Peer>> peers_;  // by the number that is the handle
  uint64_t last_ = 0;
};

}  // namespace stag::gss
