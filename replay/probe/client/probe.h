// SPDX-License-Identifier: GPL-2.0-or-later
//
// ClientProbe: one active test of a client. Stag is the server, and does everything right but for a Trick: one thing
// that is wrong, late or rare. What the client makes of it is judged.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/probe/probe.h"
#include "replay/probe/tamper.h"
#include "replay/rpcrdma/responder.h"

namespace stag::probe::client {

// What a trick does when a client asks for a connection.
enum class Greeting : uint8_t {
  kAccept,
  kAcceptLate,  // after Play::late
  kReject,      // with Trick::reject_data
  kHangUp,      // without an answer
  kAcceptAndHangUp,
};

// What all connections of one run have in common.
struct Play {
  std::chrono::milliseconds quiet{50};  // for what must not come
  std::chrono::milliseconds late{200};  // for what comes late
  size_t connections = 0;               // asked for
  size_t calls = 0;                     // that came, of all connections
  size_t left = 0;                      // Calls that may still be picked
  size_t fired = 0;                     // times that the trick was done
  size_t fired_on = 0;                  // ordinal of the connection of the last time
  size_t newest_then = 0;               // connections asked for by then
  size_t calls_elsewhere = 0;           // that came since, on connections that are newer
  bool broke = false;                   // a connection of the trick ended by the client, or by a refusal of its
  bool ended_here = false;              // the trick itself ended a connection
  std::set<size_t> killed;              // connections that end without a word, by ordinal
  bool leaked = false;                  // an RDMA Read that had to be refused brought bytes
  std::string trouble;                  // why one of the trick's connections ended
  std::vector<std::string> advice;

  void Fire(const Scene& scene);
  // The trick ends this connection: in order, or without a word.
  void HangUp(Scene& scene);
  void Kill(const Scene& scene);
};

// The Reply to a Call that the trick picked, as the server would send it.
struct Turn {
  Seen& reply;
  const Seen& call;
  std::optional<uint32_t>& invalidate;
  Scene& scene;
  Play& play;

  // Sends the Reply as it is now once Play::quiet is over.
  void Later() const { Later(play.quiet); }
  void Later(std::chrono::milliseconds time) const;
  // Sends `wrong` now and the Reply later; the result is what a hook returns: the Reply does not go out.
  bool WrongFirst(Buffer wrong) const;
};

struct Trick {
  rpcrdma::ResponderOptions responder;  // of the server: credits 32, thresholds of 4096 bytes, R set
  Buffer reject_data;                   // of Greeting::kReject
  // Of connection `ordinal`, from 1: changes the options, and gives private data that are sent instead of what they
  // say; nullopt: as they say.
  std::function<std::optional<Buffer>(size_t ordinal, rpcrdma::ResponderOptions&)> terms = {};
  // Whether the terms alone are the trick: it is done with the first connection.
  bool in_terms = false;
  std::function<Greeting(size_t ordinal, Play&)> greet = {};

  std::function<bool(const Seen& call)> picks = {};  // empty: every Call
  std::string_view needs = "Call";                   // what it picks, in words
  size_t after = 8;                                  // Calls of the run that are left alone
  size_t times = 1;                                  // Calls that are picked, at most
  bool by_hand = false;                              // the hooks say when it is done (Play::Fire)
  // A picked Call, as it comes; false: the server does not see it.
  std::function<bool(Seen& call, Scene&, Play&)> call = {};
  // The Reply to a picked Call; false: it does not go out.
  std::function<bool(Turn&)> reply = {};
  // An RDMA Write of the server; false: it only believes that it writes.
  std::function<bool(Bytes from, uint32_t handle, uint64_t offset, Scene&, Play&)> write = {};
  // Every message of the client, before anything else is done; may end the probe (Failed).
  std::function<void(const Seen&, Scene&, Play&)> watch = {};
};

// How a reaction of the client is taken.
enum class Taken : uint8_t {
  kFault,    // it fails the probe
  kAdvice,   // it is allowed, and not as it should be
  kAllowed,  //
  kRequired  // its absence fails the probe: what is behind the trick, in order, was taken
};

struct ClientProbe : Probe {  // `run` is null
  constexpr ClientProbe(std::string_view name, std::string_view in_words, std::string_view how, std::string_view spec,
                        std::string_view of_catalogue, Taken failing_work, Taken end, void (*trick)(Trick&),
                        std::string_view harm = {})
      : Probe{name, in_words, how, spec, of_catalogue, nullptr, harm},
        failing(failing_work),
        ending(end),
        make(trick) {}

  Taken failing;  // some of the client's work fails
  Taken ending;   // the connection ends
  void (*make)(Trick&);
};

// It needs a Call that no other probe does, and that a client makes for it alone.
inline constexpr std::string_view kReadlinkProbe = "form.readlink-without-attributes";

std::span<const ClientProbe> ClientCatalogue();
// A probe of a server or of a client, by its id (nullptr: there is none).
const Probe* FindAny(std::string_view id);

// The topics, each in a file of its own.
std::span<const ClientProbe> AcceptProbes();
std::span<const ClientProbe> ErrorProbes();
std::span<const ClientProbe> GrantProbes();
std::span<const ClientProbe> AnswerProbes();
std::span<const ClientProbe> FormProbes();
std::span<const ClientProbe> MessageProbes();
std::span<const ClientProbe> RemoteProbes();
std::span<const ClientProbe> BackwardProbes();
std::span<const ClientProbe> CloseProbes();

}  // namespace stag::probe::client
