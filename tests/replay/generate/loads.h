// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whole loads against servers in the same process, over software iWARP on loopback.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/engine.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/generate/generator.h"
#include "replay/serve/rpc_service.h"
#include "session/rpcrdma/session.h"
#include "tests/replay/serve/server_thread.h"
#include "tests/support/finding_sinks.h"

namespace stag::generate::test {

using namespace stag::test;
using std::chrono::milliseconds;

// A server over software iWARP.
struct Running {
  explicit Running(rpcrdma::Service& service, const serve::ServerOptions& options = {}, uint16_t port = 0)
      : thread(*transport, service, options, port) {}
  uint16_t port() const { return thread.port(); }
  std::unique_ptr<endpoint::Transport> transport = endpoint::MakeSoftIwarp();
  serve::test::ServerThread thread;
};

inline LoadOptions To(uint16_t port, LoadMode mode, uint64_t calls) {
  LoadOptions load;
  load.mode = mode;
  load.to = {"127.0.0.1", port};
  load.calls = calls;
  load.depth = load.requester.credits = 16;
  load.file_size = 256 << 10;
  load.verify = mode != LoadMode::kNull;
  if (mode == LoadMode::kNull) Weight(load.jobs.mix, Operation::kNull) = 1;
  if (mode == LoadMode::kEcho) Weight(load.jobs.mix, Operation::kEcho) = 1;
  if (mode == LoadMode::kNfs3 || mode == LoadMode::kNfs4) {
    Weight(load.jobs.mix, Operation::kRead) = 5;
    Weight(load.jobs.mix, Operation::kWrite) = 4;
    Weight(load.jobs.mix, Operation::kGetattr) = 1;
  } else {
    load.files = 0;
  }
  return load;
}

// Runs it; what both sides did on the wire is without errors.
struct Ran {
  explicit Ran(const LoadOptions& load, bool judged = true) {
    FindingTexts findings;
    conformance::Engine engine({}, findings);
    session::Session session({}, {&engine});
    endpoint::EventLog log(session);
    const auto transport = endpoint::MakeSoftIwarp();
    Generator generator(*transport, load, judged ? &log : nullptr);
    const auto ran = generator.Run();
    error = ran ? "" : ran.error().message;
    session.Finish();
    EXPECT_EQ(findings.all, std::vector<std::string>{});
    report = std::make_unique<LoadReport>(generator.report());
    for (const auto& [text, times] : report->troubles) troubles += text + "\n";
  }
  const OperationReport& of(Operation operation) const { return report->of(operation); }
  std::unique_ptr<LoadReport> report;
  std::string error, troubles;
};

}  // namespace stag::generate::test
