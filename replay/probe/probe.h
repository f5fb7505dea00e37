// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probe: one active test of a live RPC-over-RDMA server, what it came to, and the catalogue of all probes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/enum_names.h"

namespace stag::probe {

class Bench;

enum class Verdict : uint8_t { kPassed, kFailed, kInconclusive, kSkipped };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string expected, came;         // kFailed: empty when only findings made it fail
  std::string during;                 // kFailed: in which of the probe's cases; empty: it has one
  std::string why;                    // kInconclusive, kSkipped
  std::vector<std::string> findings;  // errors that the conformance engine found on the server's side; make it fail
  std::vector<std::string> advice;    // what is allowed and yet not as it SHOULD be; warnings of the engine
  std::chrono::nanoseconds time{0};
};

struct Probe {
  std::string_view id;     // "header.version": the topic, a dot, the name; never changes its meaning
  std::string_view title;  // what the server is to do, in a few words
  std::string_view asks;   // what is done, and what must come of it
  // What is tested, each separated by ", ": sections ("RFC 8166 4.5.1"), and rules of the conformance catalogue, which
  // may be none.
  std::string_view sections, rules;
  void (*run)(Bench&);  // returns: passed; otherwise throws Ended (bench.h)
  // What it can do to its peer; such a probe runs only where it is named.
  std::string_view danger = {};
};

// All of them, in the order in which they run; one by its id (nullptr: there is none).
std::span<const Probe> Catalogue();
const Probe* Find(std::string_view id);
// Of a specification: "RFC 8166", or a section of it with all below it: "RFC 8166", "4.4".
struct SectionSelector {
  std::string document, section;  // section: may be empty
};
// From "rfc8166" or "rfc8166-4.4", with a colon for the hyphen and letters of either case; nullopt: it is none.
std::optional<SectionSelector> ParseSection(std::string_view text);
// Whether `selector` is the probe's id or topic, or the probe tests a section that it stands for.
bool Selects(std::string_view selector, const Probe& probe);
// The parts of `text`, separated by ", ".
std::vector<std::string_view> Parts(std::string_view text);

// The topics, each in a file of its own.
std::span<const Probe> SetupProbes();
std::span<const Probe> RpcProbes();
std::span<const Probe> HeaderProbes();
std::span<const Probe> ChunkProbes();
std::span<const Probe> CreditProbes();
std::span<const Probe> MemoryProbes();
std::span<const Probe> XidProbes();
std::span<const Probe> RegionProbes();
std::span<const Probe> ConnectionProbes();
std::span<const Probe> Nfs3Probes();
std::span<const Probe> AgainProbes();
std::span<const Probe> SessionProbes();
std::span<const Probe> Nfs4Probes();
std::span<const Probe> CallbackProbes();
std::span<const Probe> GssProbes();

}  // namespace stag::probe

template <>
struct stag::EnumNames<stag::probe::Verdict> {
  static constexpr std::array<std::string_view, 4> kNames = {"passed", "failed", "inconclusive", "skipped"};
};
