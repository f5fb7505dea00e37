// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/nfs_client/nfs4_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "protocol/nfs/walk.h"

namespace stag::nfs_client {
namespace {

constexpr std::chrono::milliseconds kPause{500};
constexpr int kPauses = 240;  // two minutes: longer than the grace period of Linux, 90 seconds

constexpr uint32_t kMostSlots = 1024;

}  // namespace

std::string FailureText(const nfs4::CompoundResults& results) {
  if (!results.ok() || results.status() == 0) return "results that cannot be read";
  const char* status = nfs::StatusName(4, results.status());
  const char* op = nfs::OperationName(results.failed());
  return fmt::format("{} from {}", status ? status : fmt::format("status {}", results.status()), op ? op : "?");
}

Result<void> Nfs4Session::Begin(Caller& caller) {
  const auto ask = [&](std::string_view what) -> Result<nfs4::CompoundResults> {
    const auto results = caller.Ask({.message = message_});
    if (!results) return Fail(fmt::format("{}: {}", what, results.error().message));
    return nfs4::CompoundResults(*results);
  };
  std::random_device entropy;
  message_.clear();
  nfs4::Compound(calls_, message_).ExchangeId(owner_, uint64_t{entropy()} << 32 | entropy());
  auto exchanged = ask("EXCHANGE_ID");
  if (!exchanged) return tl::unexpected(exchanged.error());
  uint32_t sequence = 0;
  if (!exchanged->ExchangeId(client_, sequence)) return Fail("EXCHANGE_ID: " + FailureText(*exchanged));

  // There is no backchannel; CREATE_SESSION has the attributes of one all the same.
  const nfs4::Channel back{4096, 4096, 0, 2, 1};
  message_.clear();
  nfs4::Compound(calls_, message_).CreateSession(client_, sequence, wanted_, back);
  auto created = ask("CREATE_SESSION");
  if (!created) return tl::unexpected(created.error());
  if (!created->CreateSession(session_, granted_)) return Fail("CREATE_SESSION: " + FailureText(*created));
  if (granted_.requests == 0) return Fail("CREATE_SESSION: the server gives no slot");

  const uint32_t slots = std::min({granted_.requests, wanted_.requests, kMostSlots});
  sequences_.assign(slots, 1);
  taken_.assign(slots, false);
  free_.clear();
  for (uint32_t slot = slots; slot-- > 0;) free_.push_back(slot);
  return Ask(
      caller, "RECLAIM_COMPLETE", [](nfs4::Compound& c) { c.ReclaimComplete(); },
      [](nfs4::CompoundResults& r) { return r.Plain(nfs::kOpReclaimComplete); });
}

Result<void> Nfs4Session::End(Caller& caller) {
  message_.clear();
  nfs4::Compound(calls_, message_).DestroySession(session_);
  auto results = caller.Ask({.message = message_}, true);
  if (!results) return Fail("DESTROY_SESSION: " + results.error().message);
  nfs4::CompoundResults destroyed(*results);
  if (!destroyed.Plain(nfs::kOpDestroySession)) return Fail("DESTROY_SESSION: " + FailureText(destroyed));
  message_.clear();
  nfs4::Compound(calls_, message_).DestroyClientId(client_);
  results = caller.Ask({.message = message_}, true);
  if (!results) return Fail("DESTROY_CLIENTID: " + results.error().message);
  nfs4::CompoundResults gone(*results);
  if (!gone.Plain(nfs::kOpDestroyClientid)) return Fail("DESTROY_CLIENTID: " + FailureText(gone));
  return {};
}

nfs4::Sequence Nfs4Session::Take() {
  const uint32_t slot = free_.back();
  free_.pop_back();
  taken_[slot] = true;
  const auto highest = std::ranges::find(taken_.rbegin(), taken_.rend(), true);
  return {session_, sequences_[slot], slot, static_cast<uint32_t>(taken_.rend() - highest - 1), false};
}

void Nfs4Session::Release(uint32_t slot, bool executed) {
  if (slot >= taken_.size() || !taken_[slot]) return;  // of a session that is no more
  taken_[slot] = false;
  if (executed) ++sequences_[slot];
  free_.push_back(slot);
}

Result<void> Nfs4Session::Ask(Caller& caller, std::string_view what, const std::function<void(nfs4::Compound&)>& add,
                              const std::function<bool(nfs4::CompoundResults&)>& take, bool although_stopped) {
  for (int pauses = 0;; ++pauses) {
    const nfs4::Sequence sequence = Take();
    message_.clear();
    nfs4::Compound compound(calls_, message_);
    add(compound.Put(sequence));
    const auto results = caller.Ask({.message = message_}, although_stopped);
    if (!results) {
      Release(sequence.slot, false);
      return Fail(fmt::format("{}: {}", what, results.error().message));
    }
    nfs4::CompoundResults taken(*results);
    const bool sequenced = taken.Sequence();
    Release(sequence.slot, sequenced);
    if (sequenced && take(taken)) return {};
    const bool later = taken.ok() && (taken.status() == nfs::kErrDelay || taken.status() == nfs::kErrGrace);
    const std::atomic<bool>* stop = caller.options().stop;
    if (!later || pauses == kPauses || (stop && stop->load()))
      return Fail(fmt::format("{}: {}", what, FailureText(taken)));
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace stag::nfs_client
