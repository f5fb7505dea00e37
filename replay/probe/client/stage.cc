// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/stage.h"

#include <algorithm>
#include <new>

#include "replay/endpoint/system.h"
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kNap{1};  // the longest sleep: timers and the client are looked at that often
constexpr milliseconds kGoodbye{500};
constexpr int kAccepts = 16;   // before others are looked after
constexpr int kShortages = 2;  // of descriptors or memory for connections, a second apart
// Receives: more than is ever granted, and larger, so that what a client sends too much of is seen.
constexpr uint32_t kReceives = 256, kReceiveSize = 8192, kReceiveMemory = 8 << 20;

}  // namespace

void Play::Fire(const Scene& scene) {
  ++fired;
  fired_on = scene.ordinal;
  newest_then = connections;
}

void Play::HangUp(Scene& scene) {
  ended_here = true;
  scene.HangUp();
}

void Play::Kill(const Scene& scene) {
  ended_here = true;
  killed.insert(scene.ordinal);
}

void Turn::Later(milliseconds time) const {
  scene.After(time, [message = reply.Encoded(), handle = invalidate](Scene& s) { s.Send(message, handle); });
}

bool Turn::WrongFirst(Buffer wrong) const {
  scene.Send(std::move(wrong));
  Later();
  return false;
}

Stage::Stage(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* mount, const Trick* trick,
             const StageOptions& options)
    : acceptor_(listener), service_(service), mount_(mount), trick_(trick), options_(options) {
  play_.quiet = options.quiet;
  play_.late = options.quiet * 4;
  if (!trick) return;
  play_.left = trick->times;
  hooks_.receive = [this](Seen& message, Scene& scene) { return OnMessage(message, scene); };
  hooks_.send = [this](Seen& message, const Seen* call, std::optional<uint32_t>& invalidate, Scene& scene) {
    return OnReply(message, call, invalidate, scene);
  };
  if (trick->write)
    hooks_.write = [this](Bytes from, uint32_t handle, uint64_t offset, Scene& scene) {
      return trick_->write(from, handle, offset, scene, play_);
    };
}
Stage::~Stage() = default;

Result<void> Stage::Step() {
  try {
    if (auto accepted = AcceptAll(); !accepted) return accepted;
    if (mount_) mount_->Poll();
    if (!PollAll()) Sleep();
  } catch (const std::bad_alloc&) {
    return Fail("no memory for the client's connections");
  }
  return {};
}

Result<void> Stage::AcceptAll() {
  for (auto late = late_.begin(); late != late_.end();) {
    if (late->due > Clock::now()) {
      ++late;
      continue;
    }
    Accept(*late->incoming, late->ordinal);
    late = late_.erase(late);
  }
  for (int n = 0; n < kAccepts; ++n) {
    auto incoming = acceptor_.Next();
    if (!incoming) return Fail(incoming.error().message);
    if (!*incoming) break;
    const size_t ordinal = ++play_.connections;
    switch (trick_ && trick_->greet ? trick_->greet(ordinal, play_) : Greeting::kAccept) {
      case Greeting::kAcceptAndHangUp:
        Accept(**incoming, ordinal);
        if (!connections_.empty()) connections_.back().end->Disconnect();
        break;
      case Greeting::kAccept: Accept(**incoming, ordinal); break;
      case Greeting::kAcceptLate: late_.push_back({Clock::now() + play_.late, ordinal, std::move(*incoming)}); break;
      case Greeting::kReject: (*incoming)->Reject(trick_->reject_data); break;
      case Greeting::kHangUp: break;
    }
  }
  // It is tried again after a second: there may be room then.
  if (std::string why = acceptor_.TakeTrouble(); !why.empty()) {
    shortage_ = std::move(why);
    if (++shortages_ > kShortages) return Fail(shortage_);
  }
  return {};
}

void Stage::Accept(endpoint::Incoming& incoming, size_t ordinal) {
  rpcrdma::ResponderOptions responder = trick_ ? trick_->responder : Trick{}.responder;
  responder.memory = &memory_;
  std::optional<Buffer> instead;
  if (trick_ && trick_->terms) instead = trick_->terms(ordinal, responder);
  endpoint::EndpointOptions end;
  end.events = options_.events;
  end.crc = options_.crc;
  rpcrdma::Responder::Prepare(responder, end);
  end.receive_size = std::max(end.receive_size, kReceiveSize);
  end.receives = std::min(kReceives, kReceiveMemory / end.receive_size + responder.credits);
  if (instead) end.private_data = std::move(*instead);
  auto accepted = incoming.Accept(end);
  if (!accepted) return;  // it has gone; it may come again
  ++shared_.connections;
  auto tamper = std::make_unique<Tamper>(std::move(*accepted), hooks_, shared_, ordinal);
  if (trick_ && trick_->in_terms && play_.fired == 0) play_.Fire(tamper->scene());
  Connection& connection = connections_.emplace_back();
  connection.ordinal = ordinal;
  connection.end = tamper.get();
  connection.service = service_.NewConnection();
  connection.responder = std::make_unique<rpcrdma::Responder>(std::move(tamper), responder,
                                                              connection.service ? *connection.service : service_);
}

// Whether anything came.
bool Stage::PollAll() {
  bool worked = false;
  std::erase_if(connections_, [&](const Connection& connection) {
    connection.responder->Poll(microseconds{0});
    worked |= connection.responder->rest() == microseconds{0};
    play_.leaked |= connection.end->scene().own_reads > 0;
    if (connection.responder->open()) return play_.killed.contains(connection.ordinal);
    if (play_.fired > 0 && connection.ordinal == play_.fired_on) {
      const endpoint::Trouble& trouble = connection.end->trouble();
      play_.broke |= connection.end->state() == endpoint::State::kBroken;
      play_.trouble = trouble.text;
    }
    return true;
  });
  return worked;
}

void Stage::Sleep() {
  std::vector<pollfd> all;
  const auto add = [&all](int descriptor) {
    if (descriptor >= 0) all.push_back({descriptor, POLLIN, 0});
  };
  add(acceptor_.descriptor());
  for (const Connection& connection : connections_) add(connection.end->descriptor());
  if (mount_) mount_->AddTo(all);
  (void)endpoint::WaitFor(all, kNap);
}

bool Stage::OnMessage(Seen& message, Scene& scene) {
  if (trick_->watch) trick_->watch(message, scene, play_);
  if (!IsCall(message)) return true;
  ++play_.calls;
  if (play_.fired > 0 && scene.ordinal > play_.newest_then) ++play_.calls_elsewhere;
  if (play_.left == 0 || play_.calls <= trick_->after || (trick_->picks && !trick_->picks(message))) return true;
  if (!trick_->call && !trick_->reply) return true;
  --play_.left;
  if (trick_->reply) picked_.insert({scene.ordinal, message.header.xid});
  if (!trick_->call) return true;
  if (!trick_->reply && !trick_->by_hand) play_.Fire(scene);
  return trick_->call(message, scene, play_);
}

bool Stage::OnReply(Seen& message, const Seen* call, std::optional<uint32_t>& invalidate, Scene& scene) {
  const auto [from, to] = picked_.equal_range(scene.ordinal);
  const auto it = std::find_if(from, to, [&](const auto& entry) { return entry.second == message.header.xid; });
  if (!call || it == to) return true;
  picked_.erase(it);
  if (!trick_->by_hand) play_.Fire(scene);
  Turn turn{message, *call, invalidate, scene, play_};
  return trick_->reply(turn);
}

void Stage::Refuse() {
  late_.clear();
  try {
    for (int n = 0; n < kAccepts; ++n) {
      auto incoming = acceptor_.Next();
      if (!incoming || !*incoming) break;
      (*incoming)->Reject({});
    }
    for (const Connection& connection : connections_) connection.end->Disconnect();
    if (!PollAll()) Sleep();
  } catch (const std::bad_alloc&) {
    // It is called again.
  }
}

void Stage::End() {
  late_.clear();
  for (const Connection& connection : connections_) connection.end->Disconnect();
  const auto until = Clock::now() + kGoodbye;
  while (!connections_.empty() && Clock::now() < until)
    if (!PollAll()) Sleep();
  connections_.clear();
}

}  // namespace stag::probe::client
