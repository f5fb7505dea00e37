// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "protocol/nfs/walk.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/rpcrdma/echo_program.h"
#include "replay/rpcrdma/settings.h"

namespace stag::probe {
namespace {

constexpr uint32_t kThreshold = 4096;  // that the probes offer, both ways
constexpr uint32_t kCredits = 32;      // requested

uint32_t NewXid() {
  static uint32_t next = std::random_device{}();
  return next++;
}

std::string ExpectedOf(std::string_view discarded) {
  return fmt::format("{} is discarded, and the Call behind it is answered", discarded);
}

}  // namespace

Bench::Bench(endpoint::Transport& transport, const ProbeOptions& options, const Target& target, endpoint::EventLog* log)
    : transport_(transport), options_(options), target_(target), log_(log) {}

Link& Bench::Connect(const Terms& terms) {
  Result<Link*> link = Dial(terms);
  if (!link) Failed("a connection", link.error().message);
  return **link;
}

Link* Bench::TryConnect(const Terms& terms) { return Dial(terms).value_or(nullptr); }

Result<Link*> Bench::Dial(const Terms& terms) {
  endpoint::EndpointOptions end;
  end.receives = terms.receives;
  end.receive_size = terms.receive_size;
  end.private_data =
      terms.private_data.value_or(rpcrdma::EncodeSettings(kThreshold, kThreshold, terms.remote_invalidation));
  end.crc = options_.crc;
  end.events = log_;
  end.connect_timeout = options_.patience.answer;
  end.cancel = options_.patience.cancel;
  auto connected = transport_.Connect(options_.to, end);
  if (!connected && options_.patience.stopped && options_.patience.stopped()) Inconclusive("interrupted");
  if (!connected) return tl::unexpected(connected.error());
  return links_.emplace_back(std::make_unique<Link>(std::move(*connected), options_.patience, end.private_data)).get();
}

void Bench::Vanish(Link& link) {
  std::erase_if(links_, [&link](const auto& each) { return each.get() == &link; });
}

Call Bench::Make(uint32_t program, uint32_t version, uint32_t procedure, Bytes arguments) {
  Call call;
  call.header.vers = rpcrdma::kVersion1;
  call.header.credit = kCredits;
  call.header.proc = rpcrdma::kMsg;
  nfs_client::RpcCalls(program, version, options_.credential).Begin(procedure, call.rpc);
  SetXid(call, NewXid());
  call.rpc.insert(call.rpc.end(), arguments.begin(), arguments.end());
  return call;
}

Call Bench::Long(Link& link, uint32_t size) {
  std::vector<std::byte> arguments;
  Writer out(arguments);
  if (target_.echo) {
    out.Opaque(Pattern(size));
    Call call = Make(rpcrdma::kEchoProgram, rpcrdma::kEchoVersion, rpcrdma::kEchoProcedure, arguments);
    link.MakeLong(call);
    return call;
  }
  if (target_.file.empty()) Skipped("a Call with a long Reply is needed: give --export, or stag serve --mode echo");
  nfs_client::nfs3::PutRead(out, target_.file, 0, size);
  return Make(nfs::kNfsProgram, 3, nfs_client::nfs3::kRead, arguments);
}

void Bench::ExpectLong(Bytes reply, uint32_t size) {
  const std::string status = nfs_client::TakeResults(reply).failure;
  if (!status.empty()) Failed("an RPC Reply (SUCCESS)", fmt::format("an RPC Reply ({})", status));
  if (reply.size() < size || !std::ranges::equal(reply.last(size), Pattern(size)))
    Failed(fmt::format("a Reply that ends with the {} bytes that were asked for", size),
           fmt::format("a Reply of {} bytes that does not", reply.size()));
}

std::string Bench::Status(Link& link, const Call& call, const Message& answer) {
  const std::vector<std::byte> reply = link.RpcReply(call, answer);
  std::string failure = nfs_client::TakeResults(reply).failure;
  return failure.empty() ? "SUCCESS" : failure;
}

void Bench::ExpectStatus(Link& link, const Call& call, const Message& answer, std::string_view status) {
  const std::string came = Status(link, call, answer);
  if (came != status) Failed(fmt::format("an RPC Reply ({})", status), fmt::format("an RPC Reply ({})", came));
}

void Bench::ExpectNull(Link& link, const Call& call, const Message& answer) const {
  if (target_.known)
    ExpectStatus(link, call, answer, "SUCCESS");
  else
    (void)Status(link, call, answer);
}

void Bench::AskUnused(Link& link, const Call& call) {
  const Message answer = link.Ask(call);
  if (answer.header.proc == rpcrdma::kError && call.header.write_chunks.size() > 1)
    Inconclusive(fmt::format("the server does not take more than one Write chunk ({}), which a binding may say",
                             Describe(answer)));
  if (std::ranges::any_of(call.header.write_chunks, [](const auto& chunk) { return chunk.count == 0; }) &&
      RefusedEmpty(call, answer))
    return;
  ExpectNull(link, call, answer);
  for (const rpcrdma::Chunk& chunk : answer.header.write_chunks)
    for (const rpcrdma::Segment& segment : answer.header.Of(chunk))
      if (segment.length > 0)
        Failed("an unused Write chunk: all lengths zero", fmt::format("a segment of {} bytes", segment.length));
}

bool Bench::Invalidates(Link& link) {
  Call call = Null();
  AddWrite(call, link.Offer({64}, endpoint::Access::kRemoteWrite));
  const Message answer = link.Ask(call);
  ExpectNull(link, call, answer);
  return answer.invalidated.has_value();
}

void Bench::ExpectTerms(Link& link, bool may_invalidate, uint32_t threshold) {
  constexpr uint32_t kMiddling = 1500;  // fits 4096 bytes, and not 1024
  if (Invalidates(link) && !may_invalidate) Failed("a plain Send, for the R flag is not set", "a Send with Invalidate");
  if (!has_long()) return;
  Call call = Long(link, kMiddling);
  SetReply(call, link.Offer({4096}, endpoint::Access::kRemoteWrite));
  const Message reply = link.Ask(call);
  if (reply.bytes.size() > threshold)
    Failed(fmt::format("at most {} bytes in a Send", threshold), fmt::format("{} bytes", reply.bytes.size()));
  ExpectLong(link.RpcReply(call, reply), kMiddling);
}

bool Bench::RefusedEmpty(const Call& call, const Message& answer) {
  if (answer.header.proc != rpcrdma::kError) return false;
  ExpectError(call, answer, rpcrdma::kErrChunk);
  Advise(
      "a chunk without segments gets ERR_CHUNK: RFC 8166 section 3.4.6 defines the empty Write chunk, and by section "
      "4.3.2 it comes back; developers of the Linux kernel read the RFC as giving such chunks no meaning");
  return true;
}

bool Bench::Discards(Link& link, Bytes message, std::string_view what) {
  link.Send(message);
  const Call null = Null();
  if (link.open()) (void)link.TrySend(null.Encoded());
  const auto answer = link.Next(options_.patience.answer);
  if (!answer && !link.open()) return false;
  const std::string expected = ExpectedOf(what);
  if (!answer) Failed(expected, "nothing");
  if (answer->header.words < 1 || answer->header.xid != null.header.xid) Failed(expected, Describe(*answer));
  ExpectNull(link, null, *answer);
  link.ExpectQuiet(expected);
  return true;
}

void Bench::ExpectDiscarded(Link& link, Bytes message, std::string_view what) {
  if (!Discards(link, message, what)) Failed(ExpectedOf(what), link.trouble());
}

void Bench::ExpectMore(Link& link) {
  const Call call = Null();
  const bool sent = link.open() && link.TrySend(call.Encoded());
  const auto answer = sent ? link.Next(options_.patience.answer) : std::nullopt;
  if (answer) return ExpectNull(link, call, *answer);
  if (link.open()) Failed("an RPC Reply to the NULL behind it", "nothing");
  Advise(
      fmt::format("{}{}the connection ends with what was refused; it could go on", case_, case_.empty() ? "" : ": "));
}

void Bench::ExpectError(const Call& call, const Message& answer, rpcrdma::ErrorCode code) {
  const rpcrdma::Header& header = answer.header;
  const std::string expected = fmt::format("RDMA_ERROR {}", rpcrdma::ErrorName(code));
  if (header.words < 4 || header.proc != rpcrdma::kError || header.err != code) Failed(expected, Describe(answer));
  if (header.vers != call.header.vers)
    Failed(fmt::format("{} with the Call's version, {}", expected, call.header.vers),
           fmt::format("version {}", header.vers));
  if (code == rpcrdma::kErrVers && !(header.error_range && header.vers_low <= 1 && header.vers_high >= 1))
    Failed("a range of versions with version 1 in it", Describe(answer));
}

void Bench::Settle() {
  for (const auto& link : links_) link->Settle();
}

void Bench::Disconnect() {
  for (const auto& link : links_) link->Disconnect();
}

}  // namespace stag::probe
