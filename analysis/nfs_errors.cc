// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/nfs_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"

namespace stag::analysis {
namespace {

using session::Transaction;

// The number of a COMPOUND that has no result at all; operations begin at 3.
constexpr uint32_t kCompound = 1;

struct Harm {
  uint32_t status;
  std::string_view meaning;
  std::optional<Blame> blames = std::nullopt;
};

// Statuses of NFSv2, v3 and v4 share their numbers (RFC 1813 section 2.6, RFC 8881 section 15.1), as far as they do
// harm. By number.
constexpr Harm kHarms[] = {
    {5, "the server could not read or write its storage", Blame::kServer},
    {6, "the server has not the device", Blame::kServer},
    {28, "the file system of the server is full"},
    {69, "the quota is used up"},
    {70, "the handle names nothing any more"},
    {10001, "the server does not take the handle for one of its own"},
    {10006, "the server failed in a way that has no name", Blame::kServer},
    {10011, "the lease ran out, and the state is gone"},
    {10017, "another client uses the same name"},
    {10018, "the server has not the resources", Blame::kServer},
    {10023, "the server restarted, and does not know the state any more"},
    {10025, "the server does not know the state"},
    {10026, "Calls of an open owner came out of order"},
    {10033, "the server takes no claims to earlier state now"},
    {10034, "the server does not grant what is reclaimed"},
    {10035, "another client has what is reclaimed"},
    {10036, "the server cannot decode the arguments"},
    {10045, "locks wait for each other"},
    {10047, "the state was revoked at the server"},
    {10048, "the server cannot call back"},
    {10053, "the session has no such slot"},
    {10063, "the sequence number of the slot is not the one that the server expects"},
    {10064, "SEQUENCE stands at a wrong place"},
    {10065, "the request is larger than the session allows"},
    {10066, "the reply would be larger than the session allows"},
    {10067, "the reply would be larger than the session caches"},
    {10068, "the reply to what was sent again was not cached"},
    {10070, "the COMPOUND has more operations than the session allows"},
    {10076, "another request has the sequence number of one before"},
    {10077, "the session has no such slot"},
    {10078, "the session has ended"},
    {10087, "the delegation was revoked"},
};
static_assert(std::ranges::is_sorted(kHarms, {}, &Harm::status));

// Null: part of normal life.
const Harm* HarmOf(uint32_t status) {
  const auto found = std::ranges::lower_bound(kHarms, status, {}, &Harm::status);
  return found != std::end(kHarms) && found->status == status ? found : nullptr;
}

}  // namespace

bool NfsErrors::IsOrdinary(const Key& key) {
  if (key.family == kCallback) return true;  // the client has not, or no longer, what the server asks for
  if (key.family != kNfs4) return false;
  constexpr uint32_t kNoMoreData = 6;  // NFS4ERR_NXIO (RFC 7862 section 15.11)
  return key.number == nfs::kOpFreeStateid || (key.number == nfs::kOpSeek && key.status == kNoMoreData);
}

void NfsErrors::OnTransaction(const session::Connection&, const Transaction& t) {
  if (!t.reply.walk.has_status) return;
  const rpc::CallHeader& call = t.call.rpc;
  const bool callback = nfs::IsCallbackProgram(call.program);
  if (!callback && call.program != nfs::kNfsProgram) return;
  const uint32_t status = t.reply.walk.nfs_status;
  if (!callback && call.version < 4) return Take(call.version == 2 ? kNfs2 : kNfs3, call.procedure, status, t);
  const Family family = callback ? kCallback : kNfs4;
  bool told = false;
  for (const session::Operation& operation : t.operations) {
    if (!operation.has_status) break;
    Take(family, operation.op, operation.status, t);
    told |= operation.status != nfs::kNfs4Ok;
  }
  const bool none = t.operations.empty() || !t.operations.front().has_status;
  if (none && !told) Take(family, kCompound, status, t);
}

void NfsErrors::Take(Family family, uint32_t number, uint32_t status, const Transaction& t) {
  number = std::min<uint32_t>(number, kNumbers - 1);
  ++results_[family][number];
  if (status == 0) [[likely]]
    return;
  const Key key{family, number, status};
  auto known = errors_.find(key);
  if (known == errors_.end()) {
    if (errors_.size() == kMostKinds) {
      ++left_out_;
      return;
    }
    known = errors_.emplace(key, Seen{0, t.reply.frame, t.connection}).first;
  }
  // They do not come in order where the delivery of Replies is awaited.
  if (t.reply.frame.number < known->second.first.number) {
    known->second.first = t.reply.frame;
    known->second.connection = t.connection;
  }
  ++known->second.count;
}

void NfsErrors::Add(const NfsErrors& other) {
  left_out_ += other.left_out_;
  for (size_t family = 0; family < kFamilies; ++family)
    for (size_t number = 0; number < kNumbers; ++number) results_[family][number] += other.results_[family][number];
  for (const auto& [key, seen] : other.errors_) {
    const auto known = errors_.find(key);
    if (known == errors_.end()) {
      if (errors_.size() == kMostKinds) {
        left_out_ += seen.count;
      } else {
        errors_.emplace(key, seen);
      }
      continue;
    }
    const uint64_t count = known->second.count + seen.count;
    if (seen.first.number < known->second.first.number) known->second = seen;
    known->second.count = count;
  }
}

NfsErrors::Kind NfsErrors::KindOf(const Key& key, const Seen& seen) const {
  constexpr std::array<uint32_t, kFamilies> kVersions{2, 3, 4, 4};
  const uint32_t version = kVersions[key.family];
  const char* name = nullptr;
  if (key.number == kCompound && version == 4) {
    name = key.family == kCallback ? "CB_COMPOUND" : "COMPOUND";
  } else {
    name = key.family == kCallback ? nfs::CallbackOperationName(key.number)
           : version == 4          ? nfs::OperationName(key.number)
                                   : rpc::ProcedureName(nfs::kNfsProgram, version, key.number);
  }
  const char* status = nfs::StatusName(version, key.status);
  Kind kind{.operation = key.family == kCallback ? "NFS_CBv1 " : fmt::format("NFSv{} ", version),
            .status = status ? status : fmt::format("status {}", key.status),
            .count = seen.count,
            .of = results_[key.family][key.number],
            .first = seen.first,
            .connection = seen.connection};
  kind.operation += name ? name : fmt::format("{}", key.number);
  if (const Harm* harm = IsOrdinary(key) ? nullptr : HarmOf(key.status)) {
    kind.harmful = true;
    kind.blames = harm->blames;
    kind.meaning = harm->meaning;
  }
  return kind;
}

std::vector<NfsErrors::Kind> NfsErrors::Kinds() const {
  std::vector<Kind> kinds;
  for (const auto& [key, seen] : errors_) kinds.push_back(KindOf(key, seen));
  std::ranges::stable_sort(kinds, [](const Kind& a, const Kind& b) {
    if (a.harmful != b.harmful) return a.harmful;
    if (a.blames.has_value() != b.blames.has_value()) return a.blames.has_value();
    return a.count > b.count;
  });
  return kinds;
}

}  // namespace stag::analysis
