// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/fault_rule.h"

#include <algorithm>
#include <charconv>

#include "cli/base/common_options.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "text/parse.h"

namespace stag::cli {

namespace {

using relay::FaultKind;
using relay::FaultRule;

struct Word {
  std::string_view text;
  FaultKind kind;
};
constexpr Word kKinds[] = {{"drop", FaultKind::kDrop},
                           {"drop-reply", FaultKind::kDropReply},
                           {"delay", FaultKind::kDelay},
                           {"error", FaultKind::kError},
                           {"credit", FaultKind::kCredit},
                           {"corrupt-xid", FaultKind::kCorruptXid},
                           {"disconnect", FaultKind::kDisconnect},
                           {"bad-handle", FaultKind::kBadHandle},
                           {"short-chunk", FaultKind::kShortChunk}};

constexpr std::chrono::seconds kLongestDelay{60};

bool TakeNumber(std::string_view text, uint32_t& out) {
  const bool hex = text.starts_with("0x");
  const auto number = ParseNumber<uint32_t>(text.substr(hex ? 2 : 0), hex ? 16 : 10);
  out = number.value_or(0);
  return number.has_value();
}
bool ParseDecimal(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
  return error == std::errc{} && end == text.data() + text.size();
}

// Whether any program that we know has a procedure or operation of that name, which is in upper case.
bool IsKnown(const std::string& name) {
  const auto called = [&](const char* other) { return other && name == other; };
  for (const uint32_t program :
       {nfs::kNfsProgram, nfs::kMountProgram, nfs::kNlmProgram, nfs::kNsmProgram, nfs::kNfsAclProgram, 0x40000000u})
    for (uint32_t version = 1; version <= 4; ++version)
      for (uint32_t procedure = 0; procedure < 32; ++procedure)
        if (called(rpc::ProcedureName(program, version, procedure))) return true;
  for (uint32_t op = 0; op < 128; ++op)
    if (called(nfs::OperationName(op)) || called(nfs::CallbackOperationName(op))) return true;
  return false;
}

// Of the Calls that are meant.
std::string ParseWhom(std::string_view text, FaultRule& rule) {
  if (text == "any") return {};
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (TakeNumber(text.substr(0, colon), rule.program.emplace()) &&
        TakeNumber(text.substr(colon + 1), rule.procedure.emplace()))
      return {};
    return std::string(text) + " is not PROGRAM:PROCEDURE, like 100003:6";
  }
  rule.name = UpperCase(text);
  if (IsKnown(rule.name)) return {};
  return "there is no procedure " + std::string(text) + ": any, a name like READ, or PROGRAM:PROCEDURE is wanted";
}

std::string ParseValue(std::string_view word, std::optional<std::string_view> value, FaultRule& rule) {
  const std::string given(value.value_or(""));
  switch (rule.kind) {
    case FaultKind::kDelay: {
      const auto ns = ParseDuration(given);
      rule.delay = std::chrono::nanoseconds(ns.value_or(0));
      return ns && rule.delay <= kLongestDelay ? "" : "delay wants a time of at most 60 s, like delay:20ms";
    }
    case FaultKind::kCredit:
      return value && TakeNumber(*value, rule.value) ? "" : "credit wants a number, like credit:1";
    case FaultKind::kError:
      rule.value = given == "ERR_VERS" ? rpcrdma::kErrVers : rpcrdma::kErrChunk;
      return given == rpcrdma::ErrorName(rule.value) ? "" : "error wants error:ERR_CHUNK or error:ERR_VERS";
    default: return value ? std::string(word) + " has no value" : "";
  }
}

}  // namespace

Result<FaultRule> ParseFaultRule(std::string_view text) {
  const auto fail = [&](const std::string& why) { return Fail(std::string(text) + ": " + why); };
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return fail("not like KIND@PROCEDURE/PERCENT, drop@READ/5 for example");
  const std::string_view what = text.substr(0, at);
  std::string_view whom = text.substr(at + 1);
  const size_t colon = what.find(':');
  const std::string_view word = what.substr(0, colon);
  const auto kind = std::ranges::find(kKinds, word, &Word::text);
  if (kind == std::end(kKinds)) {
    std::string words;
    for (const Word& k : kKinds) words += (words.empty() ? "" : ", ") + std::string(k.text);
    return fail("the kinds are " + words);
  }
  FaultRule rule;
  rule.kind = kind->kind;
  std::optional<std::string_view> value;
  if (colon != std::string_view::npos) value = what.substr(colon + 1);
  if (const std::string wrong = ParseValue(word, value, rule); !wrong.empty()) return fail(wrong);
  if (const size_t slash = whom.find('/'); slash != std::string_view::npos) {
    if (!ParseDecimal(whom.substr(slash + 1), rule.percent) || !(rule.percent > 0 && rule.percent <= 100))
      return fail("the percentage is a number above 0 and up to 100");
    whom = whom.substr(0, slash);
  }
  if (const std::string wrong = ParseWhom(whom, rule); !wrong.empty()) return fail(wrong);
  return rule;
}

}  // namespace stag::cli
