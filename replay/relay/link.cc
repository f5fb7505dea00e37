// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/relay/link.h"

#include <algorithm>

#include "protocol/rpc/message.h"

namespace stag::relay {

namespace {

constexpr uint32_t kSmallestReceive = 4096;  // what peers without private data have always sent (RFC 8797 section 5.1)
constexpr uint32_t kWorksPerCall = 8;
constexpr uint32_t kWorksOfOne = 1100;  // more than any one message needs: headers have at most 16384 bytes

RelayDirectionOptions Forward(const RelayLinkOptions& options) {
  RelayDirectionOptions out;
  out.credits = options.credits;
  out.jobs = options.credits;
  out.max_message = options.max_message;
  return out;
}

RelayDirectionOptions Backward(const RelayLinkOptions& options) {
  RelayDirectionOptions out = Forward(options);
  out.number = 1;
  out.credits = out.jobs = RelayLink::kBackwardCredits;
  out.may_be_long = false;
  return out;
}

Faults FaultsOf(const RelayLinkOptions& options, uint64_t direction, RelayReport& report) {
  return Faults(options.faults, report.side[kClientSide].connections << 1 | direction, report.faults);
}

}  // namespace

void RelayLink::Prepare(const RelayLinkOptions& options, uint32_t receive_size, endpoint::EndpointOptions& endpoint) {
  endpoint.receives = options.credits + kBackwardCredits;
  endpoint.receive_size = std::max(receive_size, kSmallestReceive);
  endpoint.sends = std::max({endpoint.sends, endpoint.receives * kWorksPerCall, kWorksOfOne});
}

RelayLink::RelayLink(End client, End server, const RelayLinkOptions& options, rpcrdma::ChunkMemory& memory,
                     RelayReport& report)
    : report_(report),
      share_(memory),
      direction_{
          RelayDirection(side_[0], side_[1], Forward(options), FaultsOf(options, 0, report), share_, report.forward),
          RelayDirection(side_[1], side_[0], Backward(options), FaultsOf(options, 1, report), share_,
                         report.backward)} {
  endpoint::EndpointOptions prepared;
  Prepare(options, 0, prepared);
  const auto fill = [&](RelaySide& side, End& end) {
    side.endpoint = std::move(end.endpoint);
    side.settings = rpcrdma::Agree(end.private_data, side.endpoint->peer_private_data());
    side.limit = prepared.sends;
  };
  fill(side_[0], client);
  fill(side_[1], server);
}

// Registered memory outlives the endpoints.
RelayLink::~RelayLink() {
  for (RelaySide& side : side_) side.endpoint.reset();
}

bool RelayLink::Poll() {
  if (over_) return false;
  // What came from one side is on its way to the other before that is asked: an answer to it can be there no earlier.
  size_t n = PollSide(next_);
  if (n > 0) {
    next_ = 1 - next_;
  } else {
    n = PollSide(1 - next_);
  }
  for (size_t s = 0; s < 2; ++s) {
    for (; !held_[s].empty() && share_.worth_asking() && Take(s, held_[s].front()); held_[s].pop_front())
      side_[s].endpoint->Release(held_[s].front());
    direction_[s].Run();
  }
  if (share_.wanted())
    for (RelayDirection& direction : direction_) direction.GiveUpKept();
  for (const RelaySide& side : side_) side.endpoint->Flush();
  if (!ending_ && (direction_[0].wants_end() || direction_[1].wants_end())) Disconnect();
  SeeEnds();
  return n > 0;
}

size_t RelayLink::PollSide(size_t s) {
  endpoint::Endpoint& endpoint = *side_[s].endpoint;
  std::array<endpoint::Completion, endpoint::kCompletions> completions;
  const size_t n = endpoint.Poll(completions, std::chrono::microseconds{0});
  if (n > 0) now_ = RelayDirection::Clock::now();
  for (const endpoint::Completion& c : std::span(completions).first(n)) {
    if (c.work == endpoint::Work::kReceive) {
      OnMessage(s, c);
    } else {
      --side_[s].posted;
      direction_[c.id & 1].OnCompletion(c);
    }
  }
  return n;
}

void RelayLink::OnMessage(size_t s, const endpoint::Completion& c) {
  if (c.outcome != endpoint::CompletionStatus::kOk) return;
  if (held_[s].empty() && Take(s, c)) return side_[s].endpoint->Release(c);
  held_[s].push_back(c);
}

// RFC 8166 section 4.5: what is shorter than a header, and answers that nobody waits for, are dropped. False: a Call
// for which there is no room.
bool RelayLink::Take(size_t s, const endpoint::Completion& c) {
  rpcrdma::Decode(c.bytes, c.bytes.size(), header_);
  const bool fine = header_.status == ParseStatus::kOk;
  const bool too_short = header_.words < 4 || header_.defect == rpcrdma::Defect::kTooShort;
  const Bytes payload = fine ? c.bytes.subspan(header_.length) : Bytes{};
  const bool inlined = fine && header_.proc == rpcrdma::kMsg && payload.size() >= 8;
  const uint32_t type = inlined ? LoadBe32(payload.data() + 4) : UINT32_MAX;
  const bool is_call = type == rpc::kCall || (fine && header_.proc == rpcrdma::kNomsg && !header_.reads.empty());
  // What is not clearly a Call is the answer that is waited for, if one is with its xid.
  if (!too_short && !is_call && direction_[1 - s].TakeAnswer(header_, payload, c.invalidated, now_)) return true;
  const bool says_answer = type == rpc::kReply || header_.proc == rpcrdma::kError ||
                           (fine && header_.proc == rpcrdma::kDone) ||
                           (fine && header_.proc == rpcrdma::kNomsg && !is_call && s == kServerSide);
  if (too_short || says_answer) return ++report_.dropped, true;
  return direction_[s].TakeCall(header_, payload, now_);
}

std::optional<RelayDirection::Clock::time_point> RelayLink::due() const {
  const auto a = direction_[0].due(), b = direction_[1].due();
  return a && b ? std::min(*a, *b) : a ? a : b;
}

bool RelayLink::idle() const {
  return held_[0].empty() && held_[1].empty() && direction_[0].idle() && direction_[1].idle();
}

void RelayLink::Disconnect() {
  ending_ = true;
  for (const RelaySide& side : side_)
    if (side.endpoint->state() == endpoint::State::kOpen) side.endpoint->Disconnect();
}

void RelayLink::SeeEnds() {
  const auto open = [this](size_t s) { return side_[s].endpoint->state() == endpoint::State::kOpen; };
  if (open(0) && open(1)) return;
  // What the one that went has still brought goes to the other before that ends, too.
  for (size_t s = 0; s < 2; ++s)
    while (!open(s) && PollSide(s) > 0) continue;
  if (!ending_) Disconnect();
  if (!open(0) && !open(1)) Retire();
}

void RelayLink::Retire() {
  over_ = true;
  report_.forward.in_flight += direction_[0].unanswered() + held_[0].size();
  report_.backward.in_flight += direction_[1].unanswered() + held_[1].size();
  for (size_t s = 0; s < 2; ++s) {
    const endpoint::Endpoint& endpoint = *side_[s].endpoint;
    const bool broken = endpoint.state() == endpoint::State::kBroken;
    ++(broken ? report_.side[s].broken : report_.side[s].ended);
    if (broken) report_.Trouble((s == kClientSide ? "client: " : "server: ") + endpoint.trouble().text);
  }
}

}  // namespace stag::relay
