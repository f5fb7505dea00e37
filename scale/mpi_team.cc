// SPDX-License-Identifier: GPL-2.0-or-later
//
// The module stag_mpi.so: a Team on MPI, the only file that knows it. Every call of MPI is short and under one mutex
// (MPI_THREAD_SERIALIZED), and a rank that waits sleeps between two looks: MPI's own waiting would keep a processor
// busy that has captures to read.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "scale/team.h"

namespace stag::scale {
namespace {

// Sleeps longer and longer between looks, up to a millisecond.
class Patience {
 public:
  void Wait() {
    usleep(microseconds_);
    microseconds_ = std::min(microseconds_ * 2, 1000u);
  }

 private:
  unsigned microseconds_ = 20;
};

class MpiTeam final : public Team {
 public:
  MpiTeam() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiTeam() override {
    if (std::uncaught_exceptions() > 0) Abort(2);  // the others may be waiting for this rank
    MPI_Finalize();
  }

  size_t rank() const override { return static_cast<size_t>(rank_); }
  size_t size() const override { return static_cast<size_t>(size_); }

  void Send(size_t to, Box box, std::string_view bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mutex_);
      MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(to), static_cast<int>(box),
                MPI_COMM_WORLD, &request);
    }
    Complete(request);
  }  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): Complete waits by MPI_Test, which the check does not know

  Message Receive(Box box) override {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
    for (Patience patience;;) {
      {
        const std::lock_guard lock(mutex_);
        int there = 0;
        MPI_Message handle = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(box), MPI_COMM_WORLD, &there, &handle, &status);
        if (there) {
          int length = 0;
          MPI_Get_count(&status, MPI_BYTE, &length);
          message = {static_cast<size_t>(status.MPI_SOURCE), std::string(static_cast<size_t>(length), '\0')};
          MPI_Imrecv(message.bytes.data(), length, MPI_BYTE, &handle, &request);
          break;
        }
      }
      patience.Wait();
    }
    Complete(request);
    return message;
  }

  void Abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  void Complete(MPI_Request& request) {
    for (Patience patience;; patience.Wait()) {
      const std::lock_guard lock(mutex_);
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
    }
  }

  std::mutex mutex_;
  int rank_ = 0, size_ = 1;
};

}  // namespace
}  // namespace stag::scale

extern "C" __attribute__((visibility("default"))) stag::scale::Team* StagMakeTeam(const char* version,
                                                                                  const char** why_not) {
  if (std::strcmp(version, STAG_VERSION) != 0) {
    *why_not = "the module for Open MPI is of another version than stag";
    return nullptr;
  }
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    *why_not = "this MPI library was built without support of threads (MPI_THREAD_SERIALIZED)";
    return nullptr;
  }
  return new stag::scale::MpiTeam;
}
