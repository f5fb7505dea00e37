// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/generator.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "replay/endpoint/spin_then_sleep.h"
#include "replay/endpoint/system.h"
#include "replay/generate/mount.h"

namespace stag::generate {
namespace {

using Clock = Job::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kLongest{100};          // sleep
constexpr milliseconds kWithoutDescriptor{1};  // likewise, for an endpoint that has none

}  // namespace

// The connections of one thread.
class Generator::Group {
 public:
  LoadConnection& Add(const LoadOptions& options, uint32_t index, endpoint::Transport& transport,
                      endpoint::EventLog* events, const std::atomic<bool>& stop) {
    connections_.push_back(std::make_unique<LoadConnection>(options, index, transport, events, stop, report_));
    return *connections_.back();
  }

  void Run(Clock::time_point start, Clock::time_point end) {
    for (const auto& connection : connections_) connection->Start(start, end);
    const bool alone = connections_.size() == 1;  // then its Poll can wait
    for (bool done = false; !done; Publish()) {
      size_t happened = 0;
      done = true;
      for (const auto& connection : connections_) {
        happened += connection->Pump(alone ? microseconds(kLongest) : microseconds{0});
        done &= connection->done();
      }
      const bool again = alone ? happened > 0 : spin_.Again(happened > 0);
      if (!done && !again) Sleep(alone);
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }

  void End() {
    for (const auto& connection : connections_) connection->End();
  }
  const LoadReport& report() const { return report_; }
  void AddTo(Counts& counts) const {
    counts.answers += answers_.load(std::memory_order_relaxed);
    counts.bytes += bytes_.load(std::memory_order_relaxed);
    counts.outstanding += outstanding_.load(std::memory_order_relaxed);
    counts.failures += failures_.load(std::memory_order_relaxed);
  }

 private:
  void Publish() {
    Counts counts;
    for (const auto& connection : connections_) {
      counts.answers += connection->answers();
      counts.bytes += connection->bytes();
      counts.outstanding += connection->outstanding();
      counts.failures += connection->failures();
    }
    answers_.store(counts.answers, std::memory_order_relaxed);
    bytes_.store(counts.bytes, std::memory_order_relaxed);
    outstanding_.store(counts.outstanding, std::memory_order_relaxed);
    failures_.store(counts.failures, std::memory_order_relaxed);
  }

  // Until something comes, or is due. `alone`: Poll has waited, unless the connection is broken.
  void Sleep(bool alone) {
    descriptors_.clear();
    auto until = Clock::now() + kLongest;
    for (const auto& connection : connections_) {
      if (connection->done()) continue;
      until = std::min(until, connection->next());
      const int descriptor = connection->descriptor();
      if (descriptor >= 0) {
        if (alone) return;
        descriptors_.push_back({descriptor, POLLIN, 0});
      } else {
        until = std::min(until, Clock::now() + kWithoutDescriptor);
      }
    }
    (void)endpoint::WaitFor(descriptors_, until - Clock::now());
  }

  std::vector<std::unique_ptr<LoadConnection>> connections_;
  std::vector<pollfd> descriptors_;
  endpoint::SpinThenSleep spin_;
  LoadReport report_;
  std::atomic<uint64_t> answers_{0}, bytes_{0}, outstanding_{0}, failures_{0};
};

Generator::Generator(endpoint::Transport& transport, LoadOptions options, endpoint::EventLog* events)
    : transport_(transport), options_(std::move(options)), events_(events) {
  for (uint32_t i = 0; i < options_.threads; ++i) groups_.push_back(std::make_unique<Group>());
}
Generator::~Generator() = default;

Result<void> Generator::Begin() {
  if (options_.mode == LoadMode::kNfs3 && options_.directory.empty()) {
    auto handle = FindDirectory(transport_, options_, stop_);
    if (!handle) return tl::unexpected(handle.error());
    options_.directory = std::move(*handle);
  }
  for (uint32_t i = 0; i < options_.connections; ++i) {
    Group& group = *groups_[i % groups_.size()];
    if (auto begun = group.Add(options_, i, transport_, events_, stop_).Begin(); !begun) return begun;
  }
  return {};
}

Result<void> Generator::Run() {
  const Result<void> begun = Begin();
  std::optional<Clock::time_point> start;
  if (options_.ready) {
    start = options_.ready(begun ? "" : begun.error().message);
  } else if (begun) {
    start = Clock::now();
  }
  if (start) {
    const auto end = options_.duration.count() > 0 ? *start + options_.duration : Clock::time_point::max();
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> thrown(groups_.size());  // no memory, no thread: it is thrown here
    const auto run = [&](size_t i) {
      try {
        groups_[i]->Run(*start, end);
      } catch (...) {
        thrown[i] = std::current_exception();
        stop_ = true;
      }
    };
    try {
      for (size_t i = 1; i < groups_.size(); ++i) threads.emplace_back(run, i);
      run(0);
    } catch (...) {
      thrown[0] = std::current_exception();
      stop_ = true;
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& exception : thrown)
      if (exception) std::rethrow_exception(exception);
  }
  for (const auto& group : groups_) {
    group->End();
    report_.Merge(group->report());
  }
  report_.interrupted = stop_.load();
  if (start || (report_.interrupted && !options_.ready)) return {};
  return begun ? Fail({}) : begun;
}

Generator::Counts Generator::counts() const {
  Counts counts;
  for (const auto& group : groups_) group->AddTo(counts);
  return counts;
}

}  // namespace stag::generate
