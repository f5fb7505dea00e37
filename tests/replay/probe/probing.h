// SPDX-License-Identifier: GPL-2.0-or-later
//
// What tests of probes have in common: whom to ask, and how an outcome reads.
#pragma once

#include <map>

#include "protocol/base/writer.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/probe/runner.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/replay/serve/server_thread.h"

namespace stag::probe::test {

// The NFSv3 handle of the root.
inline std::vector<std::byte> RootHandle(serve::MemoryFs& fs) {
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  return {handle.begin() + 4, handle.end()};  // without its length
}

inline ProbeOptions To(uint16_t port) {
  ProbeOptions options;
  options.to = {"127.0.0.1", port};
  options.patience.answer = std::chrono::milliseconds{1000};
  options.patience.quiet = std::chrono::milliseconds{5};
  return options;
}

// How an outcome reads, for failing tests and for comparing.
inline std::string Text(const Outcome& outcome) {
  std::string text(NameOf(outcome.verdict));
  if (!outcome.expected.empty()) text += "; expected " + outcome.expected + "; came " + outcome.came;
  if (!outcome.during.empty()) text += "; during " + outcome.during;
  if (!outcome.why.empty()) text += "; " + outcome.why;
  for (const std::string& finding : outcome.findings) text += "; " + finding;
  for (const std::string& advice : outcome.advice) text += "; advice: " + advice;
  return text;
}

}  // namespace stag::probe::test
