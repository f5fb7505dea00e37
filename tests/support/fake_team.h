// SPDX-License-Identifier: GPL-2.0-or-later
//
// FakeTeam: the ranks of a team as threads of the test.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scale/team.h"

namespace stag::test {

// What the ranks share.
class FakeNetwork {
 public:
  explicit FakeNetwork(size_t size) : boxes_(2 * size) {}

  void Put(size_t to, scale::Team::Box box, scale::Team::Message message) {
    const std::lock_guard lock(mutex_);
    of(to, box).push_back(std::move(message));
    changed_.notify_all();
  }
  scale::Team::Message Take(size_t rank, scale::Team::Box box) {
    std::unique_lock lock(mutex_);
    std::deque<scale::Team::Message>& messages = of(rank, box);
    changed_.wait(lock, [&] { return !messages.empty(); });
    scale::Team::Message message = std::move(messages.front());
    messages.pop_front();
    return message;
  }
  size_t size() const { return boxes_.size() / 2; }

 private:
  std::deque<scale::Team::Message>& of(size_t rank, scale::Team::Box box) {
    return boxes_[2 * rank + (box == scale::Team::Box::kLeader ? 0 : 1)];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<scale::Team::Message>> boxes_;
};

class FakeTeam final : public scale::Team {
 public:
  FakeTeam(FakeNetwork& network, size_t rank) : network_(network), rank_(rank) {}
  size_t rank() const override { return rank_; }
  size_t size() const override { return network_.size(); }
  void Send(size_t to, Box box, std::string_view bytes) override { network_.Put(to, box, {rank_, std::string(bytes)}); }
  Message Receive(Box box) override { return network_.Take(rank_, box); }
  void Abort(int) override { std::abort(); }

 private:
  FakeNetwork& network_;
  const size_t rank_;
};

// Runs `run` on every rank of a team of so many, each in a thread of its own; rank 0 in the caller's.
inline void OnEveryRank(size_t size, const std::function<void(scale::Team& team)>& run) {
  FakeNetwork network(size);
  std::vector<std::thread> others;
  for (size_t rank = 1; rank < size; ++rank) {
    others.emplace_back([&, rank] {
      FakeTeam team(network, rank);
      run(team);
    });
  }
  FakeTeam team(network, 0);
  run(team);
  for (std::thread& thread : others) thread.join();
}

}  // namespace stag::test
