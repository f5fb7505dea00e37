// SPDX-License-Identifier: GPL-2.0-or-later
//
// Judge: the conformance engine on everything that the probes and their peer do. What the peer broke counts; what the
// probes break is theirs to break.
#pragma once

#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "replay/endpoint/event_log.h"

namespace stag::probe {

// Who is probed.
enum class Judged : uint8_t { kServer, kClient };

class Judge final : public fabric::Sink, conformance::FindingSink {
 public:
  // `also`: gets every event, too; nullptr: nobody.
  explicit Judge(fabric::Sink* also, Judged judged = Judged::kServer) : also_(also), judged_(judged) {}
  // For EndpointOptions::events.
  endpoint::EventLog* log() { return &log_; }

  struct Found {
    std::vector<std::string> errors, warnings;  // "REPLY-004: what it is"; each once
  };
  // Since the last time.
  Found Take();

 private:
  void OnEvent(const fabric::Event& event) override;
  void OnFinding(const conformance::Finding& finding) override;

  fabric::Sink* also_;
  const Judged judged_;
  Found found_;
  conformance::Engine engine_{{.profile = conformance::Profile::kRfc8166, .select = {}, .ignore = {}}, *this};
  session::Session session_{{}, {&engine_}};
  endpoint::EventLog log_{*this};
};

}  // namespace stag::probe
