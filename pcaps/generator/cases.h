// SPDX-License-Identifier: GPL-2.0-or-later
//
// The cases: for each rule, captures that break it and near misses that do not. A case is a script and what it shows;
// the findings that it must give are said in the script, from the specification, beside the action that causes them.
// Each group of rules has a file; AllCases lists the groups.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "pcaps/generator/wire_script.h"

namespace stag::evidence {

using conformance::Profile;

enum class Kind : uint8_t { kBreaks, kNearMiss };
inline constexpr Kind kBreaks = Kind::kBreaks, kNearMiss = Kind::kNearMiss;

struct Case {
  std::string_view rule;  // "HDR-003"
  Kind kind = kBreaks;
  std::string_view name;   // "long-call": in breaks-long-call.pcap; empty for breaks.pcap
  std::string_view shows;  // one or two sentences
  void (*play)(WireScript&) = nullptr;
  Fabric fabric = Fabric::kRoce;
  Profile profile = Profile::kAuto;  // that the capture is to be checked with
};

// One for each file of cases.
std::span<const Case> HdrCases();
std::span<const Case> FrameXidCases();
std::span<const Case> ReadListCases();
std::span<const Case> WriteListCases();
std::span<const Case> WriteChunkUseCases();
std::span<const Case> ReplyChunkCases();
std::span<const Case> LongModelCases();
std::span<const Case> ThresholdCases();
std::span<const Case> ConnectionCases();
std::span<const Case> PrivateDataCases();
std::span<const Case> InvalidationCases();
std::span<const Case> CreditCases();
std::span<const Case> ReceiveCases();
std::span<const Case> BackwardCases();
std::span<const Case> ErrorCases();
std::span<const Case> AnswerCases();
std::span<const Case> MemoryCases();
std::span<const Case> NetidCases();
std::span<const Case> LegacyCases();
std::span<const Case> CcpCases();
std::span<const Case> PaddingCases();
std::span<const Case> ReductionCases();
std::span<const Case> GssCases();
std::span<const Case> FabricCases();

// All of them.
std::vector<std::span<const Case>> AllCases();

}  // namespace stag::evidence
