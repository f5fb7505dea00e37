// SPDX-License-Identifier: GPL-2.0-or-later
//
// Team: the processes of one parallel job, which send each other messages. This is all that Stag needs of MPI; only the
// module (mpi_team.cc) uses MPI, and tests use no MPI. Ranks count from 0; rank 0 writes the results and the
// diagnostics.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stag::scale {

class Team {
 public:
  // Two roles of a rank, each with messages of its own: rank 0 has both.
  enum class Box : int { kLeader = 1, kMember = 2 };
  struct Message {
    size_t from = 0;
    std::string bytes;
  };

  virtual ~Team() = default;
  virtual size_t rank() const = 0;
  virtual size_t size() const = 0;
  // At most 2 GiB. Messages from one rank to one box arrive in order. May wait until the receiver takes it.
  virtual void Send(size_t to, Box box, std::string_view bytes) = 0;
  // Waits for the next message to this rank's box, from any rank; sleeps meanwhile. Two threads may use a Team when
  // each has a box of its own.
  virtual Message Receive(Box box) = 0;
  // Ends all processes of the job at once, after an error that this rank cannot report to the others in order.
  virtual void Abort(int status) = 0;

  bool leads() const { return rank() == 0; }
};

// Joins the job in which mpirun started this process; without mpirun the team has one rank. At most once. The error
// names what this installation lacks.
Result<std::unique_ptr<Team>> JoinTeam();

// What the module of JoinTeam exports, under the name kModuleEntry: makes the Team; nullptr, and why not (static text),
// when MPI does not start or `version` is not the module's own.
using MakeTeam = Team* (*)(const char* version, const char** why_not);
inline constexpr const char* kModuleFile = "stag_mpi.so";
inline constexpr const char* kModuleEntry = "StagMakeTeam";

}  // namespace stag::scale
