// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/caller.h"

#include <algorithm>

#include "replay/nfs_client/rpc_calls.h"

namespace stag::nfs_client {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice{100};     // between looks at `stop`
constexpr milliseconds kGoodbye{2000};  // for an end
constexpr milliseconds kHurry{400};     // for an answer or an end, once all is to stop

}  // namespace

std::string AnswerText(const rpcrdma::Answer& answer) {
  switch (answer.kind) {
    case rpcrdma::AnswerKind::kReply: return "a Reply";
    case rpcrdma::AnswerKind::kErrVers: return "ERR_VERS";
    case rpcrdma::AnswerKind::kErrChunk: return "ERR_CHUNK";
    case rpcrdma::AnswerKind::kBad: return std::string(answer.text);
    case rpcrdma::AnswerKind::kLost: break;
  }
  return "lost with the connection";
}

Caller::Caller(endpoint::Transport& transport, const CallerOptions& options, rpcrdma::AnswerSink& answers)
    : transport_(transport), options_(options), answers_(answers) {}

Result<void> Caller::Connect() {
  endpoint::EndpointOptions endpoint;
  rpcrdma::Requester::Prepare(transport_, options_.requester, endpoint);
  endpoint.events = options_.events;
  endpoint.crc = options_.crc;
  endpoint.connect_timeout = std::min(endpoint.connect_timeout, options_.timeout);
  endpoint.cancel = options_.cancel;
  auto connected = transport_.Connect(options_.to, endpoint);
  if (!connected) return tl::unexpected(connected.error());
  requester_ = std::make_unique<rpcrdma::Requester>(std::move(*connected), options_.requester, *this);
  return {};
}

void Caller::AwaitCredit(bool although_stopped) {
  const auto deadline = Clock::now() + options_.timeout;
  while (!requester_->CanSend() && requester_->open() && !Stopped(although_stopped) && Clock::now() < deadline)
    requester_->Poll(kSlice);
}

Result<Bytes> Caller::Ask(const rpcrdma::CallSpec& call, bool although_stopped) {
  const auto stopped = [&] { return Stopped(although_stopped); };
  if (stopped()) return Fail("interrupted");
  asking_ = true;
  answered_ = false;
  failure_.clear();
  AwaitCredit(although_stopped);
  auto deadline = Clock::now() + options_.timeout;
  if (const auto sent = requester_->Send(call); !sent) {
    asking_ = false;
    const std::string why = trouble();
    return Fail(why.empty() ? sent.error().message : why);
  }
  // What is under way when all is to stop is awaited: the connection is needed for cleaning up.
  for (bool stopping = false; !answered_ && Clock::now() < deadline; requester_->Poll(kSlice)) {
    if (stopping || !stopped()) continue;
    stopping = true;
    deadline = std::min(deadline, Clock::now() + kHurry);
  }
  asking_ = false;
  if (!answered_) {
    requester_->endpoint().Disconnect();  // what is left is not to be taken for the answer to another Call
    return Fail(stopped() ? "interrupted" : "no answer in time");
  }
  if (!failure_.empty()) return Fail(failure_);
  RpcResults results = TakeResults(reply_);
  if (!results.failure.empty()) return Fail(std::move(results.failure));
  return results.bytes;
}

void Caller::OnAnswer(const rpcrdma::Answer& answer) {
  if (!asking_) return answers_.OnAnswer(answer);
  answered_ = true;
  reply_.assign(answer.message.begin(), answer.message.end());
  if (answer.kind == rpcrdma::AnswerKind::kReply) return;
  failure_ = AnswerText(answer);
  if (answer.kind == rpcrdma::AnswerKind::kLost && !trouble().empty()) failure_ = trouble();
}

void Caller::Disconnect() {
  if (!requester_) return;
  requester_->endpoint().Disconnect();
  const auto deadline = Clock::now() + (Stopped(false) ? kHurry : kGoodbye);
  while (requester_->open() && Clock::now() < deadline) requester_->Poll(kSlice);
  requester_->Poll(milliseconds{0});
}

std::string Caller::trouble() const {
  if (!requester_) return {};
  const endpoint::Endpoint& endpoint = requester_->endpoint();
  return endpoint.state() == endpoint::State::kOpen ? std::string{} : endpoint.trouble().text;
}

}  // namespace stag::nfs_client
