// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/gss/initiator.h"

#include <fmt/format.h>

#include "protocol/base/writer.h"

namespace stag::gss {
namespace {

// What a verifier's checksum is of: the header up to the credential (section 5.3.1).
rpc::CallHeader HeaderOf(const Target& target, Bytes credential) {
  rpc::CallHeader header;
  header.xid = target.xid;
  header.msg_type = rpc::kCall;
  header.rpc_version = 2;
  header.program = target.program;
  header.version = target.version;
  header.procedure = target.procedure;
  header.credential = {rpc::kRpcsecGss, credential};
  return header;
}

}  // namespace

Result<Buffer> Initiator::Create(const Target& target, const Protection& undefined) {
  if (!begun_) {
    auto first = context_->Step({});
    if (!first) return first;
    token_ = std::move(*first);
  }
  Buffer credential, call;
  rpc::EncodeGssCredential(begun_ ? rpc::kGssContinueInit : rpc::kGssInit, undefined.sequence, undefined.service,
                           handle_, credential);
  begun_ = true;
  rpc::Encode(HeaderOf(target, credential), call);  // the verifier is empty
  Writer(call).Opaque(token_);
  return call;
}

Result<void> Initiator::Created(Bytes reply) {
  const rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (!header.success()) return Fail("an RPC Reply that does not succeed");
  const rpc::GssInitResults results = rpc::DecodeGssInitResults(reply.subspan(header.length));
  if (results.status != ParseStatus::kOk) return Fail("results of RPCSEC_GSS_INIT that cannot be read");
  refused_ = results.major != rpc::kGssComplete && results.major != rpc::kGssContinueNeeded;
  if (refused_) return Fail(fmt::format("GSS-API status 0x{:08x}, minor status {}", results.major, results.minor));
  handle_.assign(results.handle.begin(), results.handle.end());
  if (!context_->established()) {
    auto next = context_->Step(results.token);
    if (!next) return tl::unexpected(next.error());
    token_ = std::move(*next);
  }
  if (results.major == rpc::kGssContinueNeeded) return {};
  if (!context_->established()) return Fail("GSS_S_COMPLETE, though a token is still to come");
  window_ = results.window;
  if (window_ == 0) return Fail("a window of no sequence numbers");
  if (auto verified = VerifyWord(header.verifier, window_); !verified) return verified;
  established_ = true;
  return {};
}

Result<Buffer> Initiator::Header(const Target& target, uint32_t proc, const Protection& protection) {
  Buffer credential, call;
  rpc::EncodeGssCredential(proc, protection.sequence, protection.service, handle_, credential);
  rpc::CallHeader header = HeaderOf(target, credential);
  rpc::Encode(header, call);
  constexpr size_t kEmptyVerifier = 8;
  const auto mic = context_->Mic(Bytes(call).first(call.size() - kEmptyVerifier));
  if (!mic) return tl::unexpected(mic.error());
  header.verifier = {rpc::kRpcsecGss, *mic};
  call.clear();
  rpc::Encode(header, call);
  return call;
}

Result<Buffer> Initiator::Protect(uint32_t service, uint32_t inner, Bytes arguments) {
  if (service == rpc::kGssNone) return Buffer(arguments.begin(), arguments.end());
  Buffer data, body;
  Writer(data).U32(inner);
  data.insert(data.end(), arguments.begin(), arguments.end());
  const auto made = service == rpc::kGssIntegrity ? context_->Mic(data) : context_->Wrap(data);
  if (!made) return tl::unexpected(made.error());
  if (service == rpc::kGssIntegrity)
    rpc::Encode(rpc::GssIntegrity{ParseStatus::kOk, data, *made}, body);
  else
    Writer(body).Opaque(*made);
  return body;
}

Result<Buffer> Initiator::Call(const Target& target, const Protection& protection, Bytes arguments) {
  auto call = Header(target, rpc::kGssData, protection);
  if (!call) return call;
  const auto body = Protect(protection.service, protection.sequence, arguments);
  if (!body) return tl::unexpected(body.error());
  call->insert(call->end(), body->begin(), body->end());
  return call;
}

Result<Buffer> Initiator::Destroy(const Target& target, const Protection& protection) {
  return Header(target, rpc::kGssDestroy, protection);
}

Result<Buffer> Initiator::Results(Bytes reply, const Protection& protection) {
  const rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (!header.success()) return Fail("an RPC Reply that does not succeed");
  if (auto verified = VerifyWord(header.verifier, protection.sequence); !verified)
    return tl::unexpected(verified.error());
  const Bytes body = reply.subspan(header.length);
  if (protection.service == rpc::kGssNone) return Buffer(body.begin(), body.end());
  Buffer data;
  if (protection.service == rpc::kGssIntegrity) {
    const rpc::GssIntegrity integrity = rpc::DecodeGssIntegrity(body);
    if (integrity.status != ParseStatus::kOk) return Fail("results that are not those of rpc_gss_svc_integrity");
    if (!context_->Verify(integrity.data, integrity.checksum)) return Fail("results whose checksum is wrong");
    data.assign(integrity.data.begin(), integrity.data.end());
  } else {
    const auto wrapped = rpc::DecodeGssToken(body);
    if (!wrapped) return Fail("results that are not those of rpc_gss_svc_privacy");
    auto plain = context_->Unwrap(*wrapped);
    if (!plain || plain->size() < rpc::kGssDataHeader) return Fail("results that cannot be decrypted");
    data = std::move(*plain);
  }
  if (const uint32_t inner = LoadBe32(data.data()); inner != protection.sequence)
    return Fail(fmt::format("results with sequence number {}, of a Call with {}", inner, protection.sequence));
  data.erase(data.begin(), data.begin() + rpc::kGssDataHeader);
  return data;
}

Result<void> Initiator::VerifyWord(const rpc::Auth& verifier, uint32_t word) {
  if (verifier.flavor != rpc::kRpcsecGss) return Fail(fmt::format("a verifier of flavor {}", verifier.flavor));
  if (!context_->Verify(rpc::GssWord(word), verifier.body))
    return Fail(fmt::format("a verifier that is not the checksum of {}", word));
  return {};
}

}  // namespace stag::gss
