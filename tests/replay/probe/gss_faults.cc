// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with RPCSEC_GSS.
#include <array>

#include "protocol/rpc/message.h"
#include "protocol/rpc/rpcsec_gss.h"
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

constexpr uint32_t kBadCredential = 1, kRejectedCredential = 2;  // auth_stat
constexpr size_t kAuthStatAt = 16;                               // in a Reply that is denied

// The credential of an RPC Call that came inline.
rpc::GssCredential CredentialOf(const Seen& call) {
  const rpc::CallHeader header = rpc::DecodeCall(call.rest, call.rest.size());
  if (header.status != ParseStatus::kOk || header.credential.flavor != rpc::kRpcsecGss) return {};
  return rpc::DecodeGssCredential(header.credential.body);
}
bool IsGss(const Seen& call, rpc::GssProc proc) {
  const rpc::GssCredential credential = CredentialOf(call);
  return credential.status == ParseStatus::kOk && credential.proc == proc;
}
bool IsData(const Seen& call, rpc::GssService service) {
  return IsGss(call, rpc::kGssData) && CredentialOf(call).service == service;
}
// Whether such a Call came on this connection.
bool Came(const Scene& scene, rpc::GssProc proc) {
  return std::ranges::any_of(scene.calls, [proc](const auto& call) { return IsGss(call.second, proc); });
}
// The largest sequence number of the Calls on this connection that are not `call`, nor beyond MAXSEQ; 0: there is none.
uint32_t Newest(const Scene& scene, const Seen& call) {
  uint32_t newest = 0;
  for (const auto& [xid, other] : scene.calls)
    if (xid != call.header.xid && IsGss(other, rpc::kGssData) && CredentialOf(other).sequence <= rpc::kGssMaxSequence)
      newest = std::max(newest, CredentialOf(other).sequence);
  return newest;
}

bool HasSequence(const Seen& call) {
  return IsGss(call, rpc::kGssData) && CredentialOf(call).sequence <= rpc::kGssMaxSequence;
}
// Whether another Call of the context had its sequence number, on this connection.
bool SequenceCame(const Seen& call, const Scene& scene) {
  return HasSequence(call) && std::ranges::any_of(scene.calls, [&](const auto& other) {
           return other.first != call.header.xid && IsGss(other.second, rpc::kGssData) &&
                  CredentialOf(other.second).sequence == CredentialOf(call).sequence &&
                  std::ranges::equal(CredentialOf(other.second).handle, CredentialOf(call).handle);
         });
}

// An RPC Reply: AUTH_ERROR.
bool Deny(const Seen& call, Scene& scene, uint32_t auth_stat) {
  SendWords(scene, call, std::array{call.header.xid, 1u, 1u, 1u, auth_stat});
  return false;
}

// A denied Reply to Calls that are `like` says `instead`.
template <typename Like>
Fault Denies(std::string_view probe, std::string_view words, uint32_t auth_stat, uint32_t instead, Like like) {
  return {.probe = probe, .words = words, .send = [=](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
            if (message.Word(8) == rpc::kDenied && message.Word(kAuthStatAt) == auth_stat && like(call, scene))
              StoreBe32(message.rest.data() + kAuthStatAt, instead);
            return true;
          }};
}

// Write chunks of Replies to Calls that are `like` come back as if they were used.
template <typename Like>
Fault UsesWriteChunk(std::string_view probe, std::string_view words, Like like) {
  return {.probe = probe, .words = words, .send = [like](Seen& message, const Seen& call, Invalidate&, Scene&) {
            if (like(call) && !message.header.write_chunks.empty())
              message.header.segments[message.header.write_chunks[0].first].length = 8;
            return true;
          }};
}

}  // namespace

std::vector<Fault> GssFaults() {
  std::vector<Fault> faults;
  faults.push_back(On(
      "gss.establish", "expected an RPC Reply (SUCCESS); came an RPC Reply (AUTH_ERROR 1)",
      [](const Seen& m) { return IsGss(m, rpc::kGssInit) && CredentialOf(m).service > rpc::kGssPrivacy; },
      [](Seen& message, Scene& scene) { return Deny(message, scene, kBadCredential); }));
  faults.push_back(UsesWriteChunk("gss.control-write-chunk",
                                  "expected an unused Write chunk, for a verifier is not reduced; came one with data",
                                  [](const Seen& call) { return IsGss(call, rpc::kGssDestroy); }));
  faults.push_back(On(
      "gss.another-connection", "expected an RPC Reply (SUCCESS); came an RPC Reply (AUTH_ERROR 13)",
      [](const Seen& m, const Scene& scene) { return IsGss(m, rpc::kGssData) && !Came(scene, rpc::kGssInit); },
      [](Seen& message, Scene& scene) { return Deny(message, scene, rpc::kGssCredProblem); }));
  // The verifier of each Reply is that of the one before.
  faults.push_back({.probe = "gss.verifier",
                    .words = "expected a Reply whose checksums are right; came a verifier that is not the checksum of",
                    .send =
                        [last = std::make_shared<Buffer>()](Seen& message, const Seen& call, Invalidate&, Scene&) {
                          const rpc::ReplyHeader reply = rpc::DecodeReply(message.rest, message.rest.size());
                          if (!IsGss(call, rpc::kGssData) || !reply.success()) return true;
                          const auto at = reply.verifier.body.data() - message.rest.data();
                          Buffer own(reply.verifier.body.begin(), reply.verifier.body.end());
                          if (last->size() == own.size()) std::ranges::copy(*last, message.rest.begin() + at);
                          *last = std::move(own);
                          return true;
                        },
                    .alone = true});
  faults.push_back({.probe = "gss.none-chunks",
                    .words = "the bytes of the file as they are; came another byte at offset 0",
                    .write = [](Bytes from, uint32_t, uint64_t, Scene&) { return from.size() != 3001; }});
  faults.push_back({.probe = "gss.integrity-short",
                    .words = "came results whose checksum is wrong",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene&) {
                      if (IsData(call, rpc::kGssIntegrity) && message.rest.size() > 512)
                        message.rest[message.rest.size() / 2] ^= std::byte{1};
                      return true;
                    }});
  faults.push_back(On(
      "gss.integrity-long", kRefused,
      [](const Seen& m) {
        return IsData(m, rpc::kGssIntegrity) && m.header.write_chunks.empty() && ReplyLike(m.header, {2048, 4976});
      },
      kRefuse));
  constexpr std::string_view kWrapped =
      "expected an unused Write chunk, for what is wrapped is not reduced; came one with data";
  faults.push_back(UsesWriteChunk("gss.integrity-write-chunk", kWrapped,
                                  [](const Seen& call) { return IsData(call, rpc::kGssIntegrity); }));
  faults.push_back(UsesWriteChunk("gss.privacy-write-chunk", kWrapped,
                                  [](const Seen& call) { return IsData(call, rpc::kGssPrivacy); }));
  faults.push_back(On(
      "gss.long-call", kRefused, [](const Seen& m) { return m.header.proc == rpcrdma::kNomsg && m.header.reply_chunk; },
      kRefuse));
  // Which of the Calls that get RPCSEC_GSS_CREDPROBLEM it is.
  const auto unknown = [](const Seen& call, const Scene&) {
    const Bytes handle = CredentialOf(call).handle;
    return !handle.empty() && handle[0] == std::byte{0xee};
  };
  const auto destroyed = [](const Seen&, const Scene& scene) { return Came(scene, rpc::kGssDestroy); };
  constexpr std::string_view kOther = "expected an RPC Reply (AUTH_ERROR 13); came an RPC Reply (AUTH_ERROR 2)";
  faults.push_back(
      Denies("gss.wrong-verifier", kOther, rpc::kGssCredProblem, kRejectedCredential,
             [=](const Seen& call, const Scene& scene) { return !unknown(call, scene) && !destroyed(call, scene); }));
  faults.push_back(Denies("gss.unknown-handle", kOther, rpc::kGssCredProblem, kRejectedCredential, unknown));
  faults.push_back(Denies("gss.destroyed", kOther, rpc::kGssCredProblem, kRejectedCredential, destroyed));
  faults.push_back({.probe = "gss.wrong-arguments",
                    .words = "expected an RPC Reply (GARBAGE_ARGS); came an RPC Reply (SUCCESS)",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
                      const rpc::ReplyHeader reply = rpc::DecodeReply(message.rest, message.rest.size());
                      if (!reply.accepted(rpc::kGarbageArgs)) return true;
                      scene.SendSuccess(call);
                      return false;
                    }});
  faults.push_back(
      On("gss.sequence-again", "a Call whose sequence number was used before is discarded", SequenceCame, Succeed));
  faults.push_back(On(
      "gss.sequence-below", "a Call whose sequence number is below the window is discarded",
      [](const Seen& m, const Scene& scene) {
        return HasSequence(m) && CredentialOf(m).sequence + 100 < Newest(scene, m);
      },
      Succeed));
  faults.push_back(On(
      "gss.sequence-order", "expected an RPC Reply; came nothing",
      [](const Seen& m, const Scene& scene) {
        const uint32_t newest = Newest(scene, m);
        return HasSequence(m) && CredentialOf(m).sequence + 2 < newest && newest < 100;
      },
      [](const Seen&, Scene&) { return false; }));
  faults.push_back(Denies("gss.sequence-max",
                          "expected an RPC Reply (AUTH_ERROR 14); came an RPC Reply (AUTH_ERROR 13)",
                          rpc::kGssCtxProblem, rpc::kGssCredProblem, [](const Seen&, const Scene&) { return true; }));
  return faults;
}

Fault GssHangsUp() { return On("gss.sequence-again", "", SequenceCame, HangUp); }

}  // namespace stag::probe::test
