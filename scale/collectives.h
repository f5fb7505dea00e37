// SPDX-License-Identifier: GPL-2.0-or-later
//
// Collective operations of a team. Every rank calls the same functions in the same order.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "scale/team.h"

namespace stag::scale {

// Rank 0 gets what every rank gave, by rank; the others get nothing.
std::vector<std::string> Gather(Team& team, std::string_view bytes);

// Every rank gets what rank 0 gave.
std::string Broadcast(Team& team, std::string_view bytes);

// Waits until every rank has called it, and returns to all the same time, a little later; each rank then waits for that
// time. It is a time of the real-time clock: the ranks of one machine share the clock, and the clocks of several
// machines are assumed to be synchronized (chrony, NTP or PTP). The ranks start apart by what the clocks differ.
std::chrono::system_clock::time_point SynchronizedStart(Team& team);

}  // namespace stag::scale
