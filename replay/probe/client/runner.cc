// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/runner.h"

#include <fmt/format.h>

#include <new>

namespace stag::probe::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStarting{2};   // for work that this machine has no room for
constexpr std::chrono::seconds kStopping{10};  // for work that has to end early

std::string Because(std::string what, const std::string& why) {
  return why.empty() ? what : fmt::format("{}: {}", what, why);
}

std::string Seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

}  // namespace

ClientRunner::ClientRunner(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* mount,
                           ClientWork& work, const Patience& patience, bool crc, fabric::Sink* also)
    : listener_(listener),
      service_(service),
      mount_(mount),
      work_(work),
      patience_(patience),
      crc_(crc),
      judge_(also, Judged::kClient) {}

Worked ClientRunner::Play(const std::string& name, const Trick* trick, client::Play& play) {
  Stage stage(listener_, service_, mount_, trick, {judge_.log(), crc_, patience_.quiet});
  const auto give_up = [&] {
    play = stage.play();
    work_.Stop();
    const auto until = Clock::now() + kStopping;
    while (!work_.Ended() && Clock::now() < until) stage.Refuse();
  };
  try {
    // What clients before left here may have to be closed first.
    auto started = work_.Start(name);
    for (const auto until = Clock::now() + kStarting; !started && Clock::now() < until; started = work_.Start(name))
      stage.Refuse();
    if (!started) Inconclusive(started.error().message);
    const auto until = Clock::now() + patience_.answer;
    for (;;) {
      if (const auto stepped = stage.Step(); !stepped) Inconclusive(stepped.error().message);
      if (std::optional<Worked> worked = work_.Ended()) {
        // What the client sent last, and its disconnect.
        stage.End();
        play = stage.play();
        if (worked->how != Worked::How::kFine && !stage.shortage().empty()) Inconclusive(stage.shortage());
        return std::move(*worked);
      }
      if (patience_.stopped && patience_.stopped()) Inconclusive("interrupted");
      if (Clock::now() >= until && !stage.shortage().empty()) Inconclusive(stage.shortage());
      if (Clock::now() >= until)
        Failed("the client's work ends within " + Seconds(patience_.answer),
               stage.play().fired > 0 ? "it did not end" : "it did not end, and nothing was played to it");
    }
  } catch (const std::bad_alloc&) {
    give_up();
    Inconclusive("no memory");
  } catch (...) {
    give_up();
    throw;
  }
}

Result<void> ClientRunner::Begin() {
  client::Play play;
  try {
    const Worked worked = Play("begin", nullptr, play);
    if (worked.how != Worked::How::kFine)
      return Fail(Because("the client's work fails although nothing is wrong", worked.text));
    if (play.connections == 0) return Fail("the client's work ends well, and it did not connect");
  } catch (const Ended& ended) {
    const Outcome& outcome = ended.outcome;
    if (outcome.verdict != Verdict::kFailed) return Fail(outcome.why);
    return Fail("the client's work does not end although nothing is wrong");
  }
  if (const auto found = judge_.Take(); !found.errors.empty())
    return Fail("the client breaks the specification although nothing is wrong: " + found.errors[0]);
  return {};
}

void ClientRunner::Judge(const ClientProbe& probe, const Trick& trick, const Worked& worked, client::Play& play) {
  if (worked.how == Worked::How::kDied) Failed("a client that lives", "it died: " + worked.text);
  if (worked.how == Worked::How::kWrong) Failed("no byte is wrong", worked.text);
  const bool failed = worked.how == Worked::How::kFailed;
  if (play.fired == 0) {
    if (failed) Failed("the client's work succeeds", worked.text);
    Skipped(fmt::format("the client made no {}", trick.needs));
  }
  if (failed) {
    const std::string came = Because("some of the client's work fails", worked.text);
    if (probe.failing == Taken::kFault) Failed("the client's work succeeds", came);
    if (probe.failing == Taken::kAdvice) play.advice.push_back(came);
  } else if (probe.failing == Taken::kRequired) {
    Failed("what the Call was for fails", "all of the client's work succeeds");
  }
  const bool ended = !play.ended_here && (play.broke || play.calls_elsewhere > 0);
  const std::string came = Because("the connection ends", play.trouble);
  if (ended && probe.ending == Taken::kFault) Failed("the connection goes on", came);
  if (ended && probe.ending == Taken::kAdvice) play.advice.push_back(came);
  if (probe.ending == Taken::kRequired && (play.leaked || !ended))
    Failed("the client refuses, and the connection ends", play.leaked ? "its bytes, by RDMA Read" : "it goes on");
}

void ClientRunner::CheckAlive() {
  constexpr int kAttempts = 2;
  std::string why;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    client::Play play;
    try {
      const Worked worked = Play("alive", nullptr, play);
      if (worked.how == Worked::How::kFine) return;
      why = worked.text;
    } catch (const Ended& ended) {
      if (ended.outcome.verdict != Verdict::kFailed) throw;
      why = ended.outcome.came;
    }
  }
  gone_ = true;
  Failed("a client whose next connection works", Because("it does not", why));
}

Outcome ClientRunner::RunOnce(const ClientProbe& probe) {
  (void)judge_.Take();
  Outcome outcome;
  client::Play play;
  Trick trick;
  trick.responder.credits = 32;
  probe.make(trick);
  bool fine = false;
  try {
    const Worked worked = Play(std::string(probe.id), &trick, play);
    fine = worked.how == Worked::How::kFine;
    Judge(probe, trick, worked, play);
  } catch (Ended& ended) {
    outcome = std::move(ended.outcome);
  }
  // Before the client is asked for anything else: what it does then is not this probe's.
  Judge::Found found = judge_.Take();
  outcome.findings = std::move(found.errors);
  if (!outcome.findings.empty()) outcome.verdict = Verdict::kFailed;
  outcome.advice = std::move(play.advice);
  outcome.advice.insert(outcome.advice.end(), found.warnings.begin(), found.warnings.end());
  if (fine || outcome.verdict == Verdict::kInconclusive) return outcome;
  try {
    CheckAlive();
  } catch (Ended& ended) {
    if (outcome.verdict == Verdict::kFailed && !outcome.came.empty())
      outcome.came += "; then the client does not work any more";
    else
      outcome = std::move(ended.outcome);
  }
  return outcome;
}

Outcome ClientRunner::Run(const ClientProbe& probe) {
  const auto start = Clock::now();
  Outcome outcome = RunOnce(probe);
  // What went over the wire proves a finding. Silence, or the end of a connection, may have had another cause.
  if (outcome.verdict == Verdict::kFailed && outcome.findings.empty() && !gone_) {
    Outcome again = RunOnce(probe);
    if (again.verdict == Verdict::kPassed) {
      again.verdict = Verdict::kInconclusive;
      again.why = fmt::format("it failed first, and then passed: expected {}; came {}", outcome.expected, outcome.came);
    }
    if (again.verdict != Verdict::kSkipped) outcome = std::move(again);
  }
  outcome.time = Clock::now() - start;
  return outcome;
}

}  // namespace stag::probe::client
