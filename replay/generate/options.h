// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the load is to be. Whoever fills it in keeps to what is said here; Generator::Run finds out what only the server
// knows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/generate/job.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/rpc_calls.h"
#include "replay/rpcrdma/requester.h"

namespace stag::generate {

enum class LoadMode : uint8_t { kNull, kEcho, kNfs3, kNfs4 };

struct LoadOptions {
  LoadMode mode = LoadMode::kNull;
  endpoint::HostPort to;
  JobOptions jobs;                      // the mix has only operations of the mode, and one at least
  rpcrdma::RequesterOptions requester;  // `credits`: at least `depth`
  bool crc = true;                      // see EndpointOptions
  uint32_t connections = 1, threads = 1;

  // When: in a closed loop, `depth` Calls are outstanding on each connection. With a rate, they are sent at their
  // times, and `depth` is the most that may be outstanding.
  uint32_t depth = 32;
  double rate = 0;                       // Calls per second of all connections; 0: none
  double bandwidth = 0;                  // bytes of data per second of all connections; 0: none. Not both
  uint64_t calls = 0;                    // of all connections; 0: no limit
  std::chrono::nanoseconds duration{0};  // 0: no limit

  // How Replies and data come.
  bool reply_chunk = false;    // offered in each Call; otherwise only where the Reply might not fit
  bool always_chunks = false;  // data of READ and WRITE never go inline

  bool verify = false;
  uint32_t reconnects = 0;                    // of each connection
  std::chrono::milliseconds timeout{30'000};  // for an answer
  int cancel = -1;                            // a descriptor: once it is readable, connecting is given up; -1: none

  // Called once, when all is connected and made, or with why that failed; waits for the moment to begin, and returns
  // it; nullopt: do not begin. Empty: begin at once.
  std::function<std::optional<Job::Clock::time_point>(const std::string& trouble)> ready;

  uint32_t program = 100003, version = 3;  // of NULL
  nfs_client::Credential credential;

  std::string path = "/";  // of the directory that the files are made in: exported (MOUNT), or below the root (NFSv4)
  std::vector<std::byte> directory;    // its NFSv3 file handle; empty: from MOUNT
  std::optional<uint16_t> mount_port;  // TCP; none: see FindDirectory
  uint32_t files = 1;                  // 0 only where the mix needs none
  uint64_t file_size = 16 << 20;
  bool keep = false;  // the files
  nfs_client::nfs3::Stable stable = nfs_client::nfs3::kUnstable;
};

inline std::string FileName(const LoadOptions& options, uint32_t file) {
  return "stag-generate." + std::to_string(options.jobs.seed) + "." + std::to_string(file);
}

}  // namespace stag::generate
