// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyTable: the round-trip times of RPCs and their phases by a key: procedure, connection, client, ... Bounded: a
// histogram for each time of a key, a profile of its slow RPCs, and so many keys at most. When memory is short, no key
// comes in, then histograms become coarser, then the keys with the fewest RPCs go.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/time_histogram.h"
#include "protocol/base/budget.h"
#include "protocol/base/enum_names.h"
#include "protocol/base/serialize.h"
#include "session/rpcrdma/phases.h"

namespace stag::analysis {

// What happened on the connection while an RPC was under way.
enum class Meanwhile : uint8_t {
  kRnrNak,       // a receiver was not ready
  kSequenceNak,  // packets were lost, and sent again
  kGap,          // packets are missing from the capture
  kCredits,      // all credits were used
};
inline constexpr size_t kMeanwhiles = 4;

// Packets of an RPC waited for so long, until `frame` delivered the last of them.
struct SampleWait {
  uint64_t frame = 0;
  int64_t ns = 0;
  delivery::Cause cause = delivery::Cause::kTimer;
};

// One answered RPC.
struct LatencySample {
  uint32_t file = 0;  // the number of its capture, for a command that reads several
  std::string key;
  std::string name;  // its procedure
  uint32_t connection = 0;
  uint64_t number = 0;  // of its Call, on the connection
  uint32_t xid = 0;
  uint64_t call_frame = 0, reply_frame = 0;
  bool backward = false;              // the server calls
  int64_t call_ns = 0, reply_ns = 0;  // when they were sent
  int64_t since_start_ns = 0;         // from the first frame of the capture to the Call
  int64_t rtt_ns = 0;
  session::Phases phases;
  std::array<bool, kMeanwhiles> meanwhile{};
  std::vector<SampleWait> waits;  // one after the other
  int64_t silence_ns = 0;         // the longest time within it without any packet on its connection

  // The phase that took the longest, when all are known.
  std::optional<session::Phase> LongestPhase() const;
};

// The times of the RPCs of one key: the round trip, then the phases.
inline constexpr size_t kTimes = 1 + session::kPhases;
inline constexpr std::array<std::string_view, kTimes> kTimeNames{"rtt",  "to_first_read", "pull",    "service",
                                                                 "push", "finish",        "recovery"};

// What RPCs with about the same round-trip time have in common.
struct LatencyProfile {
  uint64_t count = 0;
  uint64_t complete = 0;                                // all phases are known ...
  std::array<uint64_t, session::kPhases> phase_sums{};  // ... ns in each, of those
  std::array<uint64_t, kMeanwhiles> meanwhile{};        // RPCs during which it happened
  void Add(const LatencyProfile& other);
};

struct LatencyHistograms {
  std::array<TimeHistogram, kTimes> times;
  std::map<uint32_t, LatencyProfile> profiles;  // by eighths of a power of two of the round-trip time
  void Add(const LatencySample& sample);
  void Merge(const LatencyHistograms& other);
  void Coarsen(unsigned coarseness);
  uint64_t bytes() const;
  // Of the slowest RPCs: one in a hundred, and those that are about as slow as the fastest of these.
  LatencyProfile Slowest() const;
};

class LatencyTable {
 public:
  static constexpr size_t kMaxKeys = 4096;

  // `slowest`: how many RPCs to keep. `memory`: bytes, of the rows.
  LatencyTable(size_t slowest, uint64_t memory) : kept_(slowest), budget_(memory) {}
  void Add(const LatencySample& sample);
  // The round-trip time of an RPC of which nothing else is wanted; it is in no profile.
  void AddRoundTrip(const std::string& key, uint64_t ns);
  // Names for keys; rows that then have the same key become one.
  void Rename(const std::unordered_map<std::string, std::string>& names);

  // The row of a key of Keys().
  const LatencyHistograms& Row(const std::string& key) const { return rows_.at(key).row; }
  const LatencyHistograms* Find(const std::string& key) const;
  size_t size() const { return rows_.size(); }  // keys
  // Those that took the most time first.
  std::vector<std::string> Keys() const;
  std::vector<LatencySample> Slowest() const;
  uint64_t count() const { return count_; }        // RPCs
  uint64_t left_out() const { return left_out_; }  // RPCs of keys over the limit
  // All histograms are as coarse as that (TimeHistogram::ErrorPercent).
  unsigned coarseness() const { return coarseness_; }

 private:
  struct Charged {
    explicit Charged(Charge&& held) : charge(std::move(held)) {}
    Charge charge;
    LatencyHistograms row;
  };
  using Rows = std::unordered_map<std::string, Charged>;
  static uint64_t BytesOf(const Rows::value_type& row);

  Rows::value_type* CountIn(const std::string& key);
  void Settle(Rows::value_type& row);
  void Relieve();

  const size_t kept_;
  Budget budget_;
  Rows rows_;
  unsigned coarseness_ = 0;
  bool full_ = false;                   // a key had to go: none comes in, so that no row lacks its first RPCs
  std::vector<LatencySample> slowest_;  // a heap: the fastest first
  uint64_t count_ = 0, left_out_ = 0;
};

}  // namespace stag::analysis

namespace stag {

template <>
struct EnumNames<analysis::Meanwhile> {
  static constexpr std::array<std::string_view, analysis::kMeanwhiles> kNames = {"rnr_nak", "sequence_nak", "gap",
                                                                                 "credits"};
};

// For Serialize.
STAG_MEMBERS(session::Phases, ns, complete)
STAG_MEMBERS(analysis::LatencySample, file, key, name, connection, number, xid, call_frame, reply_frame, backward,
             call_ns, reply_ns, since_start_ns, rtt_ns, phases, meanwhile, waits, silence_ns)
STAG_MEMBERS(analysis::SampleWait, frame, ns, cause)

}  // namespace stag
