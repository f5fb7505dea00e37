// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/collectives.h"

namespace stag::scale {
namespace {

// Time enough for the moment to reach all ranks before it is there.
constexpr std::chrono::milliseconds kNotice{200};

}  // namespace

std::vector<std::string> Gather(Team& team, std::string_view bytes) {
  std::vector<std::string> all;
  if (!team.leads()) {
    team.Send(0, Team::Box::kLeader, bytes);
    return all;
  }
  all.resize(team.size());
  all[0] = bytes;
  for (size_t i = 1; i < team.size(); ++i) {
    Team::Message message = team.Receive(Team::Box::kLeader);
    all[message.from] = std::move(message.bytes);
  }
  return all;
}

std::string Broadcast(Team& team, std::string_view bytes) {
  if (!team.leads()) return team.Receive(Team::Box::kMember).bytes;
  for (size_t to = 1; to < team.size(); ++to) team.Send(to, Team::Box::kMember, bytes);
  return std::string(bytes);
}

std::chrono::system_clock::time_point SynchronizedStart(Team& team) {
  using namespace std::chrono;
  Gather(team, {});
  const auto start = duration_cast<nanoseconds>((system_clock::now() + kNotice).time_since_epoch());
  return system_clock::time_point(
      duration_cast<system_clock::duration>(nanoseconds(std::stoll(Broadcast(team, std::to_string(start.count()))))));
}

}  // namespace stag::scale
