// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/play_link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::replay {

namespace {

using Kind = AnswerStatus::Kind;
using std::chrono::milliseconds;

constexpr uint32_t kMaxCredits = 1024, kMinSize = 1024, kMaxSize = 262144;  // RFC 8797 section 4
constexpr uint32_t kTries = 3;  // of a Call whose connection is lost each time
constexpr milliseconds kFirstPause{100}, kLongestPause{2000};
constexpr milliseconds kFirstPutOff{100}, kLongestPutOff{2000};
constexpr milliseconds kCallbackPatience{3000}, kCallbackSettles{100};

uint32_t Size(std::optional<uint32_t> wanted, uint32_t recorded) {
  return std::clamp(wanted.value_or(recorded), kMinSize, kMaxSize);
}

}  // namespace

rpcrdma::RequesterOptions LinkOptions(const recording::RecordedConnection& recorded, const PlayOptions& options) {
  rpcrdma::RequesterOptions out;
  if (recorded.client_private_data) {
    const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(*recorded.client_private_data);
    const bool found = search.found == rpcrdma::PrivateDataSearch::Found::kData;
    out.send_private_data = found || options.send_size || options.receive_size;
    out.send_size = found ? search.data.send_bytes() : rpcrdma::kDefaultThreshold;
    out.receive_size = found ? search.data.receive_bytes() : rpcrdma::kDefaultThreshold;
    out.remote_invalidation = found && search.data.remote_invalidation();
  }
  out.send_size = Size(options.send_size, out.send_size);
  out.receive_size = Size(options.receive_size, out.receive_size);
  if (options.no_private_data) out.send_private_data = false;
  if (options.no_remote_invalidation) out.remote_invalidation = false;
  const uint32_t credits = recorded.max_requested > 0 ? recorded.max_requested : out.credits;
  out.credits = std::clamp(options.credits.value_or(credits), 1u, kMaxCredits);
  out.ignore_credits = options.ignore_credits;
  out.segment_size = options.segment_size;
  return out;
}

endpoint::EndpointOptions LinkEndpoint(const recording::RecordedConnection& recorded, const PlayOptions& options,
                                       rpcrdma::RequesterOptions& requester, const endpoint::Transport& transport) {
  endpoint::EndpointOptions out;
  out.events = options.events;
  out.crc = options.crc;
  out.cancel = options.stop;
  const bool invalidation = requester.remote_invalidation;
  rpcrdma::Requester::Prepare(transport, requester, out);
  // What is recorded beside RFC 8797's message goes along when nothing of it is overridden.
  const bool overridden = options.send_size || options.receive_size || options.no_private_data ||
                          options.no_remote_invalidation || requester.remote_invalidation != invalidation;
  if (recorded.client_private_data && recorded.client_private_data->size() <= transport.max_private_data() &&
      !overridden)
    out.private_data = *recorded.client_private_data;
  return out;
}

PlayClient::PlayClient(uint32_t n, ClientIdentity identity, const PlayOptions& options, PlayReport& r)
    : number(n), values(std::move(identity), options.values_memory / options.clients), report(r) {}

void PlayClient::ListenForCallbacks(const endpoint::HostPort& server) {
  if (std::exchange(listened_, true)) return;
  auto listener = CallbackListener::Listen(server, callbacks);
  if (!listener) {
    report.Trouble("the server cannot call back: " + listener.error().message);
    return;
  }
  listener_ = std::move(*listener);
  values.SetCallback(listener_->netid(), listener_->address());
}

void PlayClient::HoldForCallback(PlayClock::time_point now) {
  held_ = listener_ != nullptr;
  held_until_ = now + kCallbackPatience;
}

bool PlayClient::PollCallbacks(PlayClock::time_point now) {
  if (!listener_) return false;
  listener_->Poll();
  const uint64_t calls = listener_->calls();
  report.backward_calls += calls - called_;
  // It has called: a moment for it to see the answer.
  if (held_ && calls != called_) held_until_ = std::min(held_until_, now + kCallbackSettles);
  called_ = calls;
  if (held_ && now >= held_until_) held_ = false;
  return held_;
}

void PlayClient::Done(const PlannedCall& call) {
  if (call.answer == kUnanswered) return;
  const uint64_t at = call.answer - prefix_;
  if (at >= answered_.size()) answered_.resize(at + 1);
  answered_[at] = true;
  for (; !answered_.empty() && answered_.front(); ++prefix_) answered_.pop_front();
}

ProcedureReport& PlayClient::Of(const PlannedCall& call) {
  if (!last_report_ || last_ != call.procedure) {
    last_ = call.procedure;
    last_report_ = &report.Of(call.procedure);
  }
  return *last_report_;
}

void PlayClient::Compare(const PlannedCall& call, const AnswerStatus& live, bool identical) {
  const AnswerStatus recorded = StatusOf(call.rpc);
  if (recorded.kind == Kind::kNone) return;
  ProcedureReport& procedure = Of(call);
  ++procedure.compared;
  if (live == recorded) {
    ++procedure.matched;
    procedure.identical += identical;
    return;
  }
  ++counts.errors;
  if (report.differences.size() < kDifferences) {
    report.differences.push_back({call.rpc.call_frame.number, call.rpc.xid, call.procedure, number, recorded, live});
  } else {
    ++report.more_differences;
  }
}

PlayLink::PlayLink(std::shared_ptr<const recording::RecordedConnection> recorded, endpoint::Transport& transport,
                   const PlayOptions& options, PlayClient& client)
    : recorded_(std::move(recorded)), transport_(transport), options_(options), client_(client) {}

const PlannedCall* PlayLink::next() const {
  if (!again_.empty()) return in_flight_[again_.front()].call.get();
  return queue_.empty() ? nullptr : queue_.front().get();
}

void PlayLink::Trouble(std::string text) { client_.report.Trouble(std::move(text)); }

// Ends a Call that was under way, or was to be again.
void PlayLink::Free(uint32_t place) {
  InFlight& entry = in_flight_[place];
  const PlannedCallPtr call = std::move(entry.call);
  entry.call = nullptr;
  free_.push_back(place);
  --waiting_;
  extra_ -= call->answer == kUnanswered;
  client_.Done(*call);
}

void PlayLink::Lose(uint32_t place) {
  const InFlight& entry = in_flight_[place];
  client_.values.Release(entry.rewritten.slot, false);
  if (entry.tries == 0) {
    Refuse(*entry.call);
  } else if (entry.resume_at != PlayClock::time_point{}) {
    Conclude(*entry.call, entry.said, false);
  } else {
    ++client_.Of(*entry.call).lost;
    client_.Compare(*entry.call, {Kind::kLost, 0}, false);
  }
  Free(place);
}

// Counts a Call that will not be sent.
void PlayLink::Refuse(const PlannedCall& call) {
  ++client_.Of(call).not_sent;
  client_.Compare(call, {Kind::kRefused, 0}, false);
  client_.Done(call);
}

bool PlayLink::Connect() {
  const auto now = PlayClock::now();
  if (now < not_before_) return false;
  rpcrdma::RequesterOptions options = LinkOptions(*recorded_, options_);
  auto endpoint = transport_.Connect(options_.to, LinkEndpoint(*recorded_, options_, options, transport_));
  if (endpoint) {
    requester_ = std::make_unique<rpcrdma::Requester>(std::move(*endpoint), options, *this);
    ++client_.report.connections;
    client_.report.reconnects += attempts_ > 0;
  } else {
    Trouble(endpoint.error().message);
    gone_ = attempts_ >= options_.reconnects;
  }
  not_before_ = PlayClock::now() + std::min(kLongestPause, kFirstPause * (1 << std::min(attempts_, 5u)));
  ++attempts_;
  return endpoint.has_value();
}

PlayLink::Sent PlayLink::SendNext() {
  if (!requester_ && !gone_ && !Connect() && !gone_) return Sent::kLater;
  if (gone_) {
    for (; !again_.empty(); again_.pop_front()) Lose(again_.front());
    for (; !queue_.empty(); queue_.pop_front()) Refuse(*queue_.front());
    return Sent::kGone;
  }
  const PlannedCall& call = *next();
  if (!requester_->CanSend())
    return requester_->open() ? Stall(call, stalled_, client_.report.credit_stalls) : Sent::kLater;
  if (!again_.empty()) {
    const uint32_t place = again_.front();
    InFlight& entry = in_flight_[place];
    const bool put_off = entry.resume_at != PlayClock::time_point{};
    if (put_off && !client_.values.Rewrite(call, entry.rewritten))
      return Stall(call, slotless_, client_.report.slot_stalls);
    again_.pop_front();
    entry.resume_at = {};
    client_.Of(call).resent += !put_off;
    return Transmit(call, place);
  }
  const uint32_t place = Place();
  InFlight& entry = in_flight_[place];
  if (!client_.values.Rewrite(call, entry.rewritten)) {
    free_.push_back(place);
    return Stall(call, slotless_, client_.report.slot_stalls);
  }
  entry.call = std::move(queue_.front());
  queue_.pop_front();
  entry.tries = entry.put_off = 0;
  entry.resume_at = {};
  ++waiting_;
  extra_ += call.answer == kUnanswered;
  return Transmit(call, place);
}

PlayLink::Sent PlayLink::Stall(const PlannedCall& call, uint64_t& counted, uint64_t& stalls) {
  stalls += counted != call.rpc.serial;
  counted = call.rpc.serial;
  if (stuck_since_ == PlayClock::time_point{}) stuck_since_ = PlayClock::now();
  return Sent::kLater;
}

uint32_t PlayLink::Place() {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(in_flight_.size()));
    in_flight_.emplace_back();
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  return place;
}

PlayLink::Sent PlayLink::Transmit(const PlannedCall& call, uint32_t place) {
  const recording::RecordedRpc& rpc = call.rpc;
  InFlight& entry = in_flight_[place];
  rpcrdma::CallSpec spec;
  spec.message = entry.rewritten.message;
  if (call.item) {
    spec.item_offset = entry.rewritten.item_offset;
    spec.item_length = call.item->length;
    spec.item = entry.rewritten.item;
    entry.lent = entry.call;
  }
  spec.position_zero = rpc.call_form == session::CallForm::kLong || rpc.call_form == session::CallForm::kLongChunked;
  write_chunks_.clear();
  for (const recording::RecordedChunk& chunk : rpc.write_chunks)
    write_chunks_.push_back(static_cast<uint32_t>(chunk.offered));
  spec.write_chunks = write_chunks_;
  if (rpc.reply_chunk) spec.reply_chunk = static_cast<uint32_t>(rpc.reply_chunk->offered);
  spec.cookie = place;
  const Result<uint32_t> sent = requester_->Send(spec);
  if (sent) {
    stuck_since_ = {};
    entry.deadline = PlayClock::now() + options_.timeout;
    client_.Of(call).sent += entry.tries++ == 0;
    const uint64_t bytes = spec.message.size() + RoundUp4(spec.item.size());
    client_.report.sent_bytes += bytes;
    client_.counts.bytes += bytes;
    client_.report.max_outstanding = std::max(client_.report.max_outstanding, requester_->outstanding());
    return Sent::kSent;
  }
  if (requester_->ending()) {
    again_.push_back(place);
    return Sent::kLater;
  }
  Trouble("frame " + std::to_string(rpc.call_frame.number) + " cannot be sent: " + sent.error().message);
  client_.values.Release(entry.rewritten.slot, false);
  Refuse(call);
  Free(place);
  return Sent::kGone;
}

void PlayLink::OnAnswer(const rpcrdma::Answer& answer) {
  const auto place = static_cast<uint32_t>(answer.cookie);
  InFlight& entry = in_flight_[place];
  stuck_since_ = {};
  entry.lent = nullptr;
  if (!entry.call) return free_.push_back(place);  // nobody waits for it any more
  if (answer.kind == rpcrdma::AnswerKind::kLost) {
    const bool again = attempts_ <= options_.reconnects && entry.tries < kTries && !closing_;
    return again ? again_.push_back(place) : Lose(place);
  }
  if (Take(place, answer)) Free(place);
}

// An NFSv4.0 server answers a second request with the same open_seqid or lock_seqid as it did the first (RFC 7530
// section 9.1.9), unless the owner is new to it, as all are while it is in its grace period.
bool PlayLink::MayComeAgain(const InFlight& entry, const AnswerStatus& status) const {
  if (!PutOff(status, entry.call->rpc) || closing_) return false;
  if (entry.put_off > 0 && PlayClock::now() - entry.put_off_since >= options_.put_off) return false;
  constexpr std::array<uint32_t, 6> kSequenced = {nfs::kOpClose, nfs::kOpLock,        nfs::kOpLocku,
                                                  nfs::kOpOpen,  nfs::kOpOpenConfirm, nfs::kOpOpenDowngrade};
  const uint32_t op = entry.call->procedure.op;
  const bool owner = entry.call->session.empty() && std::ranges::find(kSequenced, op) != kSequenced.end();
  return options_.put_off.count() > 0 && !(owner && status.code == nfs::kErrDelay);
}

bool PlayLink::Take(uint32_t place, const rpcrdma::Answer& answer) {
  InFlight& entry = in_flight_[place];
  const PlannedCall& call = *entry.call;
  uint64_t bytes = answer.message.size();
  for (const Bytes chunk : answer.chunks) bytes += chunk.size();
  client_.report.received_bytes += bytes;
  client_.counts.bytes += bytes;
  AnswerStatus status{Kind::kUnreadable, 0};
  bool identical = false, sequence_done = false;
  switch (answer.kind) {
    case rpcrdma::AnswerKind::kErrVers: status = {Kind::kRdmaError, rpcrdma::kErrVers}; break;
    case rpcrdma::AnswerKind::kErrChunk: status = {Kind::kRdmaError, rpcrdma::kErrChunk}; break;
    case rpcrdma::AnswerKind::kReply: {
      const Bytes recorded = call.rpc.call.bytes;
      const rpc::ReplyHeader header = rpc::DecodeReply(answer.message, answer.message.size());
      live_.OfReply(rpc::DecodeCall(recorded, recorded.size()), header, answer.message, answer.chunks);
      status = StatusOf(header, live_.walk());
      identical = IsRecordedReply(call.rpc, live_, answer.message, answer.chunks);
      sequence_done = live_.sequence_done();
      if (MayComeAgain(entry, status)) {
        client_.values.Release(std::exchange(entry.rewritten.slot, {}), sequence_done);
        const auto now = PlayClock::now();
        if (entry.put_off == 0) entry.put_off_since = now;
        entry.resume_at = now + std::min(kLongestPutOff, kFirstPutOff * (1 << std::min(entry.put_off, 5u)));
        entry.deadline = PlayClock::time_point::max();
        entry.said = status;
        ++entry.put_off;
        entry.tries = 1;
        ++client_.Of(call).put_off;
        paused_.push_back(place);
        return false;
      }
      client_.values.Learn(call, live_);
      if (call.procedure.op == nfs::kOpSetclientidConfirm && status == AnswerStatus{Kind::kStatus, 0})
        client_.HoldForCallback(PlayClock::now());
      break;
    }
    default: Trouble("no answer to the Call: " + std::string(answer.text)); break;
  }
  client_.values.Release(entry.rewritten.slot, sequence_done);
  client_.Of(call).latency.Record(answer.latency);
  Conclude(call, status, identical);
  return true;
}

void PlayLink::Conclude(const PlannedCall& call, const AnswerStatus& status, bool identical) {
  ++client_.Of(call).answered;
  ++client_.counts.answers;
  client_.Compare(call, status, identical);
}

void PlayLink::Resume(PlayClock::time_point now, bool stop) {
  std::erase_if(paused_, [&](uint32_t place) {
    InFlight& entry = in_flight_[place];
    if (stop) {
      Conclude(*entry.call, entry.said, false);
      Free(place);
    } else if (entry.resume_at <= now) {
      entry.deadline = now + options_.timeout;
      again_.push_back(place);
    }
    return stop || entry.resume_at <= now;
  });
}

void PlayLink::OnBackwardCall(Bytes message, std::vector<std::byte>& reply) {
  ++client_.report.backward_calls;
  client_.callbacks.Answer(message, reply);
}

size_t PlayLink::Poll() {
  if (!requester_) return 0;
  const size_t answers = requester_->Poll(std::chrono::microseconds{0});
  if (answers == 0 && !requester_->open()) Ended();
  return answers;
}

void PlayLink::Ended() {
  const auto& trouble = requester_->endpoint().trouble();
  const bool more = next() != nullptr;
  if (!closing_ && (more || requester_->endpoint().state() == endpoint::State::kBroken))
    Trouble(trouble.text.empty() ? "the server closed the connection" : trouble.text);
  requester_.reset();
  gone_ |= !closing_ && attempts_ > options_.reconnects;
}

void PlayLink::GiveUp(PlayClock::time_point now, bool all) {
  for (uint32_t place = 0; place < in_flight_.size(); ++place) {
    InFlight& entry = in_flight_[place];
    if (!entry.call) continue;
    if (entry.deadline > now && !(all && entry.call->answer == kUnanswered)) continue;
    const PlannedCallPtr call = std::exchange(entry.call, nullptr);
    ++client_.Of(*call).timed_out;
    client_.Compare(*call, {Kind::kTimeout, 0}, false);
    if (std::erase(again_, place) > 0) free_.push_back(place);
    --waiting_;
    extra_ -= call->answer == kUnanswered;
    client_.Done(*call);
  }
  // What was given up holds its credit and slot for good: perhaps all of them.
  if (stuck_since_ == PlayClock::time_point{} || gone_ || waiting_ > 0 || now - stuck_since_ < options_.timeout) return;
  Trouble("no credit or slot was left: the server does not answer");
  Close();
  gone_ = true;
}

void PlayLink::Close() {
  if (!requester_ || closing_) return;
  closing_ = true;
  requester_->endpoint().Disconnect();
}

int PlayLink::descriptor() { return requester_ ? requester_->endpoint().descriptor() : -1; }

}  // namespace stag::replay
