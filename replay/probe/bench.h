// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bench: what a probe works with: connections to the server, Calls that suit it, and what their answers must be.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "replay/gss/kerberos.h"
#include "replay/nfs_client/rpc_calls.h"
#include "replay/probe/link.h"

namespace stag::probe {

inline constexpr uint32_t kLong = 6000;  // bytes: more than any threshold that the probes offer

struct ProbeOptions {
  endpoint::HostPort to;
  // Whose NULL is called; none: the first of NFS versions 3 and 4 and ECHO (replay/rpcrdma/echo_program.h) that the
  // server has.
  std::optional<uint32_t> program, version;
  // NFSv3: the exported directory, and the port of MOUNT (none: the portmapper knows); or the directory's file handle.
  std::string path;
  std::optional<uint16_t> mount_port;
  std::vector<std::byte> directory;
  // NFSv4: the directory, from the server's root: "/", "/srv"; empty: there is none.
  std::string nfs4_path;
  nfs_client::Credential credential;
  // RPCSEC_GSS; nullptr: there is no key table.
  std::shared_ptr<gss::Credentials> gss;
  Patience patience;
  bool crc = true;
};

// What the probes know of the server.
struct Target {
  uint32_t program = 0, version = 0;
  bool known = false;                // NULL of the program succeeds
  bool echo = false;                 // the program is ECHO
  std::vector<std::byte> directory;  // NFSv3 handle; empty: there is none
  std::vector<std::byte> file;       // in it: a file with Pattern(kFileSize)
};
inline constexpr uint32_t kFileSize = 65536;

// What a connection is asked for with.
struct Terms {
  std::optional<std::vector<std::byte>> private_data = {};  // none: of RFC 8797, 4096 bytes both ways, R as below
  bool remote_invalidation = false;                         // the R flag
  uint32_t receives = 64;
  uint32_t receive_size = 8192;  // more than is said, so that a Send that is too large still comes
};

class Bench {
 public:
  // All must outlive the Bench. `log`: nullptr: nobody listens.
  Bench(endpoint::Transport& transport, const ProbeOptions& options, const Target& target, endpoint::EventLog* log);
  const ProbeOptions& options() const { return options_; }
  const Target& target() const { return target_; }
  const endpoint::Transport& transport() const { return transport_; }

  // Lives until the end of the Bench. Ends the probe when the server refuses.
  Link& Connect(const Terms& terms = {});
  bool connected() const { return !links_.empty(); }
  // nullptr: the server refuses.
  Link* TryConnect(const Terms& terms = {});
  // The connection ends without a word.
  void Vanish(Link& link);

  // Calls with a new xid and AUTH_SYS.
  Call Make(uint32_t program, uint32_t version, uint32_t procedure, Bytes arguments = {});
  Call Null() { return Make(target_.program, target_.version, 0); }
  // A Call whose Reply has more than `size` bytes, `size` of them Pattern(size) at the end (a multiple of four, at most
  // kFileSize). Skips the probe when the server has none that is known.
  Call Long(Link& link, uint32_t size);
  bool has_long() const { return target_.echo || !target_.file.empty(); }
  // Ends the probe when `reply` does not end with that.
  static void ExpectLong(Bytes reply, uint32_t size);
  // A Call of Long() for kLong bytes, answered.
  void AskLong(Link& link, const Call& call) { ExpectLong(link.RpcReply(call, link.Ask(call)), kLong); }

  // "SUCCESS", "PROG_UNAVAIL", ... of the RPC Reply that `answer` must be.
  static std::string Status(Link& link, const Call& call, const Message& answer);
  static void ExpectStatus(Link& link, const Call& call, const Message& answer, std::string_view status);
  // Any RPC Reply, and SUCCESS when the program is known.
  void ExpectNull(Link& link, const Call& call, const Message& answer) const;
  void AskNull(Link& link) { AskNull(link, Null()); }
  void AskNull(Link& link, const Call& call) { ExpectNull(link, call, link.Ask(call)); }
  // A NULL with Write chunks, which come back unused.
  void AskUnused(Link& link, const Call& call);
  // Whether the answer to a NULL with a Write chunk is a Send with Invalidate.
  bool Invalidates(Link& link);
  // A Send with Invalidate comes only where `may_invalidate`, and no Send of more than `threshold` bytes, for a long
  // Reply, either, where one is known.
  void ExpectTerms(Link& link, bool may_invalidate, uint32_t threshold);
  // Whether ERR_CHUNK answers a Call with a Write chunk or Reply chunk that has no segments. It is advice: the field is
  // not of one mind about them.
  bool RefusedEmpty(const Call& call, const Message& answer);
  // Whether the server discards `message` silently: the NULL behind it is the only Call that is answered.
  // False: the connection ends. `what`: in words. Ends the probe when another answer comes, or none.
  bool Discards(Link& link, Bytes message, std::string_view what);
  // The end of the connection ends the probe, too.
  void ExpectDiscarded(Link& link, Bytes message, std::string_view what);
  // After what was refused: a NULL is answered; when the connection ends instead, that is advice.
  void ExpectMore(Link& link);
  // An RDMA_ERROR, with xid and version of the Call (RFC 8166 section 4.5).
  static void ExpectError(const Call& call, const Message& answer, rpcrdma::ErrorCode code);

  // Which of several cases comes next: Outcome::during, when the probe fails.
  void Case(std::string text) { case_ = std::move(text); }
  const std::string& current_case() const { return case_; }
  // What is allowed and not as it should be.
  void Advise(std::string text) { advice_.push_back(std::move(text)); }
  std::vector<std::string>& advice() { return advice_; }
  // At the end: of all connections.
  void Settle();
  void Disconnect();

 private:
  Result<Link*> Dial(const Terms& terms);

  endpoint::Transport& transport_;
  const ProbeOptions& options_;
  const Target& target_;
  endpoint::EventLog* log_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::string> advice_;
  std::string case_;
};

}  // namespace stag::probe
