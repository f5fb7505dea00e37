// SPDX-License-Identifier: GPL-2.0-or-later
//
// Job: one Call as it is decided on, before any protocol is involved; and JobSource, which decides. The Jobs of a
// connection follow from the options, the seed and the connection's number alone: not from time, not from answers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace stag::generate {

enum class Operation : uint8_t { kNull, kEcho, kGetattr, kLookup, kRead, kWrite, kReaddirplus };
inline constexpr size_t kOperations = 7;
const char* OperationName(Operation operation);  // "NULL", "READ"

// How often which operation comes, relative to the others.
using Mix = std::array<uint32_t, kOperations>;
inline uint32_t& Weight(Mix& mix, Operation operation) { return mix[static_cast<size_t>(operation)]; }
inline uint32_t Weight(const Mix& mix, Operation operation) { return mix[static_cast<size_t>(operation)]; }

// Of a Job's data: uniform between `low` and `high` bytes, with the probability that the weight has among all.
struct SizeRange {
  uint32_t low = 0, high = 0;
  uint32_t weight = 1;
};

// What a connection has of a file: nobody else reads or writes there.
struct Part {
  uint32_t file = 0;  // from 0, of all files
  uint64_t begin = 0, length = 0;
  bool creates = false;  // this connection makes (and removes) the file
};
// With at least as many files as connections, each has files of its own; with fewer, several share one, in parts of
// equal length. `connection` from 0.
std::vector<Part> ShareOf(uint32_t connection, uint32_t connections, uint32_t files, uint64_t file_size);

struct Job {
  using Clock = std::chrono::steady_clock;
  Operation operation = Operation::kNull;
  bool position_zero = false;
  uint32_t part = 0;  // index in the connection's share
  uint64_t offset = 0;
  uint32_t size = 0;
  uint32_t generation = 0;     // of what a WRITE or ECHO carries: 1, 2, ...
  Clock::time_point intended;  // when it was to be sent
  uint32_t slot = 0;           // of the NFSv4.1 session
  uint32_t sends = 0;          // so far
};

// SplitMix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * n) >> 64); }

 private:
  uint64_t state_;
};

struct JobOptions {
  Mix mix{};
  std::vector<SizeRange> sizes = {{4096, 4096, 1}};  // none larger than a part
  bool sequential = false;                           // each part from its begin to its end, and again
  uint32_t position_zero_percent = 0;
  uint64_t seed = 1;
};

class JobSource {
 public:
  JobSource(const JobOptions& options, uint32_t connection, std::vector<Part> share);
  Job Next();
  const std::vector<Part>& share() const { return share_; }

 private:
  uint32_t Size();
  uint64_t Place(uint32_t part, uint32_t size);

  const JobOptions options_;
  const std::vector<Part> share_;
  std::vector<uint64_t> next_;  // offset in each part, when sequential
  Random random_;
  uint64_t mix_sum_ = 0, size_sum_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace stag::generate
