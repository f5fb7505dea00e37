// SPDX-License-Identifier: GPL-2.0-or-later
//
// Call and reply headers of arbitrary bytes. The first byte says how many bytes beyond the input the wire had. A header
// that decodes must encode to the bytes it came from, but for the padding of its opaques, which XDR wants zero.
#include <cstdint>

#include "protocol/rpc/message.h"
#include "protocol/rpc/rpcbind.h"
#include "protocol/rpc/rpcsec_gss.h"

namespace {

// Decoding what was encoded gives the same length, and encoding that gives the same bytes.
template <typename Header, typename Decode>
void CheckRoundTrip(const Header& header, Decode decode) {
  std::vector<std::byte> once, twice;
  stag::rpc::Encode(header, once);
  if (once.size() != header.length) __builtin_trap();
  const Header again = decode(once, once.size());
  if (again.status != stag::ParseStatus::kOk || again.length != header.length) __builtin_trap();
  stag::rpc::Encode(again, twice);
  if (once != twice) __builtin_trap();
}

// The same for what RPCSEC_GSS puts into messages.
template <typename Part>
void CheckGssRoundTrip(const Part& part, stag::Bytes from, Part (*decode)(stag::Bytes)) {
  if (part.status != stag::ParseStatus::kOk) return;
  std::vector<std::byte> once, twice;
  stag::rpc::Encode(part, once);
  if (once.size() != from.size()) __builtin_trap();
  const Part again = decode(once);
  if (again.status != stag::ParseStatus::kOk) __builtin_trap();
  stag::rpc::Encode(again, twice);
  if (once != twice) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stag;
  if (size == 0) return 0;
  const uint64_t beyond = data[0];
  const Bytes bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);

  const rpc::CallHeader call = rpc::DecodeCall(bytes, bytes.size() + beyond);
  if (call.status == ParseStatus::kOk) CheckRoundTrip(call, rpc::DecodeCall);
  rpc::DecodeAuthSys(call.credential.body);
  rpc::ProgramName(call.program, call.version);
  rpc::ProcedureName(call.program, call.version, call.procedure);

  const rpc::ReplyHeader reply = rpc::DecodeReply(bytes, bytes.size() + beyond);
  if (reply.status == ParseStatus::kOk) CheckRoundTrip(reply, rpc::DecodeReply);
  if (call.status == ParseStatus::kOk && reply.status == ParseStatus::kOk) __builtin_trap();

  CheckGssRoundTrip(rpc::DecodeGssInitResults(bytes), bytes, rpc::DecodeGssInitResults);
  CheckGssRoundTrip(rpc::DecodeGssIntegrity(bytes), bytes, rpc::DecodeGssIntegrity);

  const auto inside = [&](Bytes part) {
    if (!part.empty() && (part.data() < bytes.data() || part.data() + part.size() > bytes.data() + bytes.size()))
      __builtin_trap();
  };
  inside(rpc::DecodeGssCredential(bytes).handle);
  inside(rpc::DecodeGssToken(bytes).value_or(Bytes{}));
  const auto check = [&](Bytes netid, Bytes address) { inside(netid), inside(address); };
  rpc::VisitRpcbindCall(call, bytes, bytes.size() + beyond, check);
  for (const uint32_t procedure : {rpc::kRpcbGetaddr, rpc::kRpcbDump, rpc::kRpcbGetaddrlist})
    rpc::VisitRpcbindReply(procedure, reply, bytes, bytes.size() + beyond, check);
  return 0;
}
