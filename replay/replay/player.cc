// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/player.h"

#include <algorithm>
#include <optional>
#include <random>
#include <unordered_map>

#include "replay/endpoint/spin_then_sleep.h"
#include "replay/endpoint/system.h"
#include "replay/replay/play_link.h"

namespace stag::replay {

namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTick{20};       // how often what has a time is looked at
constexpr milliseconds kGrace{500};     // for answers that the recording does not have
constexpr milliseconds kGoodbye{1000};  // for connections to end in order
constexpr milliseconds kHurry{400};     // for that, and for answers, after a stop
constexpr microseconds kWithoutDescriptor{200};
constexpr double kLongest = 1e9;  // seconds; a capture's times can be anything
constexpr unsigned kBurst = 64;   // Calls of a link before the others have their turn
constexpr unsigned kFeed = 256;   // what a client takes of the plan at a time
constexpr size_t kLoopsAtOnce = 2;

}  // namespace

struct Player::Impl {
  // One client, while it plays the plan once.
  struct Play {
    std::unique_ptr<PlayClient> client;
    std::vector<std::unique_ptr<PlayLink>> links;
    std::unordered_map<fabric::ConnectionId, PlayLink*> by_connection;
    std::shared_ptr<PlanQueue> plan;  // nullptr: the client waits for a plan to begin with, or is over
    uint64_t position = 0;            // in it
    bool whole = false;               // all of it was taken
    bool alive = false;               // a connection ended in order
    std::optional<int64_t> first_ns;  // the recorded time of the first Call
    PlayClock::time_point started, quiet_since;
    uint64_t loop = 0;
    bool quiet = false, closing = false, over = false;
    PlayClock::time_point closing_since;
  };
  // What a loop is played from.
  struct LoopPlan {
    uint64_t loop = 0;
    std::shared_ptr<PlanQueue> plan;
    uint32_t clients = 0;  // that have not left it
  };

  Impl(PlanSource& p, endpoint::Transport& t, const PlayOptions& o) : source(p), transport(t), options(o) {}

  Result<void> Run();
  std::shared_ptr<PlanQueue> PlanOf(uint64_t loop);
  void Account(const PlayClient& client);
  void Start(Play& play, uint32_t number);
  void Leave(Play& play);
  bool Feed(Play& play);
  void Add(Play& play, PlannedCallPtr planned);
  bool Pump(Play& play);
  bool Allowed(const Play& play, const PlannedCall& call);
  bool PollAll(Play& play);
  void Conclude(Play& play, uint32_t number);
  void Tick();
  void Sleep();
  void Stop() {
    stopping = true;
    give_up_at = std::min(give_up_at, PlayClock::now() + kHurry);
  }

  PlanSource& source;
  endpoint::Transport& transport;
  const PlayOptions options;
  PlayReport report;
  std::string run_name;
  uint64_t run_number = 0;
  std::vector<Play> plays;
  std::vector<LoopPlan> plans;                   // of the loops that clients are in
  std::shared_ptr<const PlanQueue::Whole> kept;  // the plan, once all of it stays in memory
  std::string trouble;                           // why it cannot go on
  PlayCounts finished;                           // of clients that are gone
  PlayClock::time_point start, now, next_send, next_tick, next_due;
  PlayClock::time_point give_up_at = PlayClock::time_point::max();
  endpoint::SpinThenSleep awake;
  bool stopping = false;
};

// The plan of a loop; nullptr while too many loops are under way: a client that is ahead waits for the others.
std::shared_ptr<PlanQueue> Player::Impl::PlanOf(uint64_t loop) {
  const auto found = std::ranges::find(plans, loop, &LoopPlan::loop);
  if (found != plans.end()) return found->plan;
  if (plans.size() == kLoopsAtOnce) return nullptr;
  const auto clients = static_cast<uint32_t>(std::ranges::count(plays, false, &Play::over));
  auto plan = kept ? std::make_shared<PlanQueue>(clients, kept) : source.Begin(clients);
  plans.push_back({loop, plan, clients});
  return plan;
}

// What a client came to that plays no more.
void Player::Impl::Account(const PlayClient& client) {
  finished.answers += client.counts.answers;
  finished.bytes += client.counts.bytes;
  finished.errors += client.counts.errors;
  report.unknown += client.values.unknown();
  report.forgotten += client.values.forgotten();
}

// Begins the loop that the client is at, when it can.
void Player::Impl::Start(Play& play, uint32_t number) {
  const uint64_t loop = play.loop;
  auto plan = PlanOf(loop);
  if (!plan) return;
  play = Play{};
  play.loop = loop;
  play.plan = std::move(plan);
  play.started = PlayClock::now();
  // A new instance of the same client each time: what it left behind is not in the way.
  ClientIdentity identity{"/stag-" + run_name + "-" + std::to_string(number), run_number + loop};
  play.client = std::make_unique<PlayClient>(number, std::move(identity), options, report);
}

void Player::Impl::Leave(Play& play) {
  play.plan->Leave(play.position);
  play.plan = nullptr;
  const auto of_loop = std::ranges::find(plans, play.loop, &LoopPlan::loop);
  if (--of_loop->clients == 0) plans.erase(of_loop);
}

// Takes what there is of the plan.
bool Player::Impl::Feed(Play& play) {
  bool any = false;
  for (unsigned n = 0; !play.whole && n < kFeed; ++n) {
    PlannedCallPtr planned;
    switch (play.plan->Take(play.position, planned)) {
      case PlanQueue::Next::kPlanned: break;
      case PlanQueue::Next::kLater: return any;
      case PlanQueue::Next::kEnd:
        play.whole = true;
        trouble = play.plan->error();
        if (!kept) kept = play.plan->whole();
        return true;
    }
    any = true;
    Add(play, std::move(planned));
  }
  return any;
}

void Player::Impl::Add(Play& play, PlannedCallPtr planned) {
  const fabric::ConnectionId id = planned->connection->id;
  switch (planned->what) {
    case PlannedCall::What::kBackward: return play.client->callbacks.Add(planned->rpc);
    case PlannedCall::What::kClosed:
      if (const auto it = play.by_connection.find(id); it != play.by_connection.end()) {
        it->second->AddEnd();
        play.by_connection.erase(it);
      }
      return;
    default: break;
  }
  if (!play.first_ns) play.first_ns = planned->rpc.call_frame.time_ns;
  if (planned->calls_back) play.client->ListenForCallbacks(options.to);
  report.rooted |= !planned->root.empty();
  if (!planned->root.empty() && !options.root.empty()) play.client->values.Set(planned->root, options.root);
  PlayLink*& link = play.by_connection[id];
  if (!link)
    link = play.links.emplace_back(std::make_unique<PlayLink>(planned->connection, transport, options, *play.client))
               .get();
  link->Add(std::move(planned));
}

// Whether its time has come; otherwise next_due knows.
bool Player::Impl::Allowed(const Play& play, const PlannedCall& call) {
  auto due = play.started;
  if (options.speed > 0) {
    const double recorded =
        (static_cast<double>(call.rpc.call_frame.time_ns) - static_cast<double>(*play.first_ns)) / 1e9 / options.speed;
    due += duration_cast<nanoseconds>(duration<double>(std::clamp(recorded, 0.0, kLongest)));
  }
  if (options.rate > 0) due = std::max(due, next_send);
  if (due <= now) return true;
  next_due = std::min(next_due, due);
  return false;
}

bool Player::Impl::Pump(Play& play) {
  bool sent = false;
  for (const auto& link : play.links) {
    for (unsigned n = 0; n < kBurst && !stopping; ++n) {
      const PlannedCall* call = link->next();
      if (!call || !play.client->Ready(*call) || !Allowed(play, *call)) break;
      const PlayLink::Sent what = link->SendNext();
      if (what == PlayLink::Sent::kLater) break;
      sent = true;
      if (options.rate > 0) {
        const auto step = duration_cast<nanoseconds>(duration<double>(1 / options.rate));
        next_send = std::max(next_send + step, now - kTick);  // a pause is not made up for
      }
    }
  }
  return sent;
}

bool Player::Impl::PollAll(Play& play) {
  bool any = false;
  std::erase_if(play.links, [&](const std::unique_ptr<PlayLink>& link) {
    any |= link->Poll() > 0;
    if (!link->through()) return false;
    if (link->connected()) link->Close();
    if (link->connected()) return false;
    play.alive |= !link->gone();
    return true;
  });
  return any;
}

// Ends a client that has nothing more to do, and begins the next loop.
void Player::Impl::Conclude(Play& play, uint32_t number) {
  const auto all = [&](auto what) { return std::ranges::all_of(play.links, what); };
  if (!play.closing) {
    const bool quiet = play.whole && all([&](const auto& link) { return link->quiet(); });
    if (quiet && !play.quiet) play.quiet_since = now;
    play.quiet = quiet;
    if (quiet && now - play.quiet_since > kGrace)
      for (const auto& link : play.links) link->GiveUp(now, true);
    const bool finished_all = play.whole && all([&](const auto& link) { return link->finished(); });
    if (!finished_all && !(stopping && all([](const auto& link) { return link->outstanding() == 0; }))) return;
    report.loops += finished_all;
    for (const auto& link : play.links) link->Close();
    play.closing = true;
    play.closing_since = now;
  }
  if (now - play.closing_since < (stopping ? kHurry : kGoodbye) &&
      !all([](const auto& link) { return !link->connected(); }))
    return;
  const bool gone = !play.alive && all([](const auto& link) { return link->gone(); });
  Leave(play);
  Account(*play.client);
  play.client = nullptr;
  play.links.clear();
  ++play.loop;
  const bool again = !stopping && (options.loops == 0 || play.loop < options.loops);
  if (again && !gone) return Start(play, number);
  play.over = true;
  for (LoopPlan& ahead : plans) {  // which counted on it
    if (ahead.loop < play.loop) continue;
    ahead.plan->Leave(0);
    --ahead.clients;
  }
}

void Player::Impl::Tick() {
  if (now < next_tick) return;
  next_tick = now + kTick;
  if (options.stop >= 0 && !stopping) {
    pollfd one{options.stop, POLLIN, 0};
    if (::poll(&one, 1, 0) > 0) Stop();
  }
  if (options.duration.count() > 0 && now - start >= options.duration) stopping = true;
  PlayCounts counts = finished;
  for (const Play& play : plays) {
    for (const auto& link : play.links) {
      link->Resume(now, stopping);
      link->GiveUp(now >= give_up_at ? PlayClock::time_point::max() : now, false);
      counts.outstanding += link->outstanding();
    }
    if (!play.client) continue;
    play.client->PollCallbacks(now);
    counts.answers += play.client->counts.answers;
    counts.bytes += play.client->counts.bytes;
    counts.errors += play.client->counts.errors;
  }
  if (options.progress) options.progress(counts);
}

void Player::Impl::Sleep() {
  std::vector<pollfd> all;
  auto until = std::min(next_due, next_tick);
  for (const LoopPlan& one : plans)
    if (one.plan->descriptor() >= 0) all.push_back({one.plan->descriptor(), POLLIN, 0});
  for (const Play& play : plays) {
    for (const auto& link : play.links) {
      if (!link->connected()) continue;
      if (const int descriptor = link->descriptor(); descriptor >= 0) {
        all.push_back({descriptor, POLLIN, 0});
      } else {
        until = std::min(until, now + kWithoutDescriptor);
      }
    }
  }
  (void)endpoint::WaitFor(all, until - PlayClock::now());
  for (const LoopPlan& one : plans) one.plan->ClearDescriptor();
}

Result<void> Player::Impl::Run() {
  std::random_device random;
  run_number = uint64_t{random()} << 32 | random();
  run_name = std::to_string(run_number % 1'000'000'000);
  plays.resize(options.clients);
  start = now = next_send = next_tick = options.ready ? options.ready() : PlayClock::now();
  for (bool busy = true; trouble.empty() && !std::ranges::all_of(plays, &Play::over);) {
    now = PlayClock::now();
    next_due = PlayClock::time_point::max();
    Tick();
    busy = false;
    for (uint32_t i = 0; i < plays.size(); ++i) {
      Play& play = plays[i];
      if (play.over) continue;
      if (!play.client) {
        Start(play, options.first_client + i);
        if (!play.client && stopping) play.over = true;
        if (!play.client) continue;
      }
      if (!play.closing && !stopping) busy |= Feed(play);
      if (!play.closing) busy |= Pump(play);
      busy |= PollAll(play);
      Conclude(play, options.first_client + i);
    }
    if (!awake.Again(busy)) Sleep();
  }
  for (const LoopPlan& one : plans) one.plan->Cancel();
  for (const Play& play : plays)
    if (play.client) Account(*play.client);
  report.elapsed = PlayClock::now() - start;
  report.stopped = stopping;
  if (!trouble.empty()) return Fail(trouble);
  if (report.connections == 0 && !report.troubles.empty()) return Fail(report.troubles.begin()->first);
  return {};
}

Player::Player(PlanSource& plans, endpoint::Transport& transport, const PlayOptions& options)
    : impl_(std::make_unique<Impl>(plans, transport, options)) {}
Player::~Player() = default;
Result<void> Player::Run() { return impl_->Run(); }
const PlayReport& Player::report() const { return impl_->report; }

}  // namespace stag::replay
