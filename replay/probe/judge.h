// SPDX-License-Identifier: GPL-2.0-or-later
//
// Judge: the conformance engine on everything that the probes and the server do. What the server broke counts; what the
// probes break is theirs to break.
#pragma once

#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "replay/endpoint/event_log.h"

namespace stag::replay::probe {

class Judge final : public fabric::Sink, conformance::FindingSink {
 public:
  // `also`: gets every event, too; nullptr: nobody.
  explicit Judge(fabric::Sink* also) : also_(also) {}
  // For EndpointOptions::events.
  EventLog* log() { return &log_; }

  struct Found {
    std::vector<std::string> errors, warnings;  // "REPLY-004: what it is"; each once
  };
  // Since the last time.
  Found Take();

 private:
  void OnEvent(const fabric::Event& event) override;
  void OnFinding(const conformance::Finding& finding) override;

  fabric::Sink* also_;
  Found found_;
  conformance::Engine engine_{{.profile = conformance::Profile::kRfc8166, .select = {}, .ignore = {}}, *this};
  session::Session session_{{}, {&engine_}};
  EventLog log_{*this};
};

}  // namespace stag::replay::probe
