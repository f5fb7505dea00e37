// SPDX-License-Identifier: GPL-2.0-or-later
//
// ProbeRun: the results of one run of stag probe, as its JSON lines have them. Several are put side by side as text,
// JSON lines or a page of HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/base/output.h"
#include "protocol/base/result.h"
#include "replay/probe/probe.h"
#include "text/json.h"

namespace stag::cli {

struct ProbeResult {
  std::string id, title;
  std::vector<std::string> spec, rules;
  probe::Outcome outcome;
};

struct ProbeRun {
  std::string name;         // in headings; of several runs each has its own
  std::string file;         // empty: it was not read from one
  bool of_client = false;   // else of a server
  std::string peer;         // as the user named it: a server, or the command of a client
  std::string transport;    // "iwarp"
  size_t not_run = 0;       // probes that were selected
  std::string why_not_run;  // may be empty
  bool ended = false;       // it has its summary
  std::vector<ProbeResult> results;

  const ProbeResult* Find(std::string_view id) const;  // nullptr: it has none
  size_t Count(probe::Verdict verdict) const;
};

// The output of stag probe --format jsonl. A run that was ended from outside has no summary, and is read, too. The
// error names `path`, and the line.
Result<ProbeRun> ReadProbeRun(const std::string& path);

// A probe, and its result in each run (nullptr: none), in their order.
struct ComparedProbe {
  const ProbeResult* probe = nullptr;  // one of `results`
  std::vector<const ProbeResult*> results;
  bool differs = false;  // two of the results have different verdicts
};
// Probes that differ come first, those that failed somewhere before others; else the order is that of the runs.
std::vector<ComparedProbe> Compare(const std::vector<ProbeRun>& runs);

// The members of a JSON object that say how a probe came out: all but its verdict.
void PutOutcome(JsonWriter& json, const probe::Outcome& outcome);
template <typename List>
void PutTexts(JsonWriter& json, std::string_view key, const List& texts) {
  json.Key(key).BeginArray();
  for (const auto& text : texts) json.Value(text);
  json.EndArray();
}
std::string_view ColorOf(probe::Verdict verdict, const Style& style);

}  // namespace stag::cli
