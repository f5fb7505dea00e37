// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of connections as such: many, idle, silent ones, and ones that end in the middle of a Call (RFC 8166 sections
// 3.3 and 4.5.5; RFC 8797 section 4).
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "replay/probe/bench.h"
#include "replay/rpcrdma/settings.h"

namespace stag::probe {
namespace {

using Clock = std::chrono::steady_clock;

void Idle(Bench& bench) {
  constexpr int kQuietTimes = 20;
  Link& link = bench.Connect();
  bench.AskNull(link);
  for (int i = 0; i < kQuietTimes; ++i) link.ExpectQuiet("an idle connection stays as it is");
  bench.AskNull(link);
}

void Silent(Bench& bench) {
  constexpr int kSilent = 16;
  std::vector<Link*> silent;
  silent.reserve(kSilent);
  for (int i = 0; i < kSilent; ++i) silent.push_back(&bench.Connect());
  bench.AskNull(bench.Connect());
  for (Link* link : silent) bench.AskNull(*link);
}

// Connections that end without a word with the Call of `make` under way; then another one works.
template <typename MakeCall>
void VanishWith(Bench& bench, MakeCall make) {
  constexpr int kTimes = 12;
  for (int i = 0; i < kTimes; ++i) {
    Link& link = bench.Connect();
    bench.AskNull(link);
    const Call call = make(link);
    link.Send(call);
    bench.Vanish(link);
  }
  bench.AskNull(bench.Connect());
}

void VanishCall(Bench& bench) {
  VanishWith(bench, [&](Link&) { return bench.Null(); });
}

void VanishLongCall(Bench& bench) {
  VanishWith(bench, [&](Link& link) {
    Call call = bench.Null();
    link.MakeLong(call, {4, 8, static_cast<uint32_t>(call.rpc.size()) - 12});
    return call;
  });
}

void VanishLongReply(Bench& bench) {
  VanishWith(bench, [&](Link& link) {
    Call call = bench.Long(link, kLong);
    SetReply(call, link.Offer({1024, 8192}, endpoint::Access::kRemoteWrite));
    return call;
  });
}

void CloseWithCalls(Bench& bench) {
  constexpr int kConnections = 4, kCalls = 8;
  for (int i = 0; i < kConnections; ++i) {
    Link& link = bench.Connect();
    bench.AskNull(link);
    for (int k = 0; k < kCalls; ++k) link.Send(bench.Null());
    link.Disconnect();
  }
  bench.AskNull(bench.Connect());
}

constexpr Terms kSmall{.private_data = {}, .remote_invalidation = false, .receives = 4, .receive_size = 4096};

// As many connections as the server takes, up to a thousand, in bounded time; each is served, and goes on to be.
void Many(Bench& bench) {
  constexpr size_t kMost = 1000, kFew = 16;
  constexpr std::chrono::seconds kLongest{10};
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const size_t most = std::min<size_t>(kMost, files.rlim_cur / 4);  // both ends may be of this process
  const auto until = Clock::now() + kLongest;
  std::vector<Link*> links;
  while (links.size() < most && Clock::now() < until) {
    Link* const link = bench.TryConnect(kSmall);
    if (!link) break;
    bench.Case(fmt::format("connection {}", links.size() + 1));
    bench.AskNull(*link);
    links.push_back(link);
    (void)links.front()->Next(std::chrono::milliseconds{0});
    if (!links.front()->open()) break;  // the server is at its limit: the longest idle connection gave way
  }
  if (links.size() < kFew)
    Inconclusive(fmt::format("the server takes {} connections at a time, which is its choice", links.size()));
  for (const size_t i : {size_t{0}, links.size() / 2, links.size() - 1}) {
    bench.Case(fmt::format("connection {} of {}, again", i + 1, links.size()));
    try {
      bench.AskNull(*links[i]);
    } catch (const Ended&) {  // a server may end an idle connection for the sake of a new one
      if (links[i]->open() || i + 1 == links.size()) throw;
    }
  }
  const auto ended = std::ranges::count_if(links, [](Link* link) {
    (void)link->Next(std::chrono::milliseconds{0});
    return !link->open();
  });
  if (ended > 0)
    bench.Advise(fmt::format("the server ended {} of {} connections while others began", ended, links.size()));
}

void Churn(Bench& bench) {
  constexpr int kTimes = 60;
  for (int i = 0; i < kTimes; ++i) {
    bench.Case(fmt::format("connection {}", i + 1));
    Link& link = bench.Connect(kSmall);
    bench.AskNull(link);
    link.Disconnect();
    bench.Vanish(link);
  }
}

// Whatever comes of these, or does not come: the server lives on.
void TakeWhatComes(Bench& bench, Link& link) {
  while (link.open() && link.Next(bench.options().patience.quiet)) continue;
}

void NoReceive(Bench& bench) {
  constexpr int kCalls = 8;
  constexpr uint32_t kSeven = 7;  // credits that are requested
  Terms terms = kSmall;
  terms.receives = 1;
  Link& link = bench.Connect(terms);
  for (int i = 0; i < kCalls; ++i) {
    Call call = bench.Null();
    call.header.credit = kSeven;
    if (!link.TrySend(call.Encoded())) break;
  }
  TakeWhatComes(bench, link);
}

void TooLargeSend(Bench& bench) {
  constexpr size_t kBytes = 300'000;  // more than private data can say
  Link& link = bench.Connect();
  std::vector<std::byte> message = bench.Null().Encoded();
  message.resize(kBytes);
  if (link.TrySend(message)) TakeWhatComes(bench, link);
}

// Refusals come as soon as Replies do, more or less: who waits for a time-out makes its peer wait.
void RefusalLatency(Bench& bench) {
  constexpr int kTimes = 9;
  constexpr std::chrono::milliseconds kSlow{100};
  Link& link = bench.Connect();
  bench.AskNull(link);
  const auto took = [&](const Call& call) {
    const auto start = Clock::now();
    const Message answer = link.Ask(call, "RDMA_ERROR");
    if (answer.header.proc != rpcrdma::kError) Failed("RDMA_ERROR", Describe(answer));
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  };
  std::vector<std::chrono::milliseconds> times;
  for (int i = 0; i < kTimes; ++i) {
    Call call = bench.Null();
    if (i % 2 == 0)
      call.header.vers = 99;
    else
      call.header.write_chunks.push_back({0, 0}), call.header.proc = rpcrdma::kNomsg, call.inline_rpc = false;
    bench.Case(i % 2 == 0 ? "version 99" : "an RDMA_NOMSG without a Read list");
    times.push_back(took(call));
  }
  std::ranges::sort(times);
  if (times[times.size() / 2] > kSlow)
    bench.Advise(fmt::format("a refusal takes {} ms, as the median of {}", times[times.size() / 2].count(), kTimes));
}

// Each connection goes by its own private data, whatever those before it said.
struct Variant {
  std::string_view name;
  std::vector<std::byte> data;
  bool may_invalidate;
};

void ConnectWith(Bench& bench, const Variant& variant) {
  bench.Case(std::string(variant.name));
  Link& link = bench.Connect({.private_data = variant.data});
  bench.ExpectTerms(link, variant.may_invalidate, link.reply_threshold());
  link.Settle();
}

void PrivateDataChanges(Bench& bench) {
  const bool can = bench.transport().remote_invalidation();
  const std::vector<std::byte> large = rpcrdma::EncodeSettings(8192, 8192, false),
                               small = rpcrdma::EncodeSettings(1024, 1024, false);
  std::vector<std::byte> behind(3, std::byte{0x5c});
  behind.insert(behind.end(), large.begin(), large.end());
  const Variant variants[] = {{"8192 bytes", large, false},
                              {"none, after 8192 bytes", {}, false},
                              {"R set, after none", rpcrdma::EncodeSettings(4096, 4096, can), can},
                              {"R clear, after R set", rpcrdma::EncodeSettings(4096, 4096, false), false},
                              {"1024 bytes, after 4096", small, false},
                              {"behind foreign bytes, after 1024 bytes", behind, false},
                              {"foreign bytes, after 8192 bytes", std::vector<std::byte>(8, std::byte{0x5c}), false},
                              {"8192 bytes, after none", large, false}};
  for (const Variant& variant : variants) ConnectWith(bench, variant);
}

// Two connections at once, one with R set and one without: only the former gets a Send with Invalidate.
void BesideEachOther(Bench& bench) {
  if (!bench.transport().remote_invalidation())
    Skipped("handles of this side cannot be invalidated by the peer on this transport");
  Link& with = bench.Connect({.remote_invalidation = true});
  Link& without = bench.Connect({.remote_invalidation = false});
  for (int i = 0; i < 3; ++i) {
    (void)bench.Invalidates(with);
    if (bench.Invalidates(without)) Failed("a plain Send, for the R flag is clear", "a Send with Invalidate");
  }
}

}  // namespace

std::span<const Probe> ConnectionProbes() {
  static const Probe probes[] = {
      {"connection.idle", "An idle connection stays", "A NULL, silence for twenty times --settle, and a NULL.",
       "RFC 8166 3.3.1, RFC 8166 3.1", "CONN-003", Idle},
      {"connection.silent", "Connections that send nothing stop nobody",
       "16 connections that send nothing, and a NULL on another; then each of them sends one.", "RFC 8166 3.1", "",
       Silent},
      {"connection.vanish-call", "A client that goes with a Call under way harms nobody",
       "12 connections that end without a word behind a NULL; then another one works.", "RFC 8166 4.5.5", "CONN-003",
       VanishCall},
      {"connection.vanish-long-call", "A client that goes while its Call is pulled harms nobody",
       "12 connections that end without a word behind a Long Call of three segments; then another one works.",
       "RFC 8166 4.5.5, RFC 8166 4.5.3", "CONN-003", VanishLongCall},
      {"connection.vanish-long-reply", "A client that goes while its Reply is written harms nobody",
       "12 connections that end without a word behind a Call with a Reply chunk; then another one works (needs "
       "--export, or ECHO).",
       "RFC 8166 4.5.5, RFC 8166 4.5.3", "CONN-003", VanishLongReply},
      {"connection.close-with-calls", "A client that disconnects with Calls under way harms nobody",
       "Four connections that are disconnected in order with eight NULLs under way; then another one works.",
       "RFC 8166 4.5.5", "CONN-003", CloseWithCalls},
      {"connection.many", "Many connections are served at a time",
       "As many connections as the server takes, at most 1000, for at most 10 seconds, each with a NULL; the first, "
       "the one in the middle and the last with another. That the server ends idle ones for new ones is advice.",
       "RFC 8166 3.1", "", Many},
      {"connection.churn", "Connections that come and go leave nothing behind",
       "60 connections one after the other, each with a NULL.", "RFC 8166 3.1, RFC 8166 4.5.5", "", Churn},
      {"connection.no-receive", "A client without receives harms only its connection",
       "Eight NULLs of a client that has posted one receive. Whatever comes of them is allowed; the server lives on.",
       "RFC 8166 3.3.1, RFC 8166 3.3.2", "CRED-008, CRED-009", NoReceive},
      {"connection.too-large-send", "A Send that is too large harms only its connection",
       "A message of 300000 bytes. Whatever comes of it is allowed; the server lives on.", "RFC 8166 3.3.2",
       "THRESH-001", TooLargeSend},
      {"connection.refusal-latency", "Refusals come at once",
       "Calls of another version and RDMA_NOMSGs without a Read list, one after the other: each is answered. A median "
       "above 100 ms is advice.",
       "RFC 8166 4.5", "ERR-003, ERR-008", RefusalLatency},
      {"connection.terms-change", "Each connection goes by its own private data",
       "Eight connections one after the other, with other sizes, without private data, with R set and clear, with "
       "foreign bytes: each gets what its own say.",
       "RFC 8797 4, RFC 8797 5.1, RFC 8797 5.2", "PVT-006, PVT-011, PVT-014, THRESH-003", PrivateDataChanges},
      {"connection.r-beside-none", "R belongs to one connection",
       "Two connections at once, one with R set: only there a Send with Invalidate may come.", "RFC 8797 4.1",
       "PVT-006, PVT-014", BesideEachOther},
  };
  return probes;
}

}  // namespace stag::probe
