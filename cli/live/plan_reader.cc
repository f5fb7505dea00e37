// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/plan_reader.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "text/put.h"

namespace stag::cli {

namespace {

constexpr uint64_t kAhead = 32u << 20;

// Ends the reading once nobody wants more.
class Stopping final : public replay::PlanSink {
 public:
  Stopping(replay::PlanQueue& queue, Output& output) : queue_(queue), output_(output) {}
  void OnPlanned(replay::PlannedCallPtr planned) override {
    queue_.OnPlanned(std::move(planned));
    if (queue_.cancelled()) output_.Stop();
  }

 private:
  replay::PlanQueue& queue_;
  Output& output_;
};

}  // namespace

ReplayMemory::ReplayMemory(uint64_t memory)
    : analysis(memory / 2),
      window(memory / 8),
      ahead(std::min(memory / 4, kAhead)),
      keep(memory / 4),
      values(memory / 8) {}

std::string PlanOutcome::Nothing(const std::string& name) const {
  const bool none = totals.calls + totals.refused + totals.not_selected + totals.cut == 0;
  if (!file.opened || !none) return {};
  return fmt::format("{}: no RPC-over-RDMA in {}", name, Count(file.frames, "frame"));
}

PlanOutcome ReadPlan(const std::string& file, const CommonOptions& options, const replay::PlanOptions& plan,
                     Output& output, replay::PlanSink& sink) {
  CommonOptions of_analysis = options;
  of_analysis.memory = ReplayMemory(options.memory).analysis;
  replay::PlanBuilder builder(plan, sink);
  Clock clock;
  PlanOutcome outcome;
  outcome.file = Analyze(file, of_analysis, true, clock, output, {&builder});
  builder.Finish();
  outcome.totals = builder.totals();
  return outcome;
}

// One time that the file is read. What it complains of is kept.
struct PlanReader::Reading {
  explicit Reading(const CommonOptions& options, std::shared_ptr<replay::PlanQueue> plan)
      : queue(std::move(plan)),
        output(
            options, [](std::string_view) {}, kept),
        sink(*queue, output) {}

  std::vector<std::string> complaints;
  Diagnostics kept{[this](std::string_view text) { complaints.emplace_back(text); }};
  const std::shared_ptr<replay::PlanQueue> queue;
  Output output;
  Stopping sink;
  PlanOutcome outcome;
  std::thread thread;
};

PlanReader::PlanReader(std::string file, const CommonOptions& options, const replay::PlanOptions& plan, bool again)
    : file_(std::move(file)), options_(options), plan_(plan), again_(again) {}

PlanReader::~PlanReader() {
  for (const auto& reading : readings_) {
    reading->queue->Cancel();
    reading->output.Stop();
    if (reading->thread.joinable()) reading->thread.join();
  }
}

std::shared_ptr<replay::PlanQueue> PlanReader::Read(uint32_t readers) {
  const ReplayMemory memory(options_.memory);
  replay::PlanQueue::Limits limits;
  limits.ahead = memory.ahead;
  limits.keep = again_ ? memory.keep : 0;
  if (file_ == "-")
    limits.unless_kept =
        "standard input cannot be read twice, and what is to be played again does not fit into a quarter of --memory: "
        "save it in a file, or raise --memory";
  CommonOptions options = options_;
  options.progress = false;
  auto queue = std::make_shared<replay::PlanQueue>(readers, std::move(limits));
  Reading& reading = *readings_.emplace_back(std::make_unique<Reading>(options, queue));
  // Signals are for the command, not for this thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  reading.thread = std::thread([this, &reading, options] {
    reading.outcome = ReadPlan(file_, options, plan_, reading.output, reading.sink);
    reading.queue->End(reading.outcome.file.opened ? std::string{} : reading.outcome.file.trouble);
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return queue;
}

replay::PlanQueue& PlanReader::Start(uint32_t readers) {
  first_ = Read(readers);
  return *first_;
}

std::shared_ptr<replay::PlanQueue> PlanReader::Begin(uint32_t readers) {
  if (first_) return std::exchange(first_, nullptr);
  // Those that are through are not needed any more, but for the first, which says what the file is like.
  while (readings_.size() > 1 && readings_[1]->queue->over()) {
    readings_[1]->thread.join();
    readings_.erase(readings_.begin() + 1);
  }
  return Read(readers);
}

const PlanOutcome& PlanReader::Finish() {
  Reading& first = *readings_.front();
  if (first.thread.joinable()) first.thread.join();
  return first.outcome;
}

const std::vector<std::string>& PlanReader::complaints() const { return readings_.front()->complaints; }

}  // namespace stag::cli
