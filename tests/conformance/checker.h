// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checker: fabric events through a Session into an Engine, and what it found. With it, makers of NFSv3 messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "tests/support/event_script.h"

namespace stag::test {

using conformance::EngineOptions;
using conformance::Finding;
using conformance::Profile;
using conformance::Severity;

inline constexpr fabric::Side kClient = 0, kServer = 1;

struct Findings : conformance::FindingSink {
  std::vector<Finding> all;
  void OnFinding(const Finding& finding) override { all.push_back(finding); }
};

class Checker {
 public:
  explicit Checker(EngineOptions options = {.profile = Profile::kRfc8166, .select = {}, .ignore = {}})
      : engine(options, findings), session({}, {&engine}), script(session) {}
  explicit Checker(Profile profile) : Checker(EngineOptions{.profile = profile, .select = {}, .ignore = {}}) {}

  // Only(id): ids of findings at warning or above; notes come with them when asked for.
  std::vector<std::string> Ids(bool notes = false) const {
    std::vector<std::string> out;
    for (const Finding& f : findings.all)
      if (notes || f.severity != Severity::kNote) out.emplace_back(f.rule->id);
    return out;
  }
  const Finding* Find(std::string_view id) const {
    for (const Finding& f : findings.all)
      if (f.rule->id == id) return &f;
    return nullptr;
  }

  Findings findings;
  conformance::Engine engine;
  session::Session session;
  EventScript script;
};

using Id = std::vector<std::string>;

// --- NFSv3 (RFC 1813)
inline constexpr uint32_t kNfs = 100003, kGetattr = 1, kReadlink = 5, kRead = 6, kWrite = 7, kReaddir = 16;

inline Buffer FileHandle() { return Opaque(Pattern(32)); }
inline Buffer GetattrCall(uint32_t xid) { return MakeCall(xid, kNfs, 3, kGetattr, FileHandle()); }
inline Buffer GetattrReply(uint32_t xid) { return MakeReply(xid, Join({Words({0}), Pattern(84)})); }
inline Buffer ReadCall(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, kRead, Join({FileHandle(), Words({0, 0, count})}));
}
// `data` inline, or its count alone when reduced.
inline Buffer ReadReply(uint32_t xid, uint32_t count, bool reduced) {
  return MakeReply(xid, Join({Words({0, 0, count, 1}), reduced ? Words({count}) : Opaque(Pattern(count))}));
}
// A WRITE whose data was moved: ends with the count.
inline Buffer WriteCall(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, kWrite, Join({FileHandle(), Words({0, 0, count, 2, count})}));
}
inline Buffer WriteReply(uint32_t xid, uint32_t count) {
  return MakeReply(xid, Join({Words({0, 0, 0, count, 2}), Pattern(8)}));
}

inline rpcrdma::Header Msg(uint32_t xid) { return MakeHeader(rpcrdma::kMsg, xid); }
inline rpcrdma::Header Nomsg(uint32_t xid) { return MakeHeader(rpcrdma::kNomsg, xid); }

// A first exchange, so that credits are known and both sides have spoken version 1.
inline void Greet(Checker& c, uint32_t xid = 0x100) {
  c.script.Send(kClient, Msg(xid), MakeCall(xid, kNfs, 3, 0));
  c.script.Send(kServer, Msg(xid), MakeReply(xid));
}

}  // namespace stag::test
