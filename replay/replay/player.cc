// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/player.h"

#include <algorithm>
#include <random>

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
constexpr milliseconds kGoodbye{1000};  // for connections to end in order, and for answers after a stop
constexpr microseconds kWithoutDescriptor{200};
constexpr double kLongest = 1e9;  // seconds; a capture's times can be anything
constexpr unsigned kBurst = 64;   // Calls of a link before the others have their turn

}  // namespace

struct Player::Impl {
  // One client, while it plays the plan once.
  struct Play {
    std::unique_ptr<PlayClient> client;
    std::vector<std::unique_ptr<PlayLink>> links;
    PlayClock::time_point started, quiet_since;
    uint64_t loop = 0;
    bool quiet = false, closing = false, over = false;
    PlayClock::time_point closing_since;
  };

  Impl(const recording::Recording& r, const Plan& p, endpoint::Transport& t, const PlayOptions& o)
      : recording(r), plan(p), transport(t), options(o) {
    report.procedures.resize(plan.procedures.size());
  }

  Result<void> Run();
  void Start(Play& play, uint32_t number);
  bool Pump(Play& play);
  bool Allowed(const Play& play, const PlannedCall& call);
  bool PollAll(Play& play);
  void Conclude(Play& play, uint32_t number);
  void Tick();
  void Sleep();
  void Stop() {
    stopping = true;
    give_up_at = std::min(give_up_at, PlayClock::now() + kGoodbye);
  }

  const recording::Recording& recording;
  const Plan& plan;
  endpoint::Transport& transport;
  const PlayOptions options;
  PlayReport report;
  std::string run_name;
  uint64_t run_number = 0;
  std::vector<Play> plays;
  PlayCounts finished;  // of clients that are gone
  PlayClock::time_point start, now, next_send, next_tick, next_due;
  PlayClock::time_point give_up_at = PlayClock::time_point::max();
  endpoint::SpinThenSleep awake;
  bool stopping = false;
};

void Player::Impl::Start(Play& play, uint32_t number) {
  if (play.client) {
    finished.answers += play.client->counts.answers;
    finished.bytes += play.client->counts.bytes;
    finished.errors += play.client->counts.errors;
    report.unknown += play.client->values.unknown();
  }
  const uint64_t loop = play.loop;
  play = Play{};
  play.loop = loop;
  play.started = PlayClock::now();
  // A new instance of the same client each time: what it left behind is not in the way.
  ClientIdentity identity{"/stag-" + run_name + "-" + std::to_string(number), run_number + loop};
  play.client = std::make_unique<PlayClient>(plan, number, std::move(identity), report);
  if (!options.root.empty()) play.client->values.SetRoot(options.root);
  for (const PlannedLink& link : plan.links)
    play.links.push_back(std::make_unique<PlayLink>(recording, link, transport, options, *play.client));
}

// Whether its time has come; otherwise next_due knows.
bool Player::Impl::Allowed(const Play& play, const PlannedCall& call) {
  auto due = play.started;
  if (options.speed > 0) {
    const int64_t first = plan.calls.front().rpc->call_frame.time_ns;
    const double recorded =
        (static_cast<double>(call.rpc->call_frame.time_ns) - static_cast<double>(first)) / 1e9 / options.speed;
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
  for (size_t i = 0; i < play.links.size(); ++i) {
    PlayLink& link = *play.links[i];
    any |= link.Poll() > 0;
    if (link.connected() && link.finished() && recording.connections[plan.links[i].connection].closed) link.Close();
  }
  return any;
}

// Ends a client that has nothing more to do, and begins the next loop.
void Player::Impl::Conclude(Play& play, uint32_t number) {
  const auto all = [&](auto what) { return std::ranges::all_of(play.links, what); };
  if (!play.closing) {
    const bool quiet = all([&](const auto& link) { return link->quiet(); });
    if (quiet && !play.quiet) play.quiet_since = now;
    play.quiet = quiet;
    if (quiet && now - play.quiet_since > kGrace)
      for (const auto& link : play.links) link->GiveUp(now, true);
    const bool finished_all = all([&](const auto& link) { return link->finished(); });
    if (!finished_all && !(stopping && all([](const auto& link) { return link->outstanding() == 0; }))) return;
    report.loops += finished_all;
    for (const auto& link : play.links) link->Close();
    play.closing = true;
    play.closing_since = now;
  }
  if (now - play.closing_since < kGoodbye && !all([](const auto& link) { return !link->connected(); })) return;
  ++play.loop;
  const bool again = !stopping && (options.loops == 0 || play.loop < options.loops);
  if (again && !all([](const auto& link) { return link->gone(); })) return Start(play, number);
  play.over = true;
  play.links.clear();
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
    counts.answers += play.client->counts.answers;
    counts.bytes += play.client->counts.bytes;
    counts.errors += play.client->counts.errors;
  }
  if (options.progress) options.progress(counts);
}

void Player::Impl::Sleep() {
  std::vector<pollfd> all;
  auto until = std::min(next_due, next_tick);
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
}

Result<void> Player::Impl::Run() {
  std::random_device random;
  run_number = uint64_t{random()} << 32 | random();
  run_name = std::to_string(run_number % 1'000'000'000);
  plays.resize(options.clients);
  start = now = next_send = next_tick = options.ready ? options.ready() : PlayClock::now();
  for (uint32_t i = 0; i < options.clients; ++i) Start(plays[i], options.first_client + i);
  for (bool busy = true; !std::ranges::all_of(plays, &Play::over);) {
    now = PlayClock::now();
    next_due = PlayClock::time_point::max();
    Tick();
    busy = false;
    for (uint32_t i = 0; i < plays.size(); ++i) {
      Play& play = plays[i];
      if (play.over) continue;
      if (!play.closing) busy |= Pump(play);
      busy |= PollAll(play);
      Conclude(play, options.first_client + i);
    }
    if (!awake.Again(busy)) Sleep();
  }
  for (const Play& play : plays) report.unknown += play.client->values.unknown();
  report.elapsed = PlayClock::now() - start;
  report.stopped = stopping;
  if (report.connections == 0 && !report.troubles.empty()) return Fail(report.troubles.begin()->first);
  return {};
}

Player::Player(const recording::Recording& recording, const Plan& plan, endpoint::Transport& transport,
               const PlayOptions& options)
    : impl_(std::make_unique<Impl>(recording, plan, transport, options)) {}
Player::~Player() = default;
Result<void> Player::Run() { return impl_->Run(); }
const PlayReport& Player::report() const { return impl_->report; }

}  // namespace stag::replay
