// SPDX-License-Identifier: GPL-2.0-or-later
//
// ClientWork: what makes the client under test work: a command, or a load of our own in a thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "protocol/base/result.h"
#include "replay/generate/options.h"

namespace stag::probe::client {

// How the work of a client ended.
struct Worked {
  enum class How : uint8_t {
    kFine,    // all of it, and every byte that was read was right
    kFailed,  // some of it failed, and was said to
    kWrong,   // bytes were wrong
    kDied,    // the client died
  };
  How how = How::kFine;
  std::string text;  // what it says
};

class ClientWork {
 public:
  virtual ~ClientWork() = default;
  // Begins the work, from connecting to disconnecting. `probe`: the id of what is played to it, for those who look.
  virtual Result<void> Start(const std::string& probe) = 0;
  // Whether it has ended, and how.
  virtual std::optional<Worked> Ended() = 0;
  // Asks it to end, soon; does not wait. The server must go on refusing what it asks for until it has ended.
  virtual void Stop() = 0;
};

// The shell runs `command` with the environment that `variables` ("NAME=value") add, and PROBE. Its exit status: 0, all
// is fine; kWrongStatus: bytes were wrong; another: something failed. What it prints last is the text.
inline constexpr int kWrongStatus = 3;
std::unique_ptr<ClientWork> MakeCommandWork(std::string command, std::vector<std::string> variables);

// A Generator over `transport`, which must outlive it, with `load`.
std::unique_ptr<ClientWork> MakeGeneratorWork(endpoint::Transport& transport, generate::LoadOptions load);
// READs, WRITEs and others of NFSv3 at `to`, by every kind of chunk, with all data verified: what all probes need.
generate::LoadOptions GeneratorLoad(const endpoint::HostPort& to, std::vector<std::byte> directory);

}  // namespace stag::probe::client
