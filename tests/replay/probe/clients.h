// SPDX-License-Identifier: GPL-2.0-or-later
//
// What tests of client probes have in common: a server with files, and a client of our own in a thread.
#pragma once

#include "replay/probe/client/files.h"
#include "replay/probe/client/runner.h"
#include "tests/replay/probe/probing.h"

namespace stag::probe::test {

inline Patience QuickPatience() {
  Patience patience;
#ifdef STAG_SANITIZED  // what a client does takes so much longer
  patience.answer = std::chrono::seconds{12};
  patience.quiet = std::chrono::milliseconds{32};
#else
  patience.answer = std::chrono::seconds{3};
  patience.quiet = std::chrono::milliseconds{8};
#endif
  return patience;
}

// Probes a client of our own.
class OwnClient {
 public:
  // `connects`: its transport, which must outlive this. `change`: of the load.
  explicit OwnClient(endpoint::Transport& connects, const std::function<void(generate::LoadOptions&)>& change = {},
                     const Patience& patience = QuickPatience()) {
    EXPECT_TRUE(client::Furnish(fs_));
    generate::LoadOptions load = client::GeneratorLoad({"127.0.0.1", listener_->port()}, RootHandle(fs_));
    if (change) change(load);
    work_ = client::MakeGeneratorWork(connects, load);
    runner.emplace(*listener_, *service_, nullptr, *work_, patience);
  }
  std::optional<client::ClientRunner> runner;

 private:
  serve::MemoryFs fs_{64 << 20};
  const std::unique_ptr<serve::RpcService> service_ = serve::MakeNfsMemoryService(fs_);
  const std::unique_ptr<endpoint::Transport> transport_ = endpoint::MakeSoftIwarp();
  const std::unique_ptr<endpoint::Listener> listener_ = *transport_->Listen({"127.0.0.1", 0});
  std::unique_ptr<client::ClientWork> work_;
};

}  // namespace stag::probe::test
