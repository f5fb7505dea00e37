// SPDX-License-Identifier: GPL-2.0-or-later
//
// What all ranks of a team do together. Every rank calls the same, in the same order.
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
std::string Share(Team& team, std::string_view bytes);

// A moment soon, the same for all ranks, once all are here; each waits for it by itself. A time of the real-time clock:
// the ranks of one machine share it, and the clocks of several machines are taken to agree (chrony, NTP or PTP: what
// they differ by, the ranks start apart).
std::chrono::system_clock::time_point AgreeOnStart(Team& team);

}  // namespace stag::scale
