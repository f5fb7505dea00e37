// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checker: fabric events through a Session into an Engine, and what it found.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "tests/support/event_script.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/nfs_messages.h"

namespace stag::test {

using conformance::Finding;
using conformance::Profile;
using conformance::Severity;

class Checker {
 public:
  // `select` and `ignore` as those of EngineOptions.
  explicit Checker(Profile profile = Profile::kRfc8166, std::vector<std::string> select = {},
                   std::vector<std::string> ignore = {}, const session::SessionOptions& options = {})
      : engine({.profile = profile, .select = std::move(select), .ignore = std::move(ignore)}, findings),
        session(options, {&engine}),
        script(session) {}

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

// A first exchange, so that credits are known and both sides have spoken version 1.
inline void Greet(Checker& c, uint32_t xid = 0x100) {
  c.script.Send(kClient, Msg(xid), MakeCall(xid, kNfs, 3, 0));
  c.script.Send(kServer, Msg(xid), MakeReply(xid));
}

}  // namespace stag::test
